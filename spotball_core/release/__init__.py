"""Read the published release and convert it to a dataset."""
