"""Plan the comparison of two respondents from a pilot: variance components, power, and the designs for an effect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from spotball_core.comparison.matched import Matched, matched
from spotball_core.errors import OptionError, unknown_name
from spotball_core.metrics.metric import Metric
from spotball_core.metrics.registry import METRICS
from spotball_core.planning.components import Answered, answered, crossed, scored
from spotball_core.planning.design import ANSWERS, Cheapest, Spread, cheapest, paired
from spotball_core.planning.record import Components, Design, Measured, MetricPlan, Pilot, Plan
from spotball_core.random import generator_for
from spotball_core.scoring import sides
from spotball_core.scoring.groups import Group, Scoring
from spotball_core.stats.power import POWER
from spotball_core.text.numbers import ALPHA, in_unit, unit_of
from spotball_core.text.words import listed
from spotball_core.typing import FloatArray

SHOWN = (1, 5, 20, 50)
"""Numbers of answers per image whose numbers of images are listed, with the pilot's number."""

IMAGES = (25, 50, 100, 200, 400, 800, 1600)
"""Numbers of images of the curves."""

LEAST_MATCHED = 10
"""Minimum number of answers per image in plans for matched metrics. With fewer, these estimates have a bias, and more
noise than the components predict.
"""

RESAMPLES = 500
"""Number of resamples of the pilot's images for the interval of the needed number of images."""

Effects = float | Mapping[str, float]
"""The difference to detect: one number for all metrics in percent or pixels, or a number for each metric."""


@dataclass(frozen=True)
class Goal:
    """What a plan must reach, and what it may cost; see `plan`."""

    effect: Effects
    power: float = POWER
    tests: int | None = None
    price_answer: float | None = None
    price_image: float | None = None

    def __post_init__(self) -> None:
        for key, value in self.effect.items() if isinstance(self.effect, Mapping) else [("effect", self.effect)]:
            if not 0 < value < float("inf"):
                raise OptionError(
                    f"found {value:g}, expected a number above 0",
                    field="effect" if key == "effect" else f"effect: {key}",
                )
        if not ALPHA < self.power < 1:
            raise OptionError(
                f"found {self.power:g}, expected a number above {ALPHA} and below 1, such as 0.8", field="power"
            )
        if self.tests is not None and self.tests < 1:
            raise OptionError(f"found {self.tests}, expected at least 1", field="tests")
        for name in ("price_answer", "price_image"):
            if not 0 <= (getattr(self, name) or 0) < float("inf"):
                raise OptionError(f"found {getattr(self, name):g}, expected at least 0", field=name)

    def of(self, key: str, unit: str) -> float | None:
        """Return the effect for a metric, in its unit; None if there is none."""
        if isinstance(self.effect, Mapping):
            value = self.effect.get(key)
        else:
            value = self.effect if unit in ("share", "px") else None
        return None if value is None else in_unit(value, unit)

    @property
    def has_price(self) -> bool:
        """Whether designs have a cost."""
        return self.price_answer is not None or self.price_image is not None

    def cost(self, images: int, answers: int) -> float | None:
        """Return the cost of a design; None without prices."""
        if not self.has_price:
            return None
        return images * ((self.price_image or 0.0) + answers * (self.price_answer or 0.0))


def plan(
    scoring: Scoring,
    goal: Goal,
    *,
    a: str | None = None,
    b: str | None = None,
    sport: str | None = None,
    metrics: Sequence[str] | None = None,
) -> Plan:
    """Estimate the variance components of a pilot, and plan a comparison of two respondents on the same images.

    The plan is for the test of `compare`: it swaps labels within images, and its p values are corrected for several
    tests. Each test is planned at the level 0.05 / tests (Bonferroni), the first step of Holm's method. The power of
    `compare` is therefore at least as large as planned.

    Args:
        scoring: the pilot's scored groups.
        goal: the effect, the power, the number of tests (default: the metrics that `compare` tests) and the prices.
        a: a respondent (all its prompts pooled), or respondent/prompt.
        b: the respondent to compare with. If only a is given, the plan is for two respondents like a. Without both, the
            pilot must have one or two respondents other than the reference and baselines.
        sport: the sport whose images are used. Default: all.
        metrics: keys of the metrics to plan for. Default: those of the paper, or their matched versions.

    Raises:
        OptionError: if names are unknown or not given, no image is scored for both, or an effect is not for a metric of
            the plan.
    """
    return plan_of(pilot_of(scoring, metric_keys(metrics, goal), a=a, b=b, sport=sport), goal)


