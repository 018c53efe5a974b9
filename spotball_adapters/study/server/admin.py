"""Render the admin page, which shows researchers a study's progress. Participants appear under random labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape

from spotball_adapters.study.progress import ENDS, STAGES, Stage
from spotball_adapters.study.results.attrition import Times, attrition
from spotball_adapters.study.results.exclusion import Exclusion
from spotball_adapters.study.results.participations import Participation
from spotball_adapters.study.server.charts import AnswerCounts, over_time, stages
from spotball_adapters.study.setup.design import StudyDesign
from spotball_core.text.words import plural

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}: progress</title>
<link rel="stylesheet" href="admin.css">
<script type="module" src="admin.js"></script>
</head>
<body>
<header>
<h1>{title}</h1>
<p id="state" role="status"></p>
</header>
<main>
{sections}
<p>Last updated: {now}.</p>
</main>
</body>
</html>
"""

_STAGES: dict[Stage, str] = {
    "consent": "consent",
    "before": "questionnaire",
    "instructions": "instructions",
    "quiz": "quiz",
    "screened": "screened out",
    "practice": "practice",
    "trials": "images",
    "after": "questionnaire at the end",
    "finished": "finished",
}


@dataclass(frozen=True)
class Line:
    """One participant on the admin page.

    Attributes:
        person: the participant's data.
        seen_at: time of the participant's last event, ISO 8601 in UTC.
        started_at: time of consent, ISO 8601 in UTC.
        flags: names of all exclusion rules that the participant breaks, even if the study does not use them.
        n_trials: number of the participant's trials, including practice.
    """

    person: Participation
    seen_at: str
    started_at: str
    flags: tuple[str, ...]
    n_trials: int


def admin_page(
    design: StudyDesign,
    exclusion: Exclusion,
    lines: Sequence[Line],
    counts: AnswerCounts,
    failures: Mapping[str, int],
    at: datetime,
) -> str:
    """Return the admin page as HTML.

    Args:
        design: the study's design.
        exclusion: the exclusion rules of the study.
        lines: one line per participant.
        counts: the numbers of answers.
        failures: number of rejected or failed requests since the server started, by HTTP status, such as `422`, in some
            cases with a reason.
        at: time at which the data were read.
    """
    config = design.config
    silent_since = (at - timedelta(minutes=config.serve.silent_minutes)).isoformat(timespec="milliseconds")
    lists = [study_list.name for study_list in config.lists]
    table = attrition([line.person for line in lines], lists, exclusion)
    balance = [(name, *_counted(lines, name, silent_since)) for name in lists]
    columns = list(table.finished)
    steps = [(label, *(row[name] for name in columns)) for label, row in table.rows.items()]
    times = [
        ("finished", *(_minutes(table.finished[name]) for name in columns)),
        ("kept", *(_minutes(table.kept[name]) for name in columns)),
    ]
    refused = sorted(failures.items())
    numbers = [
        _table("Lists", ("list", "finished", "active", "silent", "screened out", "all"), balance),
        _table("Attrition", ("participants", *columns), steps),
        _table("Completion time in minutes: mean (sd)", ("participants", *columns), times),
    ]
    errors = _table("Since the server started", ("response", "number"), refused or [("none", "")])
    sections = [
        f"<p>{_summary(lines, silent_since)}</p>",
        f'<div class="charts">{stages(_stages(lines, silent_since))}\n{over_time(counts.minutes)}</div>',
        counts.wall(),
        _folded("people", f"Participants ({len(lines):,})", _people(lines, design, exclusion, silent_since, at)),
        _folded("numbers", "Lists, attrition and completion times", "\n".join(numbers)),
        _folded("errors", f"Rejected requests and errors ({sum(failures.values()):,})", errors),
    ]
    now = at.isoformat(timespec="milliseconds")
    return _PAGE.format(title=escape(config.title), now=escape(now), sections="\n".join(sections))


def _folded(name: str, title: str, content: str) -> str:
    return f'<details id="{name}">\n<summary>{escape(title)}</summary>\n{content}\n</details>'


def _summary(lines: Sequence[Line], silent_since: str) -> str:
    """Return how many participants have finished, are active, and are silent."""
    counted = Counter(_state(line, silent_since) for line in lines)
    finished = sum(line.person.stage == "finished" for line in lines)
    return (
        f"<strong>{finished:,} of {plural(len(lines), 'participant')} finished</strong>, "
        f"{counted['active']:,} active, {counted['silent']:,} silent."
    )


