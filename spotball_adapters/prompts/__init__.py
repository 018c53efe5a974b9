"""Load the prompts that are sent to models, and create the images with grids that are sent with them."""
