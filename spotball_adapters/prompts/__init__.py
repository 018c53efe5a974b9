"""Prompts, and the pictures that go with them."""
