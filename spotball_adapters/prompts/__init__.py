"""Prompts and their images."""
