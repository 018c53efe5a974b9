"""`python -m spotball_core` is the `spotball` command."""

from spotball_core.cli.app import main

if __name__ == "__main__":
    main()
