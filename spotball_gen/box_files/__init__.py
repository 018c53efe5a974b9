"""Read bounding boxes of balls and players from files that other tools have written."""
