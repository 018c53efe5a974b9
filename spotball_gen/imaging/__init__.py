"""Image processing: masks, shadows, sharpness, colors and inpainting."""
