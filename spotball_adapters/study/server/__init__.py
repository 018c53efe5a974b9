"""Serve a study to participants."""
