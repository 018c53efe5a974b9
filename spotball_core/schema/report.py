"""The records of a score report: values with intervals, or the reasons for missing values, and their signature."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final, Literal

from pydantic import SerializerFunctionWrapHandler, model_serializer

from spotball_core.schema.policy import ScorePolicy
from spotball_core.schema.record import UNNAMED, Record
from spotball_core.schema.response import Kind
from spotball_core.schema.result import ResultRecord

SCHEMA_VERSION: Final = 1

Interval = tuple[float, float]


class MetricValue(Record):
    """One metric's value for one group of responses, or the reason why there is no value.

    Attributes:
        value: the metric's value; None if it is undefined, with the reason in `reason`.
        sd: standard deviation over images (n - 1), for metrics that are a mean over images.
        se: standard error of a matched metric: the standard deviation of its resampled values; None without resamples.
        ci95: 95% bootstrap interval (bias-corrected and accelerated); None without resamples.
        n_images: number of images used.
        reference: the respondent that the group is compared with.
        samples: median number of parsed responses per image, for metrics that depend on it.
        reference_samples: the same median for the reference, for metrics that compare with it.
        reason: why there is no value, or why images were excluded.
    """

    value: float | None
    sd: float | None = None
    se: float | None = None
    ci95: Interval | None = None
    n_images: int | None = None
    reference: str | None = None
    samples: float | None = None
    reference_samples: float | None = None
    reason: str | None = None

    @model_serializer(mode="wrap")
    def _without_blanks(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {key: value for key, value in handler(self).items() if key == "value" or value is not None}


def group_name(sport: str | None, respondent: str | None, prompt: str | None) -> str:
    """Join the parts of a group's name, such as soccer/gemini/cot. A sport that is not given is omitted.

    Examples:
        >>> group_name("soccer", "gemini", "cot"), group_name("all", "gemini", "cot"), group_name(None, None, None)
        ('soccer/gemini/cot', 'gemini/cot', 'all')
    """
    named = None if sport == UNNAMED else sport
    return "/".join(part for part in (named, respondent, prompt) if part) or UNNAMED


def sport_prefix(sport: str | None, after: str = ": ") -> str:
    """Return the sport and the text after it, or an empty text if the sport is not given.

    Examples:
        >>> sport_prefix("soccer"), sport_prefix("all"), sport_prefix(None)
        ('soccer: ', '', '')
    """
    return "" if sport in (None, UNNAMED) else f"{sport}{after}"


def named_sports(sports: Iterable[str | None]) -> list[str]:
    """Return the sports that a result must name: none if the only sport is that of images without a sport.

    Examples:
        >>> named_sports(["soccer", "all"]), named_sports(["all"])
        (['soccer', 'all'], [])
    """
    names = [sport for sport in sports if sport is not None]
    return [] if set(names) == {UNNAMED} else names


class GroupScore(Record):
    """The scores of one group of responses. Sport, respondent or prompt is None if groups are not split by it."""

    sport: str | None
    respondent: str | None
    kind: Kind | None
    prompt: str | None
    n_images: int
    n_responses: int
    n_unparsed: int
    metrics: dict[str, MetricValue]

    @property
    def name(self) -> str:
        """The group's name, such as soccer/gemini/cot."""
        return group_name(self.sport, self.respondent, self.prompt)


class Signature(Record):
    """The full provenance of a number. `str()` returns the short form that is printed under tables.

    Attributes:
        version: the version of spotball-core.
        data: SHA-256 of all given scenes and counts, independent of their files and order.
        grid: rows x cols @ width x height, with "mixed" as the size if images differ.
        n_images: number of scored images over all sports; each counts once.
        dropped: number of images that some or all metrics exclude, by reason.
        parse_policies: the policies that model replies were parsed under, if the response files name them.
    """

    version: str
    data: str
    grid: str
    policy: ScorePolicy
    n_images: int
    dropped: dict[str, int]
    parse_policies: tuple[str, ...] = ()

    def __str__(self) -> str:
        return short_form(self.fields())

    def fields(self) -> dict[str, object]:
        """Return the parts of the short form by name."""
        policy = self.policy
        changed = "".join(f"+{key}={_short(value)}" for key, value in policy.changed().items())
        fields: dict[str, object] = {
            "v": self.version,
            "data": self.data[:8],
            "grid": self.grid,
            "policy": policy.name + changed,
            "images": f"{policy.images}{self.n_images}",
            "ref": policy.reference or "none",
            "w": f"exact-{policy.wasserstein_unit}",
            "boot": policy.bootstrap,
            "seed": policy.seed,
        }
        if self.parse_policies:
            fields["parse"] = ",".join(self.parse_policies)
        return fields


def short_form(fields: Mapping[str, object]) -> str:
    """Join the fields of a signature, such as spotball|v:0.1.0|data:3f9a1c2e."""
    return "|".join(["spotball", *(f"{key}:{value}" for key, value in fields.items())])