def _state(line: Line, silent_since: str) -> str:
    if line.person.stage in ENDS:
        return "ended"
    return "active" if line.seen_at > silent_since else "silent"


def _stages(lines: Sequence[Line], silent_since: str) -> list[tuple[str, dict[str, int]]]:
    """Return the name of each stage that the study has, with the number of its participants by state."""
    counted = Counter((line.person.stage, _state(line, silent_since)) for line in lines)
    present = {stage for stage, _ in counted} | {"consent", "instructions", "practice", "trials", "finished"}
    return [
        (_STAGES[stage], {state: counted[stage, state] for state in ("ended", "active", "silent")})
        for stage in STAGES
        if stage in present
    ]


def _counted(lines: Iterable[Line], name: str, silent_since: str) -> tuple[int, int, int, int, int]:
    """Return five numbers of participants of the list `name`: finished, active, silent, screened out, and all.

    Active and silent participants have not finished. Silent participants have no events after `silent_since`.
    """
    of_list = [line for line in lines if line.person.list == name]
    finished, screened = (sum(line.person.stage == stage for line in of_list) for stage in ("finished", "screened"))
    active = sum(line.person.stage not in ENDS and line.seen_at > silent_since for line in of_list)
    return finished, active, len(of_list) - finished - screened - active, screened, len(of_list)


def _minutes(times: Times) -> str:
    if times.mean is None:
        return ""
    return f"{times.mean:.1f}" if times.sd is None else f"{times.mean:.1f} ({times.sd:.1f})"


def _people(lines: Iterable[Line], design: StudyDesign, exclusion: Exclusion, silent_since: str, at: datetime) -> str:
    """Return an HTML table with a row per participant: first active participants, then silent ones, then those whose
    participation has ended; within each group, the most recent event first."""
    total = {study_list.name: len(study_list.images) + len(study_list.checks) for study_list in design.config.lists}

    def order(line: Line) -> tuple[bool, bool]:
        return line.person.stage not in ENDS and line.seen_at > silent_since, line.person.stage not in ENDS

    rows = []
    for line in sorted(sorted(lines, key=lambda line: line.seen_at, reverse=True), key=order, reverse=True):
        person = line.person
        n = total.get(person.list, line.n_trials)
        done = len(person.answers)
        ended = person.stage in ENDS
        minutes = _ago(line.started_at, datetime.fromisoformat(line.seen_at)) / 60
        flags = ", ".join(
            f"<strong>{escape(name)}</strong>" if name in exclusion.rules else escape(name) for name in line.flags
        )
        silent = "" if ended or line.seen_at > silent_since else ", silent"
        rows.append(
            f'<tr><th scope="row">{escape(person.participant)}</th><td>{escape(person.list)}</td>'
            f"<td>{_STAGES[person.stage]}{silent}</td>"
            f'<td><progress max="{n}" value="{done}"></progress>{done} of {n}</td><td>{flags}</td>'
            f'<td class="number">{minutes:.1f}</td><td class="number">{_words(_ago(line.seen_at, at))}</td></tr>'
        )
    heads = ("participant", "list", "stage", "images", "flags", "minutes", "last seen")
    numbers = ("minutes", "last seen")
    head = "".join(f'<th scope="col"{" class=number" * (name in numbers)}>{name}</th>' for name in heads)
    return (
        "<p>A flag in bold is an exclusion rule of this study (study.toml).</p>\n"
        '<div class="wide" role="region" aria-label="Participants" tabindex="0"><table class="people">\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n" + "\n".join(rows) + "\n</tbody>\n</table></div>"
    )


def _ago(start: str, end: datetime) -> float:
    return max(0.0, (end - datetime.fromisoformat(start)).total_seconds())


def _words(seconds: float) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit} ago"
    return f"{seconds:.0f} s ago"


def _table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    body = "\n".join(
        f'<tr><th scope="row">{escape(str(first))}</th>'
        + "".join(f"<td>{escape(str(value))}</td>" for value in rest)
        + "</tr>"
        for first, *rest in rows
    )
    table = f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
    return (
        f'<h2>{escape(title)}</h2>\n<div class="wide" role="region" aria-label="{escape(title)}" tabindex="0">'
        f"{table}</div>"
    )
