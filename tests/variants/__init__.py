"""Score files as other tools write them."""
