"""Fill the pixels that a ball hides: from neighboring frames, or from a similar place in the same image."""
