"""Check whether inpainting reveals the ball's position, for one item and for a whole dataset."""
