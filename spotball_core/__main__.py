"""Run the `spotball` command with `python -m spotball_core`."""


def main() -> None:
    """Run the command line. It is imported here because worker processes load this module, too, but do not need it."""
    from spotball_core.cli.app import main

    main()


if __name__ == "__main__":
    main()
