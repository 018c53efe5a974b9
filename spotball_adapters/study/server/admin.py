"""How a study goes, on one page without any personal data: for who runs it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from html import escape
from pathlib import Path

from spotball_adapters.study.results.attrition import Times, attrition
from spotball_adapters.study.results.exclusion import exclusion_of
from spotball_adapters.study.results.participations import participations
from spotball_adapters.study.setup.design import StudyDesign
from spotball_adapters.study.store import Participant, reading
from spotball_core.service.sqlite_file import now

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}: how it goes</title>
<link rel="stylesheet" href="admin.css">
</head>
<body>
<h1>{title}</h1>
<p>As of {now}.</p>
{sections}
</body>
</html>
"""


def admin_page(design: StudyDesign, data: Path, failures: Mapping[str, int]) -> str:
    """The page, as HTML.

    Args:
        design: the study's.
        data: the folder in which answers are stored.
        failures: how many answers of each kind were refusals or faults since the server began.
    """
    config = design.config
    with reading(data) as reader:
        everybody, people = reader.participants(), participations(reader, design)
    lists = [study_list.name for study_list in config.lists]
    table = attrition(people, lists, exclusion_of(config.exclusion))
    balance = [(name, *_counted(everybody, name, config.serve.silent_minutes)) for name in lists]
    columns = list(table.finished)
    steps = [(label, *(row[name] for name in columns)) for label, row in table.rows.items()]
    times = [
        ("finished, minutes", *(_minutes(table.finished[name]) for name in columns)),
        ("kept, minutes", *(_minutes(table.kept[name]) for name in columns)),
    ]
    refused = sorted(failures.items())
    sections = [
        _table("Lists", ("list", "finished", "at it now", "silent", "all"), balance),
        _table("Attrition", ("", *columns), steps),
        _table("Completion time, mean (sd)", ("", *columns), times),
        _table("Refusals and faults since the server began", ("answer", "times"), refused or [("none", "")]),
    ]
    return _PAGE.format(title=escape(config.title), now=escape(now()), sections="\n".join(sections))


def _counted(everybody: Iterable[Participant], name: str, silent_minutes: float) -> tuple[int, int, int, int]:
    """How many of a list finished, are at it, went silent, and began."""
    since = (datetime.now(UTC) - timedelta(minutes=silent_minutes)).isoformat(timespec="milliseconds")
    of_list = [participant for participant in everybody if participant.list == name]
    finished = sum(participant.finished_at is not None for participant in of_list)
    active = sum(participant.finished_at is None and participant.seen_at > since for participant in of_list)
    return finished, active, len(of_list) - finished - active, len(of_list)


def _minutes(times: Times) -> str:
    if times.mean is None:
        return ""
    return f"{times.mean:.1f}" if times.sd is None else f"{times.mean:.1f} ({times.sd:.1f})"


def _table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    body = "\n".join(
        f'<tr><th scope="row">{escape(str(first))}</th>'
        + "".join(f"<td>{escape(str(value))}</td>" for value in rest)
        + "</tr>"
        for first, *rest in rows
    )
    return f"<h2>{escape(title)}</h2>\n<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
