"""Define the errors that users can cause, and the problems in files that their messages list.

All of them derive from `SpotballError`. If one is raised, the command line prints its message and exits with status 2.
"""

from __future__ import annotations

import os
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any, NamedTuple, Self

from spotball_core.error_codes import Code
from spotball_core.version import install_command

SHOWN_PROBLEMS = 20
"""Maximum number of problems in a message. Problems with the same cause count once."""

SHOWN_LINES = 5
"""Maximum number of line numbers in the message of a problem."""

SHOWN_VALUES = 3
"""Maximum number of different values in the message of a problem."""

NO_ROWS = "Add a row for each answer, or remove the file"
"""Advice to the user if a file of answers has no rows."""


class SpotballError(Exception):
    """Base class of all errors that a user can cause and fix.

    Args:
        message: what is wrong, and how to fix it.
        code: the kind of error. The default depends on the class.
        file: the file or folder with the error, if any.
        field: the option, argument, column or key with the error, if any.

    Attributes:
        code: a stable name of the kind of error, such as `"unknown-name"`. `docs/reference/errors.md` explains each.
        message: the message without file and field.
        file: the file or folder with the error, or None.
        field: the option, argument, column or key with the error, or None.

    Examples:
        >>> error = OptionError("found 3, expected a number between 0 and 1", field="--alpha")
        >>> str(error), error.code
        ('--alpha: found 3, expected a number between 0 and 1', 'invalid-option')
    """

    code: Code = "failed"
    file: str | None = None
    field: str | None = None

    def __init__(
        self,
        message: str,
        *,
        code: Code | None = None,
        file: str | os.PathLike[str] | None = None,
        field: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.code
        self.file = None if file is None else os.fspath(file)
        self.field = field

    def __str__(self) -> str:
        return ": ".join(part for part in (self.file, self.field, self.message) if part)

    def with_codes(self) -> str:
        """Return the message as the command line prints it, which ends with the code in brackets."""
        return f"{self} [{self.code}]"

    def to_dict(self) -> dict[str, Any]:
        """Return the error as `--format json` prints it."""
        return {"code": self.code, "message": str(self), "file": self.file, "field": self.field}


class GridError(SpotballError, ValueError):
    """Raised for invalid grids and boxes, and for a cell, a label or a point that is outside the grid."""

    code = "invalid-grid"


class DistributionError(SpotballError, ValueError):
    """Raised for numbers that are not a distribution over the cells: negative, not finite, or of the wrong shape."""

    code = "invalid-distribution"


class OptionError(SpotballError, ValueError):
    """Raised if an option or an argument has an invalid value."""

    code = "invalid-option"


class NotEnoughMemoryError(SpotballError, MemoryError):
    """Raised before a computation that needs more memory than is available."""

    code = "out-of-memory"


class WorkerError(SpotballError, RuntimeError):
    """Raised if a worker process ended unexpectedly, for example because the system killed it."""

    code = "worker-failed"


class MissingExtraError(SpotballError, ImportError):
    """Raised for a feature whose optional dependencies are not installed."""

    code = "missing-extra"

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f'{what} needs the "{extra}" extra: {install_command(extra)}')
        # Worker processes send errors as pickles, which call the class with `args`.
        self.args = (what, extra)


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem in a file, which may occur in several lines: what was found and what was expected.

    Attributes:
        code: the kind of problem; `docs/reference/errors.md` explains each.
        file: the file.
        line: the first line with the problem; None if the problem concerns the whole file.
        field: the column or key with the problem.
        found: description of the value that was found; the first values if they differ between lines.
        expected: description of the expected value.
        count: number of lines with the problem.
        lines: numbers of the first of these lines, if there are several.
        fix: advice to the user, as a sentence; empty if `expected` is enough.
    """

    code: Code
    file: str
    line: int | None
    field: str
    found: str
    expected: str
    count: int = 1
    lines: tuple[int, ...] = ()
    fix: str = ""

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        text = f"{place}: {self.field}: found {self.found}, expected {self.expected}"
        if self.count > 1:
            text += f" ({self.count:,} times: {listed_lines(self.lines, self.count)})"
        return f"{text}. {self.fix}" if self.fix else text

    def with_code(self) -> str:
        """Return the text as the command line prints it, which ends with the code in brackets."""
        return f"{self} [{self.code}]"


class Fault(NamedTuple):
    """A problem in values that may come from a file.

    Attributes:
        field: the field with the problem.
        found: description of the value that was found.
        expected: description of the expected value.
        code: the kind of problem.
    """

    field: str
    found: str
    expected: str
    code: Code = "invalid-value"

    def __str__(self) -> str:
        return f"{self.field}: found {self.found}, expected {self.expected}"

    def in_file(self, file: str | os.PathLike[str]) -> Problem:
        """Return the problem in a file."""
        return Problem(self.code, os.fspath(file), None, self.field, self.found, self.expected)


def unreadable_text(file: str, error: OSError | UnicodeDecodeError) -> Problem:
    """Return the problem that describes why a text file cannot be read."""
    if isinstance(error, UnicodeDecodeError):
        byte = error.object[error.start]
        encoding = "UTF-16" if error.object[:2] in (BOM_UTF16_LE, BOM_UTF16_BE) else "Windows-1252 (Latin-1)"
        actual = f"byte {byte:#04x}, which is not UTF-8 (probably {encoding})"
        fix = "Save the file as UTF-8 and retry"
        return Problem("unreadable-file", file, None, "file", actual, "text in UTF-8", fix=fix)
    code: Code = "missing-file" if isinstance(error, FileNotFoundError) else "unreadable-file"
    return Problem(code, file, None, "file", str(error), "a readable text file")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question that suggests the most similar known name, after a space; empty if no known name is similar.

    Examples:
        >>> did_you_mean("acuracy", ["accuracy", "log_score"]), did_you_mean("x", ["accuracy"])
        (" Did you mean 'accuracy'?", '')
    """
    from difflib import get_close_matches

    spellings = {known_name.lower(): known_name for known_name in reversed(list(known))}
    close = get_close_matches(name.lower(), spellings, n=1)
    return f" Did you mean {spellings[close[0]]!r}?" if close else ""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> str:
    """Return the message for an unknown name, with a suggestion and the list of known names.

    Examples:
        >>> unknown_name("baseline", "unifrom", ["uniform", "center"])
        "unknown baseline 'unifrom'. Did you mean 'uniform'? Available: uniform, center"
        >>> unknown_name("sport", "chess", [])
        "unknown sport 'chess'. None exist"
    """
    names = list(known)
    listed = f"Available: {', '.join(names)}" if names else "None exist"
    return f"unknown {kind} {name!r}.{did_you_mean(name, names)} {listed}"


