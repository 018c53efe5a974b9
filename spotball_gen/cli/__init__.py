"""The command group `spotball gen`."""
