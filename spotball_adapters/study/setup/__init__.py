"""Prepare a study: its configuration, lists and design."""