def listed_lines(lines: Sequence[int], count: int) -> str:
    """Return line numbers as text, which ends with an ellipsis if `lines` has fewer than all `count` line numbers.

    Examples:
        >>> listed_lines([2, 3, 7], 3), listed_lines([2, 3, 7], 40), listed_lines([2], 1)
        ('lines 2, 3, 7', 'lines 2, 3, 7, ...', 'line 2')
    """
    named = ", ".join(map(str, lines))
    return f"line{'s' if count > 1 else ''} {named}{', ...' if count > len(lines) else ''}"


def listed_values(values: Sequence[str]) -> str:
    """Return the first values as text, which ends with an ellipsis if there are more than `SHOWN_VALUES`.

    Examples:
        >>> listed_values(["'a'", "'b'"]), listed_values(["'a'", "'b'", "'c'", "'d'"])
        ("'a'; 'b'", "'a'; 'b'; 'c'; ...")
    """
    return "; ".join([*values[:SHOWN_VALUES], *(["..."] if len(values) > SHOWN_VALUES else [])])


def merged(problems: Iterable[Problem]) -> list[Problem]:
    """Merge problems that differ only in the line and the value found, because they have one cause.

    Examples:
        >>> rows = [Problem("invalid-value", "a.csv", line, "row", str(line), "a whole number") for line in range(2, 9)]
        >>> [str(problem) for problem in merged(rows)]
        ['a.csv:2: row: found 2; 3; 4; ..., expected a whole number (7 times: lines 2, 3, 4, 5, 6, ...)']
    """
    causes: dict[object, _Cause] = {}
    for problem in problems:
        # A problem of a whole file is not merged.
        key = object() if problem.line is None else (problem.code, problem.file, problem.field, problem.expected)
        if key in causes:
            causes[key].add(problem)
        else:
            causes[key] = _Cause(problem)
    return [cause.problem() for cause in causes.values()]


class _Cause:
    """Collect the problems that have the same cause, and keep only the first lines and values."""

    def __init__(self, first: Problem) -> None:
        self.first, self.count = first, 0
        self.lines: list[int] = []
        self.values: list[str] = []
        self.add(first)

    def add(self, problem: Problem) -> None:
        self.count += problem.count
        lines = problem.lines or ((problem.line,) if problem.line is not None else ())
        self.lines += lines[: SHOWN_LINES - len(self.lines)]
        # Keep one more than is shown, to know that there are more.
        if len(self.values) <= SHOWN_VALUES and problem.found not in self.values:
            self.values.append(problem.found)

    def problem(self) -> Problem:
        if self.count == self.first.count:
            return self.first
        return replace(self.first, found=listed_values(self.values), count=self.count, lines=tuple(self.lines))


def plain(text: str, limit: int = 80) -> str:
    """Return text from a file for a message: it is cut after `limit` characters, and control characters are escaped."""
    cut = text if len(text) <= limit else text[: limit - 3] + "..."
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in cut)


class InputError(SpotballError):
    """Raised for files or data that cannot be read or that have invalid content.

    Attributes:
        problems: the problems. Problems with the same cause are merged.
        total: number of problems before merging.
        line: the line of the first problem, or None. `code`, `file` and `field` are also those of the first problem.
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(merged(problems))
        self.total: int = sum(problem.count for problem in self.problems)
        first = self.problems[0]
        self.line: int | None = first.line
        super().__init__(
            self._listed(str(problem) for problem in self.problems), code=first.code, file=first.file, field=first.field
        )
        self.args = (self.problems,)

    @classmethod
    def of(
        cls,
        code: Code,
        file: str | os.PathLike[str],
        field: str,
        found: str,
        expected: str,
        *,
        line: int | None = None,
        fix: str = "",
    ) -> Self:
        """Return the error about one problem in a file; see `Problem`."""
        return cls([Problem(code, os.fspath(file), line, field, found, expected, fix=fix)])

    def __str__(self) -> str:
        return self.message

    def with_codes(self) -> str:
        """Return the message as the command line prints it: each problem ends with its code in brackets."""
        return self._listed(problem.with_code() for problem in self.problems)

    def to_dict(self) -> dict[str, Any]:
        """Return the error as `--format json` prints it, with all its problems."""
        return {**super().to_dict(), "line": self.line, "problems": [asdict(problem) for problem in self.problems]}

    def _listed(self, texts: Iterable[str]) -> str:
        lines = list(islice(texts, SHOWN_PROBLEMS))
        if more := len(self.problems) - len(lines):
            lines.append(f"... and {more} more {'problem' if more == 1 else 'problems'}")
        return "\n".join(lines)