def pilot_of(scoring: Scoring, keys: Sequence[str], *, a: str | None, b: str | None, sport: str | None) -> Pilot:
    """Return what a pilot shows about two respondents; see `plan`."""
    a, b = _names(scoring, a, b)
    groups = {a: sides.groups_named(scoring, a)}
    groups[b or f"another {a}"] = sides.groups_named(scoring, b or a)
    scenes = _scenes(scoring, groups, sport)
    pair = matched(scoring, groups, scenes)
    of_sides = [estimator.estimates(METRICS.values()) for estimator in pair.estimators]
    reasons = {
        key: next((str(values[key].reason) for values in of_sides if values[key].value is None), None)
        for key in METRICS
    }
    tested = [key for key, reason in reasons.items() if reason is None and not METRICS[key].by_size]
    measure = _Measure(scoring, pair, groups, b is None)
    found: dict[str, Measured | str] = {}
    for key in keys:
        reason = "the metric depends on the number of responses" if METRICS[key].by_size else reasons[key]
        found[key] = reason or measure.of(METRICS[key], unit_of(key, scoring.policy))
    return Pilot(
        provenance=scoring.signature(),
        policy=scoring.policy,
        warnings=tuple(map(str, scoring.counts.warnings)),
        a=a,
        b=b,
        sport=sport,
        tests=max(len(tested), 1),
        metrics=found,
    )


def plan_of(pilot: Pilot, goal: Goal) -> Plan:
    """Plan a comparison from what a pilot shows; see `plan`."""
    tests = goal.tests or pilot.tests
    goal = replace(goal, tests=tests)
    return Plan(
        signature=f"{pilot.provenance}|power:{goal.power:g}|tests:{tests}",
        provenance=pilot.provenance,
        policy=pilot.policy,
        warnings=pilot.warnings,
        a=pilot.a,
        b=pilot.b,
        sport=pilot.sport,
        power=goal.power,
        tests=tests,
        price_answer=goal.price_answer,
        price_image=goal.price_image,
        metrics={
            key: MetricPlan(unit=unit_of(key, pilot.policy), reason=found)
            if isinstance(found, str)
            else _MetricPlanner(METRICS[key], found, goal).plan()
            for key, found in pilot.metrics.items()
        },
    )


def least_answers(metric: Metric) -> int:
    """Return the minimum number of answers per image for which a metric can be planned."""
    return max(metric.least_responses, LEAST_MATCHED if metric.is_matched else 1)


def _names(scoring: Scoring, a: str | None, b: str | None) -> tuple[str, str | None]:
    if a is not None:
        if a == b:
            raise OptionError(f"{a} and {b} contain the same answers. Name two respondents, or only --a", field="b")
        return a, b
    if b is not None:
        raise OptionError("add --a, the respondent to compare with", code="missing-option", field="a")
    others = [group for group in scoring.groups if group.respondent != scoring.policy.reference]
    names = {str(group.respondent): group.kind for group in others}
    chosen = [name for name, kind in names.items() if kind != "baseline"] or list(names)
    if not 1 <= len(chosen) <= 2:
        raise OptionError(
            f"the pilot has {len(chosen)} respondents: {listed(chosen) or 'none'}. Name two with --a and --b, or one "
            "with --a",
            code="missing-option",
            field="a",
        )
    return chosen[0], (chosen[1] if len(chosen) > 1 else None)


def _scenes(scoring: Scoring, groups: Mapping[str, Sequence[Group]], sport: str | None) -> list[int]:
    answered_by = [set().union(*(scoring.images(group) for group in own)) for own in groups.values()]
    sports = scoring.arrays.sports
    if sport is not None and sport not in sports:
        raise OptionError(unknown_name("sport", sport, sorted(set(sports))), code="unknown-name", field="sport")
    scenes = sorted(scene for scene in set.intersection(*answered_by) if sport in (None, sports[scene]))
    if len(scenes) < 2:
        raise OptionError(
            f"the pilot has {len(scenes)} scored images that {listed(list(groups))} answered, expected at least 2. A "
            "plan needs a pilot with the same images for both respondents",
            code="no-data",
        )
    return scenes


