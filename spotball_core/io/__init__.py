"""Read and write scenes, responses and datasets."""
