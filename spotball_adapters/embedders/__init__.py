"""Where embeddings of texts come from: one small protocol, a module for each way to get them, and a cache."""
