"""Review a dataset in the browser: the server of `spotball gen review`, the decisions and their application."""
