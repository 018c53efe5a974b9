"""Whether a ball is really gone: of one item, and of a whole dataset."""
