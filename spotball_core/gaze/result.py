"""Define the report that `spotball gaze analyze --format json` writes."""

from __future__ import annotations

from typing import Final, Literal

from spotball_core.gaze import checks as one_respondent
from spotball_core.gaze.battery.chance import AtChance
from spotball_core.gaze.battery.findings import Finding, Key
from spotball_core.gaze.battery.run import TestPolicy
from spotball_core.gaze.battery.stability import Stability
from spotball_core.gaze.battery.types import Type
from spotball_core.gaze.cells import Cell
from spotball_core.gaze.fleet import FleetAgainstChance, Trend, TwoRespondents
from spotball_core.gaze.mechanism.constant import Constant
from spotball_core.gaze.mechanism.records import Mechanism
from spotball_core.schema.record import Record
from spotball_core.schema.report import Interval

SCHEMA_VERSION: Final = 1


class Checks(Record):
    """Effects of sites, response times and hints; empty or None if the trials do not allow a check.

    Attributes:
        sites: difference in wrongness between each site (place where photos were taken) and the first site.
        response_time: effect of the response time on accuracy; None if response times are missing or all equal, or if
            neither the model nor a t-test is possible.
        hint: difference in accuracy between prompts with and without a hint; None if `GazeOptions.hinted` is empty or
            fewer than two photos have both kinds of prompts.
    """

    sites: tuple[one_respondent.Effect, ...] = ()
    response_time: one_respondent.Effect | None = None
    hint: one_respondent.Effect | None = None


class RespondentResult(Record):
    """The results of one respondent.

    Attributes:
        respondent: name of the respondent.
        n_trials: number of trials in all conditions.
        n_unmatched: number of trials whose reply could not be matched to an object; they count as wrong.
        summary: two sentences: the result of the cue model, and the type.
        accuracy: accuracy by number of objects, over the trials named in `accuracy_of` (gaze paper, Table 1).
        accuracy_ci95: 95% confidence intervals of these accuracies; None without resamples.
        accuracy_trials: number of trials from which each accuracy was computed.
        accuracy_of: the trials from which `accuracy` was computed: `natural` for those in the natural condition, or
            `all` if there are no such trials.
        tests: the finding of each test, by the test's key.
        type: the respondent's type, which follows from the tests.
        constant: the choice that the respondent always makes; None if its choices vary.
        at_chance: equivalence tests of accuracy and head choices against chance; None for fewer than two photos.
        stability: the types in bootstrap samples of the scenes; None without resamples.
        mechanism: the fitted cue model, which describes how the respondent combines eyes and head; None if it was not
            fitted.
        no_mechanism: why the cue model was not fitted; None if it was.
        cells: means by condition, view, proximity, DistEyeHead, offset (position of the head target minus that of the
            gaze target) and response time.
        checks: effects of sites, response times and hints.
    """

    respondent: str
    n_trials: int
    n_unmatched: int
    summary: str
    accuracy: dict[str, float]
    accuracy_ci95: dict[str, Interval | None]
    accuracy_trials: dict[str, int]
    accuracy_of: Literal["natural", "all"]
    tests: dict[Key, Finding]
    type: Type
    constant: Constant | None = None
    at_chance: AtChance | None
    stability: Stability | None = None
    mechanism: Mechanism | None
    no_mechanism: str | None = None
    cells: tuple[Cell, ...]
    checks: Checks


class GazeSignature(Record):
    """The data, version and options of a report. `str()` returns the short form that is printed under tables.

    Attributes:
        version: version of spotball-core.
        data: SHA-256 of all trials, independent of their order.
        people: the respondent that stands for people in Test 1; None if Test 1 uses the published accuracies of people.
        policy: the policy of the tests.
        bootstrap: number of resamples of the photos, for intervals of means.
        seed: seed of all random draws.
        dropped: number of excluded trials, by reason.
    """

    version: str
    data: str
    people: str | None
    policy: TestPolicy
    bootstrap: int
    seed: int
    dropped: dict[str, int]

    def __str__(self) -> str:
        fields = {
            "v": self.version,
            "data": self.data[:8],
            "people": self.people or "published",
            "policy": self.policy.name,
            "margin": f"{self.policy.margin:g}",
            "alpha": f"{self.policy.alpha:g}",
            "multiplicity": self.policy.multiplicity,
            "boot": self.bootstrap,
            "seed": self.seed,
        }
        return "|".join(["spotball-gaze", *(f"{key}:{value}" for key, value in fields.items())])


class Fleet(Record):
    """Results about the respondents as a group: tests against chance, trends, and a comparison of two respondents.

    Attributes:
        against_chance: tests of each respondent's accuracy against uniform guessing.
        trends: trends of accuracy with release date and model size; empty if these are unknown.
        compared: comparison of two respondents; None if not requested.
    """

    against_chance: FleetAgainstChance
    trends: tuple[Trend, ...] = ()
    compared: TwoRespondents | None = None


class GazeReport(Record):
    """The full gaze analysis.

    Attributes:
        respondents: the respondents, in the order of the file.
        fleet: results over all respondents.
        n_stimuli: number of photos, by condition and number of objects.
        chance: accuracy of uniform guessing by condition, averaged over respondents.
        warnings: warnings about limits of the numbers, such as unmatched choices.
        remarks: remarks on the methods of single tests, such as models that were replaced by t-tests.
        signature: short form of `provenance`, as printed under tables.
        provenance: full signature of the numbers: version, data and options.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    respondents: tuple[RespondentResult, ...]
    fleet: Fleet
    n_stimuli: dict[str, dict[str, int]]
    chance: dict[str, float]
    warnings: tuple[str, ...]
    remarks: tuple[str, ...] = ()
    signature: str
    provenance: GazeSignature
