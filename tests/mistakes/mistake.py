"""One row of the table of mistakes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Mistake:
    """A mistake, and what its message must contain.

    Attributes:
        name: of the row.
        command: the arguments of `spotball`, separated by spaces; for a mistake in Python, the expression.
        what: the part of the message that states what is wrong.
        where: the part that names the file, line, field, option or argument.
        fix: the part that states what to do.
        files: files that are written first, in addition to those of `folder.prepare`. A text that starts with `@` names
            one of `folder.TEXTS`.
        env: environment variables.
        status: the exit status: 2 for unusable input, 1 for a problem that was found, 0 for a warning.
        before: the arguments of a command that is run first.
        needs: modules without which the mistake cannot be made.
        slow: whether the row takes more than 2 seconds.
    """

    name: str
    command: str
    what: str
    where: str
    fix: str
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    status: int = 2
    before: str = ""
    needs: tuple[str, ...] = ()
    slow: bool = False
