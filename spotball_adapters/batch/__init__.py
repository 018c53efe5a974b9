"""Batches: what is to be asked goes out as files, and replies come back as files, by whatever way they travel."""
