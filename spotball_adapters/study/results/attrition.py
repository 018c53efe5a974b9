"""How many took part, how far they came, and who is left out: the attrition table and the completion times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from types import MappingProxyType

from spotball_adapters.study.progress import STAGES, Stage
from spotball_adapters.study.results.exclusion import Exclusion
from spotball_adapters.study.results.participations import Participation

ALL = "all lists"
"""What the column over all lists is called."""

_STEPS: Mapping[str, Stage] = MappingProxyType(
    {
        "took part": "consent",
        "read the instructions": "practice",
        "came to the images": "trials",
        "finished": "finished",
    }
)
"""What is counted, in words, and the stage that who did it is at, or beyond."""


@dataclass(frozen=True, slots=True)
class Times:
    """Minutes from the start to the end.

    Attributes:
        mean: None of nobody.
        sd: with n - 1; None of fewer than two.
    """

    n: int
    mean: float | None
    sd: float | None


@dataclass(frozen=True, slots=True)
class Attrition:
    """The attrition of a study.

    Attributes:
        rows: what is counted, in words, and its number by list; the last is `all lists`. A participant may be excluded
            for several reasons.
        finished: completion times of all who finished, by list.
        kept: of those who are kept.
    """

    rows: Mapping[str, Mapping[str, int]]
    finished: Mapping[str, Times]
    kept: Mapping[str, Times]


def attrition(people: Sequence[Participation], lists: Sequence[str], exclusion: Exclusion) -> Attrition:
    """Count who came how far, and who is excluded of those who finished.

    Args:
        people: everybody who took part.
        lists: the study's lists, in their order; whoever has another is counted in `all lists` alone.
        exclusion: the rules that hold.
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
