"""Publish datasets and results on the Hugging Face Hub, and download them."""
