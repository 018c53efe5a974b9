"""`python -m spotball_core` is the `spotball` command."""


def main() -> None:
    """Run the command line. Its modules are loaded here, so that worker processes, which load this one, skip them."""
    from spotball_core.cli.app import main

    main()


if __name__ == "__main__":
    main()
