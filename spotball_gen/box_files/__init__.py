"""Boxes that were found or drawn elsewhere, read from the files that other tools write."""
