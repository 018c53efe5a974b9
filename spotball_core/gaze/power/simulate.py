"""Estimate how often the battery of tests assigns the correct type to simulated respondents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from spotball_core.errors import OptionError
from spotball_core.gaze.battery.findings import Key
from spotball_core.gaze.battery.run import ORDER, Battery, TestPolicy, run_battery
from spotball_core.gaze.battery.types import TYPES, Type
from spotball_core.gaze.data.stimuli import Stimulus
from spotball_core.gaze.measures import wilson, with_measures
from spotball_core.gaze.power.observers import Cue, Observer, simulate
from spotball_core.schema.record import Record
from spotball_core.schema.report import Interval
from spotball_core.service.parallel import in_processes
from spotball_core.service.progress import OnProgress, counted, ignore_progress

Range = tuple[float, float]

Tests = Literal["all", "deciding"] | tuple[Key, ...]


@dataclass(frozen=True)
class Population:
    """A population of simulated observers, whose parameters are drawn from uniform distributions.

    Attributes:
        name: name of the population.
        type: the type that the battery should assign to its observers.
        cue: the rule by which its observers choose.
        weight: range of the weight of the head.
        noise: range of the noise from trial to trial.
        stimulus_noise: range of the noise from photo to photo.
        lapse: range of the share of trials answered at random.
    """

    name: str
    type: Type
    cue: Cue
    weight: Range = (0.5, 0.5)
    noise: Range = (0.05, 0.25)
    stimulus_noise: Range = (0.05, 0.2)
    lapse: Range = (0.0, 0.03)

    def draw(self, generator: np.random.Generator) -> Observer:
        """Draw the parameters of one observer, and return it."""
        ranges = {
            "weight": self.weight,
            "noise": self.noise,
            "stimulus_noise": self.stimulus_noise,
            "lapse": self.lapse,
        }
        parameters = {name: float(generator.uniform(*ends)) for name, ends in ranges.items()}
        return Observer(self.cue, **parameters)


POPULATIONS: Final = (
    Population("sharp eyes", "human-level", "eye"),
    Population(
        "blurred eyes", "gap without head bias", "eye", noise=(0.5, 1.2), stimulus_noise=(0.2, 0.6), lapse=(0.0, 0.3)
    ),
    Population("guess", "at chance", "guess"),
    Population("head", "head-only", "head", noise=(0.1, 0.7), stimulus_noise=(0.1, 0.4), lapse=(0.0, 0.3)),
    Population(
        "compromise",
        "head-dominant",
        "compromise",
        weight=(0.55, 0.75),
        noise=(0.15, 0.5),
        stimulus_noise=(0.1, 0.3),
        lapse=(0.0, 0.2),
    ),
    Population(
        "coin",
        "eye-head ambivalent",
        "coin",
        weight=(0.45, 0.65),
        noise=(0.05, 0.12),
        stimulus_noise=(0.05, 0.12),
        lapse=(0.1, 0.3),
    ),
    Population(
        "shift",
        "unclear",
        "shift",
        weight=(0.55, 0.8),
        noise=(0.05, 0.12),
        stimulus_noise=(0.05, 0.12),
        lapse=(0.1, 0.3),
    ),
)
"""Populations of observers, each with the type that the battery should assign to them."""


class Rate(Record):
    """Share of simulated respondents for which the verdict of a test is yes.

    Attributes:
        yes: number of respondents with a positive verdict.
        no_answer: number of respondents without a verdict.
        n: number of respondents.
        share: yes / n.
        ci95: Wilson's 95% interval of the share.
    """

    yes: int
    no_answer: int
    n: int
    share: float
    ci95: Interval


class Power(Record):
    """The battery's results for simulated respondents of one population.

    Attributes:
        name: name of the population, or the cue of a single observer.
        expected: the correct type; None for a single observer.
        n: number of respondents.
        n_trials: number of trials of each respondent.
        types: number of respondents to which the battery assigned each type.
        tests: how often each test answered yes, among the respondents for which it ran.
        supports: number of respondents for which Test 4 supported each type, among those for which it ran.
    """

    name: str
    expected: Type | None
    n: int
    n_trials: int
    types: dict[str, int]
    tests: dict[Key, Rate]
    supports: dict[str, int]

    @property
    def right(self) -> float:
        """The share of respondents with the expected type."""
        return self.types.get(self.expected or "", 0) / self.n


@dataclass(frozen=True)
class _PowerTask:
    observer: Observer
    stimuli: tuple[Stimulus, ...]
    prompts: int
    policy: TestPolicy
    tests: Tests
    seed: int


_Verdicts = tuple[Type | None, dict[Key, bool | None], str | None]


def power(
    make: Observer | Population,
    stimuli: Sequence[Stimulus],
    *,
    simulations: int,
    prompts: int,
    policy: TestPolicy | None = None,
    tests: Tests = "all",
    seed: int = 0,
    jobs: int = 1,
    on_progress: OnProgress = ignore_progress,
) -> Power:
    """Run the battery on simulated respondents, and count its verdicts and types.

    Args:
        make: an observer that answers for all respondents, or a population from which each respondent is drawn.
        stimuli: the photos of the design.
        simulations: number of respondents, at least 1.
        prompts: number of trials of each photo.
        policy: alpha and the correction for multiple tests (default: `TestPolicy()`).
        tests: `all`; `deciding` to run only the tests that determine each respondent's type; or the keys of the tests
            to run, in which case no types are determined.
        seed: seed of all random draws. More simulations with the same seed leave the first respondents unchanged.
        jobs: number of processes.
        on_progress: called with the number of finished respondents, and their total.

    Raises:
        OptionError: if `simulations` is below 1, or if `policy` corrects for multiple tests but `tests` is not `all`.
    """
    policy, photos = policy or TestPolicy(), tuple(stimulus for stimulus in stimuli if not stimulus.attention_check)
    if simulations < 1:
        raise OptionError(f"found {simulations}, expected at least 1", field="simulations")
    if tests != "all" and policy.multiplicity != "none":
        raise OptionError("a correction for multiple tests needs all tests. Pass tests='all', or multiplicity='none'")
    tasks = []
    for number in range(simulations):
        generator = np.random.default_rng((seed, number))
        observer = make.draw(generator) if isinstance(make, Population) else make
        tasks.append(_PowerTask(observer, photos, prompts, policy, tests, int(generator.integers(2**63))))
    outcomes = list(counted(in_processes(_verdicts, tasks, jobs), simulations, on_progress))
    types = Counter(kind for kind, _, _ in outcomes if kind)
    supports = Counter(supports for _, _, supports in outcomes if supports)
    by_test = {key: [verdicts[key] for _, verdicts, _ in outcomes if key in verdicts] for key in ORDER}
    return Power(
        name=make.name if isinstance(make, Population) else make.cue,
        expected=make.type if isinstance(make, Population) else None,
        n=simulations,
        n_trials=len(photos) * prompts,
        types={kind: types[kind] for kind in TYPES if types[kind]},
        tests={key: _rate(verdicts) for key, verdicts in by_test.items() if verdicts},
        supports=dict(sorted(supports.items())),
    )


def _verdicts(task: _PowerTask) -> _Verdicts:
    rows = with_measures(simulate(task.observer, task.stimuli, prompts=task.prompts, seed=task.seed).frame)
    kind: Type | None = None
    if task.tests == "all":
        findings, kind = run_battery(rows, task.policy)
    else:
        battery = Battery(rows, task.policy)
        if task.tests == "deciding":
            kind = battery.type()
        else:
            for key in task.tests:
                battery[key]
        findings = battery.findings
    supports = findings["4"].supports if "4" in findings else None
    return kind, {key: finding.verdict for key, finding in findings.items()}, supports


def _rate(verdicts: Sequence[bool | None]) -> Rate:
    yes, n = verdicts.count(True), len(verdicts)
    return Rate(yes=yes, no_answer=verdicts.count(None), n=n, share=yes / n, ci95=wilson(yes, n))
