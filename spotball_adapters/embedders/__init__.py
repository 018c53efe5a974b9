"""Turn texts into vectors with embedding models. There is one module per API or library, and a cache of vectors."""
