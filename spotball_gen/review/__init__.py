"""Looking through a dataset by eye: the server of `spotball gen review`, what is decided, and what comes of it."""