def _short(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(_short(item) for item in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


class Ceiling(Record):
    """The noise ceiling of one sport. Distances are Wasserstein distances in the policy's unit.

    Attributes:
        sport: the sport.
        reference: the name of the reference, a group of people.
        n_participants: number of participants in the reference.
        n_images: number of scored images that they answered.
        splits: number of random splits of the participants into halves.
        split_half: distance between two random halves of the participants, mean over splits and images; the interval
            comes from a bootstrap over images.
        leave_one_out_accuracy: mean over participants of the accuracy of the cell that the other participants named
            most, which is the accuracy possible with only other people's answers. Tied cells share the credit.
        participant_accuracy: accuracy of the participants, over their responses.
        uniform: distance of the uniform distribution from the reference, mean over images.
        sampling_floor: for each group, by name, the expected distance of a respondent that samples the reference's
            distribution as often per image as the group did; 0 on images that the group answered with probabilities,
            which are not sampled.
        score: for each group, 1 - W / U on its images, where W and U are the matched Wasserstein distances of the group
            and of the uniform distribution from the reference. It is 0 for uniform guessing and 1 for a respondent that
            answers like people, for any number of responses. Matched distances near 0 can be negative, so scores
            slightly above 1 occur.
    """

    sport: str
    reference: str
    n_participants: int
    n_images: int
    splits: int
    split_half: MetricValue
    leave_one_out_accuracy: MetricValue
    participant_accuracy: MetricValue
    uniform: float
    sampling_floor: dict[str, float]
    score: dict[str, MetricValue]
    signature: str


class CeilingReport(ResultRecord):
    """The result of `noise_ceiling`.

    Attributes:
        warnings: the reason why there is no noise ceiling.
        ceilings: one noise ceiling per sport whose reference names its participants.
    """

    _forms: ClassVar[str] = "spotball_core.scoring.tables:CEILING_FORMS"
    _counted: ClassVar[tuple[str, ...]] = ("ceilings",)

    schema_version: Literal[1] = SCHEMA_VERSION
    signature: str
    policy: ScorePolicy
    warnings: tuple[str, ...] = ()
    ceilings: tuple[Ceiling, ...]


class ImageSet(Record):
    """A set of images that groups of a report are scored on, with digests of its data.

    Groups of different reports are scored on the same task if version, policy, `scenes` and `reference` are equal.

    Attributes:
        groups: the positions of these groups in the report's `groups`.
        scenes: SHA-256 of the scenes of these images: names, grids, ground truth and players.
        reference: SHA-256 of the reference's responses to them; None without a reference.
        uniform: the scores of uniform guessing on them, by metric: metrics that do not depend on the number of
            responses, and matched distances to the reference.
    """

    groups: tuple[int, ...]
    scenes: str
    reference: str | None
    uniform: dict[str, float]


class ScoreReport(ResultRecord):
    """The result of `score`, and the format of `spotball score --format json`.

    Attributes:
        ceilings: the noise ceiling of each sport whose reference names its participants, if requested.
        image_sets: each set of images that a group is scored on; empty in reports from before this field was added.
    """

    _forms: ClassVar[str] = "spotball_core.scoring.summary:FORMS"
    _counted: ClassVar[tuple[str, ...]] = ("groups",)

    schema_version: Literal[1] = SCHEMA_VERSION
    signature: str
    provenance: Signature
    policy: ScorePolicy
    warnings: tuple[str, ...] = ()
    groups: tuple[GroupScore, ...]
    ceilings: tuple[Ceiling, ...] = ()
    image_sets: tuple[ImageSet, ...] = ()

    def group(self, respondent: str, *, sport: str | None = None, prompt: str | None = None) -> GroupScore:
        """Return the group of a respondent, narrowed down by sport and prompt if given.

        Raises:
            KeyError: if there is no such group, or more than one.
        """
        criteria = {"respondent": respondent, "sport": sport, "prompt": prompt}
        criteria = {key: value for key, value in criteria.items() if value is not None}
        matches = [g for g in self.groups if all(getattr(g, key) == value for key, value in criteria.items())]
        if len(matches) != 1:
            advice = ". Pass sport and prompt" if matches else ""
            raise KeyError(f"{len(matches)} groups match {criteria}, expected one{advice}")
        return matches[0]


class Mixture(ResultRecord):
    """A group's guesses as a mixture of heuristics (parts): the estimated share of guesses that came from each part.

    Attributes:
        group: the group's name.
        sport: the group's sport; None if it spans several.
        respondent: the group's respondent.
        prompt: the group's prompt.
        n_images: number of images used.
        n_answers: number of parsed answers to them.
        weights: the weight of each part, with intervals from a bootstrap over images. The weights sum to 1.
        explained: for each part except the uniform distribution, its share of the gain in log likelihood over the
            uniform distribution. The shares are Shapley values: the gain from adding the part, averaged over all orders
            of adding parts. They sum to 1, or are all 0 if there is no gain.
        log_likelihood: log likelihood of the fitted mixture, in nats.
        log_likelihood_uniform: log likelihood of the uniform distribution alone.
        notes: parts and images that were excluded, with reasons.
    """

    _forms: ClassVar[str] = "spotball_core.cues.mixture_text:FORMS"
    _counted: ClassVar[tuple[str, ...]] = ("weights",)

    group: str
    sport: str | None
    respondent: str | None
    prompt: str | None
    n_images: int
    n_answers: float
    weights: dict[str, MetricValue]
    explained: dict[str, float]
    log_likelihood: float
    log_likelihood_uniform: float
    notes: tuple[str, ...] = ()
    signature: str
