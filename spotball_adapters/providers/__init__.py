"""Send requests to models through providers. There is one module per API, SDK or local library."""
