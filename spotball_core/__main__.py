"""Run the `spotball` command with `python -m spotball_core`."""


def main() -> None:
    """Run the `spotball` command.

    Worker processes also import this module but do not need the command, so it is imported only in this function.
    """
    from spotball_core.cli.app import main

    main()


if __name__ == "__main__":
    main()