def metric_keys(metrics: Sequence[str] | None, goal: Goal) -> list[str]:
    """Return the keys of the metrics to plan for; see `plan`."""
    named = list(goal.effect) if isinstance(goal.effect, Mapping) else []
    if unknown := [key for key in named if key not in (METRICS if metrics is None else metrics)]:
        raise OptionError(
            unknown_name("metric", unknown[0], METRICS if metrics is None else metrics),
            code="unknown-name",
            field="effect",
        )
    if metrics is not None:
        return list(metrics)
    of_paper = [
        key for key, metric in METRICS.items() if METRICS[metric.estimates or key].equation and not metric.by_size
    ]
    return [key for key in METRICS if key in of_paper or key in named]


@dataclass(frozen=True)
class _MetricPlanner:
    """Plan for one metric; see `plan_of`."""

    metric: Metric
    found: Measured
    goal: Goal

    @property
    def spread(self) -> Spread:
        """The variance of the metric's difference."""
        found, goal = self.found, self.goal
        parts = (found.between, found.first, found.second, found.people, found.step)
        return Spread(*parts, least_answers(self.metric), ALPHA / (goal.tests or 1), goal.power, found.only)

    def plan(self) -> MetricPlan:
        """Return the plan."""
        found, spread, effect, own = self.found, self.spread, self.effect, self.found.answers
        needed = None if effect is None else spread.images(effect, own)
        numbers = sorted({*SHOWN, own})
        return MetricPlan(
            unit=found.unit,
            effect=effect,
            n_images=found.n_images,
            respondents=found.respondents,
            difference=None if spread.only else spread.between,
            pilot=self._pilot(spread),
            at_best=None
            if spread.only
            else replace(spread, first=0.0, second=0.0, people=0.0).smallest(found.n_images, 1_000_000),
            images={} if effect is None else {k: spread.images(effect, k) for k in numbers},
            needed=needed,
            needed_ci95=self._uncertain(spread, effect) if effect is not None and needed else None,
            enough_answers=spread.enough_answers,
            cheapest=self._cheapest(spread, effect),
            curves=tuple(self._design(spread, n, k) for k in numbers for n in IMAGES),
        )

    @property
    def effect(self) -> float | None:
        """The difference to detect, in the metric's unit."""
        return self.goal.of(self.metric.key, self.found.unit)

    def _pilot(self, spread: Spread) -> Design:
        """Return the pilot's own design, whose variance is known without components, except between people."""
        found = self.found
        people = found.pilot_people * found.answers
        own = replace(spread, between=found.variance, first=0.0, second=0.0, people=people, least=1, only=None)
        return self._design(own, found.n_images, found.answers)

    def _design(self, spread: Spread, images: int, answers: int) -> Design:
        return Design(
            images=images,
            answers=answers,
            detects=spread.smallest(images, answers),
            cost=self.goal.cost(images, answers),
        )

    def _cheapest(self, spread: Spread, effect: float | None) -> Design | None:
        if effect is None or not self.goal.has_price:
            return None
        best: Cheapest | None = cheapest(
            [(spread, effect)],
            price_answer=self.goal.price_answer or 0.0,
            price_image=self.goal.price_image or 0.0,
            answers=ANSWERS if spread.only is None else (spread.only,),
        )
        return self._design(spread, best.images, best.answers) if best else None

    def _uncertain(self, spread: Spread, effect: float) -> tuple[int, int | None] | None:
        """Return the numbers of images for the ends of the interval of the variance."""
        if self.found.variance_ci95 is None:
            return None
        low, high = (
            replace(spread, between=end, first=0.0, second=0.0).images(effect, self.found.answers)
            for end in self.found.variance_ci95
        )
        return None if low is None else (low, high)


