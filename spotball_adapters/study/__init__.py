"""The human study: the benchmark put in front of people, in a browser."""
