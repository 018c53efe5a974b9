"""Prepare a report's record for its page: groups by sport, and each respondent's name, color and marker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from spotball_core.grid import Grid
from spotball_core.plots.dots import NAME_ROOM, PROMPT_ROOM
from spotball_core.plots.theme import Look, group_marker, look_of, markers
from spotball_core.report.numbers.records import GroupAnswers, PageNumbers, PageReport, SportNumbers, compared, in_words
from spotball_core.schema.policy import ScorePolicy
from spotball_core.schema.report import Ceiling, GroupScore, Mixture
from spotball_core.text.words import shortened


class OfGroup(Protocol):
    """Interface of records that belong to one group (a sport, a respondent and a prompt)."""

    @property
    def sport(self) -> str | None:
        """The sport."""

    @property
    def respondent(self) -> str | None:
        """The respondent."""

    @property
    def prompt(self) -> str | None:
        """The prompt."""


@dataclass(frozen=True)
class PageView:
    """A report with the names, colors and markers of its groups, from which the page's sections are written.

    Attributes:
        report: the content of report.json.
    """

    report: PageReport

    @property
    def page(self) -> PageNumbers:
        """All numbers of the page that are not scores."""
        return self.report.page

    @property
    def policy(self) -> ScorePolicy:
        """The scoring policy."""
        return self.report.policy

    @property
    def reference(self) -> str | None:
        """The respondent that others are compared with."""
        return self.policy.reference

    @cached_property
    def reference_words(self) -> str:
        """The name that the page uses for the reference, such as "people"; empty if there is no reference."""
        return self.in_words(self.reference) if self.reference else ""

    def in_words(self, respondent: str) -> str:
        """Return the name that the page uses for a respondent."""
        return self._words.get(respondent, respondent)

    @cached_property
    def _words(self) -> dict[str, str]:
        groups = self.report.groups
        return {name: in_words(name, groups) for group in groups for name in (group.respondent or "",)}

    @cached_property
    def scored(self) -> list[GroupScore]:
        """The groups with scored images."""
        return [group for group in self.report.groups if group.n_images]

    @cached_property
    def compared(self) -> list[GroupScore]:
        """The groups to compare with the reference; baselines are included only if there are no other groups."""
        return compared(self.scored, self.reference)

    @cached_property
    def best(self) -> GroupScore | None:
        """The best of the compared groups: the highest accuracy or, without accuracies, the smallest distance."""
        for key, sign in (("accuracy", 1), ("wasserstein_matched", -1)):
            known = [
                (sign * value, score)
                for score in self.of_all
                if any(same_group(score, group, any_sport=True) for group in self.compared)
                and key in score.metrics
                and (value := score.metrics[key].value) is not None
            ]
            if known:
                return max(known, key=lambda pair: pair[0])[1]
        return None

    @cached_property
    def of_all(self) -> Sequence[GroupScore]:
        """The scores at the top of the page: the means over sports or, if there are none, the scores of one sport."""
        return self.page.overall or self.of_sport(self.sports[0])

    @cached_property
    def sports(self) -> list[str]:
        """The scored sports, in the order of the groups."""
        return [numbers.sport or "" for numbers in self.page.sports]

    @cached_property
    def by_sport(self) -> dict[str, SportNumbers]:
        """The numbers of each sport."""
        return {numbers.sport or "": numbers for numbers in self.page.sports}

    @cached_property
    def ceilings(self) -> dict[str, Ceiling]:
        """The noise ceiling of each sport whose reference names its participants."""
        by_sport = {ceiling.sport: ceiling for ceiling in self.report.ceilings}
        return {sport: by_sport[sport] for sport in self.sports if sport in by_sport}

    @cached_property
    def _mixtures(self) -> dict[tuple[str | None, ...], Mixture]:
        return {(mixture.sport, mixture.respondent, mixture.prompt): mixture for mixture in self.page.mixtures}

    def mixture(self, group: OfGroup) -> Mixture | None:
        """Return the mixture that explains a group's guesses; None if the group has no mixture."""
        return self._mixtures.get((group.sport, group.respondent, group.prompt))

    @cached_property
    def grid(self) -> Grid:
        """The grid of the maps."""
        grid = self.page.grid
        return Grid(grid.rows, grid.cols, grid.width, grid.height)

    @property
    def has_players(self) -> bool:
        """Whether any scored image has player boxes."""
        return any(numbers.n_with_players for numbers in self.page.sports)

    def of_sport(self, sport: str) -> list[GroupScore]:
        """Return a sport's groups."""
        return [group for group in self.scored if group.sport == sport]

    def answers_of(self, sport: str) -> list[GroupAnswers]:
        """Return, for each group of a sport, the positions of its answers in the image."""
        return [answers for answers in self.page.groups if answers.sport == sport]

    def of_reference(self, sport: str) -> GroupScore | None:
        """Return the reference's scores in a sport; None unless the reference has exactly one prompt in this sport."""
        groups = [group for group in self.of_sport(sport) if group.respondent == self.reference]
        return groups[0] if len(groups) == 1 else None

    # Names, colors and markers -------------------------------------------------------------------------------

    @cached_property
    def looks(self) -> dict[str, Look]:
        """The look (color) of each respondent, by its name."""
        return {name: look_of(name, group.kind) for group in self.report.groups for name in (group.respondent or "",)}

    def color(self, group: OfGroup) -> str:
        """Return the color of a group's respondent."""
        return self.looks[group.respondent or ""].color

    def marker(self, group: GroupScore) -> str:
        """Return the marker of a group: by prompt for models, by kind for people and baselines."""
        return group_marker(group.kind, self._markers.get(group.prompt or "", "o"))

    @cached_property
    def _markers(self) -> dict[str, str]:
        return markers(sorted({group.prompt or "" for group in self.report.groups if group.kind == "model"} | {""}))

    @cached_property
    def _asked(self) -> dict[str | None, int]:
        prompts: dict[str | None, set[str | None]] = {}
        for group in self.report.groups:
            prompts.setdefault(group.respondent, set()).add(group.prompt)
        return {respondent: len(prompts_asked) for respondent, prompts_asked in prompts.items()}

    def prompt(self, group: OfGroup) -> str:
        """Return a group's prompt if its respondent has several, else an empty text."""
        return (group.prompt or "") if self._asked[group.respondent] > 1 else ""

    def labels(self, group: OfGroup) -> tuple[str, str]:
        """Return the names of a group's respondent and prompt in figures, shortened if they are long."""
        return self._short[group.respondent or ""], shortened(self.prompt(group), PROMPT_ROOM)

    @property
    def reference_label(self) -> str:
        """The name of the reference in figures, shortened if it is long; empty if there is no reference."""
        return self._short[self.reference] if self.reference else ""

    @cached_property
    def _short(self) -> dict[str, str]:
        names = list(dict.fromkeys(group.respondent or "" for group in self.report.groups))
        short = [shortened(self.in_words(name), NAME_ROOM) for name in names]
        # Names that would look the same after shortening are kept in full.
        return {
            name: self.in_words(name) if short.count(short_name) > 1 else short_name
            for name, short_name in zip(names, short, strict=True)
        }

    def name(self, group: OfGroup) -> str:
        """Return a group's respondent, followed by its prompt if the respondent has several."""
        return f"{self.in_words(group.respondent or '')} {self.prompt(group)}".rstrip()


def same_group(one: OfGroup, other: OfGroup, *, any_sport: bool = False) -> bool:
    """Return whether two records have the same respondent and prompt, and (unless `any_sport`) the same sport."""
    same_sport = any_sport or one.sport == other.sport
    return same_sport and (one.respondent, one.prompt) == (other.respondent, other.prompt)
