"""Masks, shadows, sharpness, colors and painting: computing with images."""
