"""Prepare a study: write its configuration, create its lists of images, load its design, and check it."""
