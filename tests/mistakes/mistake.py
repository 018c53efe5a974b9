"""Define one row of the table of mistakes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Mistake:
    """Hold a mistake and the texts that its error message must contain.

    Attributes:
        name: the name of the row.
        command: the arguments of `spotball`, separated by spaces; for a mistake in Python, the expression.
        what: the part of the message that states what is wrong.
        where: the part that names the file, line, field, option or argument.
        fix: the part that states what to do.
        code: the error's code; empty for a warning, or an error of the command line itself.
        files: files that the test writes first, in addition to those of `folder.prepare`. A text that starts with `@`
            is a key of `folder.TEXTS`.
        env: environment variables of the command.
        status: the exit status: 2 for unusable input, 1 for a problem that was found, 0 for a warning.
        before: the arguments of a command that the test runs first.
        needs: modules that the command requires. The test is skipped if one is not installed.
        slow: whether the row takes more than 2 seconds.
    """

    name: str
    command: str
    what: str
    where: str
    fix: str
    code: str = ""
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    status: int = 2
    before: str = ""
    needs: tuple[str, ...] = ()
    slow: bool = False
