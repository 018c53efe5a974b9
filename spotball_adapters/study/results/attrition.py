"""Compute the attrition table and completion times: how many people began, reached each stage, and are excluded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from types import MappingProxyType

from spotball_adapters.study.progress import STAGES, Stage
from spotball_adapters.study.results.exclusion import Exclusion
from spotball_adapters.study.results.participations import Participation

ALL = "all lists"
"""Name of the table's column that counts the participants of all lists."""

_STEPS: Mapping[str, Stage] = MappingProxyType(
    {
        "took part": "consent",
        "read the instructions": "practice",
        "reached the images": "trials",
        "finished": "finished",
    }
)
"""For each of the table's first rows, by row label: the stage that the counted participants have reached."""


@dataclass(frozen=True, slots=True)
class Times:
    """Mean and standard deviation of participants' completion times, in minutes.

    Attributes:
        n: number of participants.
        mean: mean, or None if there are no participants.
        sd: standard deviation (with divisor n - 1), or None for fewer than two participants.
    """

    n: int
    mean: float | None
    sd: float | None


@dataclass(frozen=True, slots=True)
class Attrition:
    """Attrition of a study: how many participants reached each stage, how many are excluded, and completion times.

    Attributes:
        rows: numbers of participants by row label, then by list; the last list is `all lists`. A participant who is
            excluded for several reasons is counted in several rows.
        finished: completion times of all participants who finished, by list.
        kept: completion times of participants who finished and are not excluded, by list.
    """

    rows: Mapping[str, Mapping[str, int]]
    finished: Mapping[str, Times]
    kept: Mapping[str, Times]


def attrition(people: Sequence[Participation], lists: Sequence[str], exclusion: Exclusion) -> Attrition:
    """Count the participants who reached each stage, and those who finished but are excluded.

    Args:
        people: all participants.
        lists: names of the study's lists. Participants whose list is not among them are counted only in `all lists`.
        exclusion: the exclusion rules.
    """
    groups = {name: [person for person in people if person.list == name] for name in lists} | {ALL: list(people)}
    rows: dict[str, dict[str, int]] = {}
    times: dict[str, Times] = {}
    times_kept: dict[str, Times] = {}
    for name, group in groups.items():
        finished = [person for person in group if person.finished]
        reasons = [exclusion.reasons(person) for person in finished]
        stays = [person for person, why in zip(finished, reasons, strict=True) if not why]
        counts = {
            label: sum(STAGES.index(person.stage) >= STAGES.index(stage) for person in group)
            for label, stage in _STEPS.items()
        }
        if any(person.quiz for person in people):
            counts["screened out"] = sum(person.stage == "screened" for person in group)
        counts |= {f"excluded: {rule}": sum(rule in why for why in reasons) for rule in exclusion.rules}
        counts |= {"excluded in all": len(finished) - len(stays), "kept": len(stays)}
        for label, n in counts.items():
            rows.setdefault(label, {})[name] = n
        times[name], times_kept[name] = _times(finished), _times(stays)
    return Attrition(rows, times, times_kept)


def _times(people: Sequence[Participation]) -> Times:
    minutes = [person.minutes for person in people if person.minutes is not None]
    return Times(
        n=len(minutes),
        mean=mean(minutes) if minutes else None,
        sd=stdev(minutes) if len(minutes) > 1 else None,
    )
