"""The `spotball` command. One module a subcommand; `app` puts them together."""
