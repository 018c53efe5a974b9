"""The `spotball` command. Each module defines one subcommand, and `app` combines them."""
