"""Prepare a study: configuration, lists, design and checks."""
