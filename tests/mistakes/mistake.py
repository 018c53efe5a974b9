"""Define one row of the tables of mistakes, and read the tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Mistake:
    """Hold a mistake and the texts that its error message must contain.

    Attributes:
        name: the name of the row.
        command: the arguments of `spotball`, separated by spaces; for a mistake in Python, the expression.
        code: the error's code; empty for a warning, or an error of the command line itself.
        what: the part of the message that states what is wrong.
        where: the part that names the file, line, field, option or argument.
        fix: the part that states what to do.
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
    code: str
    what: str
    where: str
    fix: str
    files: Mapping[str, str]
    env: Mapping[str, str]
    status: int
    before: str
    needs: tuple[str, ...]
    slow: bool


def read(table: str) -> tuple[Mistake, ...]:
    r"""Return the mistakes of a table.

    A row starts at the margin and continues on indented lines. Its fields are separated by " | " or by the end of a
    line. The first six are name, command, code (`-` if there is none), what, where and fix. The others are options:
    `file NAME CONTENT`, with `\n` and `\t` in the content, `env NAME=VALUE`, `status N`, `before COMMAND`,
    `needs MODULES` and `slow`.
    """
    rows: list[list[str]] = []
    for line in table.splitlines():
        if line.startswith(" "):
            rows[-1] += line.strip().split(" | ")
        elif line and not line.startswith("#"):
            rows.append(line.split(" | "))
    return tuple(map(_mistake, rows))


def _mistake(row: list[str]) -> Mistake:
    name, command, code, what, where, fix, *options = row
    given: dict[str, list[str]] = {key: [] for key in ("file", "env", "status", "before", "needs", "slow")}
    for option in options:
        key, _, value = option.partition(" ")
        given[key].append(value)
    contents = (value.replace("\\n", "\n").replace("\\t", "\t").partition(" ") for value in given["file"])
    return Mistake(
        name,
        command,
        code.strip("-"),
        what,
        where,
        fix,
        files={path: content for path, _, content in contents},
        env=dict(value.split("=", 1) for value in given["env"]),
        status=int("".join(given["status"]) or 2),
        before="".join(given["before"]),
        needs=tuple(" ".join(given["needs"]).split()),
        slow=bool(given["slow"]),
    )