@dataclass(frozen=True)
class _Measure:
    """Measure one metric at a time; see `pilot_of`."""

    scoring: Scoring
    pair: Matched
    groups: Mapping[str, Sequence[Group]]
    is_twin: bool

    def of(self, metric: Metric, unit: str) -> Measured | str:
        """Return what the pilot shows about a metric with values for both respondents, or why it shows nothing."""
        names = list(self.groups)[: 1 if self.is_twin else 2]
        values = [self._answered(metric, side) for side in range(len(names))]
        components = {
            name: self._components(metric, side, own)
            for side, (name, own) in enumerate(zip(names, values, strict=True))
        }
        pair = paired(values[0], None if self.is_twin else values[1])
        if len(pair.differences) < 2:
            return "fewer than 2 images have values for both respondents"
        people = sum(self._per_answer(side, part) for side, part in enumerate(components.values()))
        people *= len(self.groups) - len(names) + 1
        between, first, second = pair.parts()
        own = int(min(np.nanmedian(side.answers) for side in values))
        return Measured(
            unit=unit,
            n_images=len(pair.differences),
            answers=own,
            respondents=components,
            between=between,
            first=first,
            second=second,
            people=people,
            step=pair.step,
            only=pair.only,
            variance=float(pair.differences.var(ddof=1)),
            variance_ci95=pair.variance_interval(own, resamples=RESAMPLES, seed=self.scoring.policy.seed),
            pilot_people=sum((part.participants or 0.0) / (part.n_participants or 1) for part in components.values()),
        )

    def _answered(self, metric: Metric, side: int) -> Answered:
        generator = generator_for(self.scoring.policy.seed, "plan", metric.key, str(side))
        return answered(self.pair.estimators[side], metric, generator)

    def _components(self, metric: Metric, side: int, own: Answered) -> Components:
        first, second = (values[np.isfinite(own.values)] for values in own.filled)
        known = bool(np.isfinite(first).all())
        between = float(np.nanvar(own.values, ddof=1)) - float(own.noise[np.isfinite(own.values)].mean())
        people = self.pair.people[side]
        prompts = [group for group in list(self.groups.values())[side] if group.prompt is not None]
        by_prompt = self._by_prompt(prompts, side) if len({group.prompt for group in prompts}) > 1 else None
        deviations = np.sqrt(np.maximum(first, 0.0))
        return Components(
            images=max(between, 0.0) if known else None,
            answers=float(first.mean()) if known else None,
            answers_squared=float(second.mean()) if known else None,
            participants=_between_rows(own, people.mass, people.unparsed) if people else None,
            n_participants=len(people.ids) if people else None,
            prompts=_between_rows(own, *by_prompt) if by_prompt else None,
            best_allocation=float(deviations.mean() ** 2 / (deviations**2).mean())
            if own.scores is not None and known and deviations.any()
            else None,
        )

    def _per_answer(self, side: int, components: Components) -> float:
        """Return the variance between participants for one answer per image; each may give several to an image."""
        people = self.pair.people[side]
        if people is None or not components.participants:
            return 0.0
        answers = people.mass.sum(axis=-1) + people.unparsed
        return components.participants * float(answers[answers > 0].mean())

    def _by_prompt(self, groups: Sequence[Group], side: int) -> tuple[FloatArray, FloatArray]:
        import polars as pl

        scenes = self.pair.estimators[side].scenes.tolist()
        parts = []
        for prompt in dict.fromkeys(group.prompt for group in groups):
            numbers = [group.number for group in groups if group.prompt == prompt]
            parts.append(
                sides.answers(
                    self.scoring,
                    self.scoring.table.filter(pl.col("_group").is_in(numbers) & pl.col("_scene").is_in(scenes)),
                    scenes,
                )
            )
        return np.stack([mass for mass, _ in parts]), np.stack([unparsed for _, unparsed in parts])


def _between_rows(own: Answered, mass: FloatArray, unparsed: FloatArray) -> float | None:
    """Return the variance between participants or prompts, the first axis of their answers; None if it is unknown."""
    if own.scores is None:
        return None
    scores, counts = scored(own.scores, mass, unparsed)
    variance, _, _ = crossed((counts * scores).sum(axis=-1), counts.sum(axis=-1), float((counts * scores**2).sum()))
    return max(variance, 0.0) if np.isfinite(variance) else None
