"""Raw replies in the output files of other tools, as responses."""
