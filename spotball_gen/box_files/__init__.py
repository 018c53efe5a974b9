"""Read bounding boxes from the files of other tools."""
