"""Everything a report shows, computed once: scores, the noise ceiling, the threshold fit, what explains whom."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from spotball_core.errors import OptionError
from spotball_core.groups import PARTS, Group, Scoring
from spotball_core.report.look import Look, looks, markers
from spotball_core.report.numbers import shortened

if TYPE_CHECKING:
    from spotball_core.schema.report import Ceiling, GroupScore, ScoreReport
    from spotball_core.schema.scene import Scene
    from spotball_core.stats.mixture import Mixture
    from spotball_core.stats.thresholds import ThresholdSurface

NAME_ROOM, PROMPT_ROOM = 22, 12
"""Characters of a respondent's name and of a prompt in a figure, at most."""

RESAMPLES = 200
"""Resamples for the intervals of mixtures, at most: each is a fit of its own."""


@dataclass(frozen=True)
class Analysis:
    """What the report's sections are made from.

    Attributes:
        scoring: the groups and their answers.
        scenes: in the order of the scoring's arrays.
        report: every metric of every group, in the order of the scoring's groups, and the noise ceilings.
        surface: the threshold fit; None without players.
        mixtures: by the group's name.
        unexplained: why other groups have none.
    """

    scoring: Scoring
    scenes: Sequence[Scene]
    report: ScoreReport
    surface: ThresholdSurface | None
    mixtures: dict[str, Mixture]
    unexplained: tuple[str, ...] = ()

    @property
    def reference(self) -> str | None:
        """The respondent that others are compared with."""
        return self.scoring.policy.reference

    @cached_property
    def scored(self) -> list[tuple[Group, GroupScore]]:
        """Each group that has images to be scored on, with its scores."""
        pairs = zip(self.scoring.groups, self.report.groups, strict=True)
        return [(group, score) for group, score in pairs if score.n_images]

    @cached_property
    def ceilings(self) -> dict[str, Ceiling]:
        """The noise ceiling of each sport in which the reference's participants are told apart."""
        found = {ceiling.sport: ceiling for ceiling in self.report.ceilings}
        return {sport: found[sport] for sport in self.sports if sport in found}

    @cached_property
    def sports(self) -> list[str]:
        """The scored sports, in the order of the groups."""
        return list(dict.fromkeys(group.sport or "" for group, _ in self.scored))

    def of_sport(self, sport: str) -> list[tuple[Group, GroupScore]]:
        """A sport's groups with their scores."""
        return [pair for pair in self.scored if pair[0].sport == sport]

    def of_reference(self, sport: str) -> GroupScore | None:
        """The reference's scores in a sport, if it is one group there."""
        found = [score for group, score in self.of_sport(sport) if group.respondent == self.reference]
        return found[0] if len(found) == 1 else None

    @cached_property
    def looks(self) -> dict[str, Look]:
        """Each respondent's look."""
        return looks((group.respondent or "", group.kind) for group in self.scoring.groups)

    def color(self, group: Group) -> str:
        """The color of a group's respondent."""
        return self.looks[group.respondent or ""].color

    def marker(self, group: Group) -> str:
        """The marker of a group: by prompt for models, by kind for people and baselines."""
        if group.kind in ("human", "baseline"):
            return "D" if group.kind == "human" else "p"
        return self._markers[group.prompt or ""]

    @cached_property
    def _markers(self) -> dict[str, str]:
        return markers(sorted({group.prompt or "" for group in self.scoring.groups if group.kind == "model"} | {""}))

    @cached_property
    def _asked(self) -> dict[str | None, int]:
        prompts: dict[str | None, set[str | None]] = {}
        for group in self.scoring.groups:
            prompts.setdefault(group.respondent, set()).add(group.prompt)
        return {respondent: len(asked) for respondent, asked in prompts.items()}

    def prompt(self, group: Group) -> str:
        """A group's prompt, where its respondent was asked with several; else nothing."""
        return (group.prompt or "") if self._asked[group.respondent] > 1 else ""

    def labels(self, group: Group) -> tuple[str, str]:
        """A group's respondent and prompt as figures write them: shortened where they are long."""
        return self._short[group.respondent or ""], shortened(self.prompt(group), PROMPT_ROOM)

    @property
    def reference_label(self) -> str:
        """The reference's name as figures write it."""
        return self._short[self.reference] if self.reference else ""

    @cached_property
    def _short(self) -> dict[str, str]:
        names = list(dict.fromkeys(group.respondent or "" for group in self.scoring.groups))
        short = [shortened(name, NAME_ROOM) for name in names]
        # Two that would look the same stay as they are.
        return {name: name if short.count(one) > 1 else one for name, one in zip(names, short, strict=True)}

    def name(self, group: Group) -> str:
        """What a group is called beside its sport."""
        return f"{group.respondent} {self.prompt(group)}".rstrip()

    @cached_property
    def places(self) -> list[int]:
        """Positions of the scenes that some group is scored on."""
        return sorted(set().union(*(self.scoring.images(group) for group, _ in self.scored)))

    def places_of(self, sport: str) -> list[int]:
        """Positions of a sport's scenes among these."""
        return [place for place in self.places if self.scoring.arrays.sports[place] == sport]

    @cached_property
    def has_players(self) -> bool:
        """Whether any scored image has player boxes."""
        return bool(np.any(self.scoring.arrays.has_players[self.places]))

    @cached_property
    def explained(self) -> list[Group]:
        """The groups shown image by image and taken apart: all but baselines, or those too if there are no others."""
        others = [group for group, _ in self.scored if group.kind != "baseline" and group.respondent != self.reference]
        return others or [group for group, _ in self.scored if group.respondent != self.reference]


def analyze(scoring: Scoring, scenes: Sequence[Scene], tell: Callable[[str], None] = lambda _: None) -> Analysis:
    """Everything the report shows.

    Args:
        scoring: of groups by sport, respondent and prompt; its seed and its resamples are those of all that is drawn.
        scenes: those of the scoring, in its order.
        tell: hears what is being done.

    Raises:
        OptionError: for groups made in another way, or if nothing is left to score.
    """
    from spotball_core.stats.ceiling import noise_ceiling
    from spotball_core.stats.mixture import explain
    from spotball_core.stats.thresholds import threshold_surface

    if tuple(scoring.policy.by) != PARTS:
        raise OptionError(f"the report's groups are by {', '.join(PARTS)}, not by {', '.join(scoring.policy.by)}")
    seed, reference = scoring.policy.seed, scoring.policy.reference
    tell("noise ceiling")
    ceilings = noise_ceiling(scoring, seed=seed) if reference is not None else ()
    tell("scores")
    bare = Analysis(scoring, scenes, scoring.report(ceilings), None, {})
    if not bare.scored:
        raise OptionError("no images are left to score; see --images")
    tell("threshold fit")
    surface = threshold_surface(scoring) if bare.has_players else None
    tell("what explains whom")
    resamples = min(scoring.policy.bootstrap, RESAMPLES)
    mixtures, unexplained = {}, []
    for group in bare.explained + [group for group, _ in bare.scored if group.respondent == reference]:
        try:
            mixtures[group.name] = explain(scoring, group, bootstrap=resamples, seed=seed)
        except OptionError as error:
            unexplained.append(str(error))
    return Analysis(scoring, scenes, bare.report, surface, mixtures, tuple(unexplained))
