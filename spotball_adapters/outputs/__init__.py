"""Convert raw replies in the output files of other tools to responses."""
