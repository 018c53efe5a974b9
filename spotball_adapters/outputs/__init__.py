"""Import raw replies from the output files of other tools as responses."""
