"""What scoring gives: numbers, each with its interval or the reason why there is none, and their signature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from pydantic import SerializerFunctionWrapHandler, model_serializer

from spotball_core.schema.policy import ScorePolicy
from spotball_core.schema.record import Record
from spotball_core.schema.response import Kind

SCHEMA_VERSION: Final = 1

Interval = tuple[float, float]


class MetricValue(Record):
    """One metric of one group.

    Attributes:
        value: the metric; None where it is undefined, with the reason beside it.
        sd: standard deviation over images (n - 1), for metrics that are a mean over images.
        ci95: 95% bootstrap interval (bias-corrected and accelerated); None without resamples.
        n_images: images that entered the value.
        reference: the respondent compared with.
        samples: median number of parsed responses per image, for metrics that depend on it.
        reference_samples: the same of the reference, for metrics that compare with it.
        reason: why there is no value, or why images were left out.
    """

    value: float | None
    sd: float | None = None
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
    """Join the parts of a group's name, such as soccer/gemini/cot."""
    return "/".join(part for part in (sport, respondent, prompt) if part)


class GroupScore(Record):
    """The scores of one group of responses; a part of its name is None where the groups are not split by it."""

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
        """The parts of its name in one word, such as soccer/gemini/cot."""
        return group_name(self.sport, self.respondent, self.prompt)


class Signature(Record):
    """Where a number comes from, in full. `str()` of it is the short form for a table's foot.

    Attributes:
        version: of spotball-core.
        data: SHA-256 over all scenes and counts that were given, whatever files they came in and in whatever order.
        grid: rows x cols @ width x height; "mixed" sizes where images differ.
        n_images: images scored, over all sports, each once.
        dropped: how much was left out, by reason.
        parse_policies: the policies that replies of models were parsed under, where the files of responses name them.
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
        """The parts of the short form by their names."""
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
    """How close anyone can get to one sport's people. Distances are Wasserstein distances in the policy's unit.

    Attributes:
        sport: which one.
        reference: the people.
        n_participants: how many of them.
        n_images: images that they answered and that are scored.
        splits: how often they were split into halves.
        split_half: distance between two random halves of the participants, mean over splits and images; its interval
            draws images.
        leave_one_out_accuracy: accuracy of the cell that the others named most, each participant left out in turn:
            what somebody gets who has nothing but other people's answers. Cells named equally often share.
        participant_accuracy: accuracy of the participants themselves, over their responses.
        uniform: distance of the uniform distribution from the reference, mean over images.
        sampling_floor: for each group, by its name, what a respondent would get that samples the reference's own
            distribution as often on each image as the group did; 0 on images that the group answered with
            probabilities, which are not sampled.
        score: for each group, 1 - W / U on its images, with W and U the matched Wasserstein distances of the group and
            of the uniform distribution from the reference: 0 for uniform guessing, 1 for a respondent that answers
            like people, whatever the number of responses. Matched distances near 0 may be negative, so scores
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


class ImageSet(Record):
    """Images that groups of a report are scored on, and what is known of them.

    Groups of different reports are scored on the same task if version, policy, `scenes` and `reference` are equal.

    Attributes:
        groups: the positions of these groups in the report's `groups`.
        scenes: SHA-256 over the scenes of these images: names, grids, ground truth and players.
        reference: SHA-256 over the reference's responses to them; None without a reference.
        uniform: what uniform guessing gets on them, by metric: metrics that do not depend on the number of responses,
            and matched distances to the reference.
    """

    groups: tuple[int, ...]
    scenes: str
    reference: str | None
    uniform: dict[str, float]


class ScoreReport(Record):
    """Everything `score` has to say; the contract of `spotball score --format json`.

    Attributes:
        ceilings: the noise ceiling of each sport whose people are told apart, where it was asked for.
        image_sets: each set of images that a group is scored on; empty in reports that were written before this field
            was added.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    signature: str
    provenance: Signature
    policy: ScorePolicy
    warnings: tuple[str, ...] = ()
    groups: tuple[GroupScore, ...]
    ceilings: tuple[Ceiling, ...] = ()
    image_sets: tuple[ImageSet, ...] = ()

    def group(self, respondent: str, *, sport: str | None = None, prompt: str | None = None) -> GroupScore:
        """The one group of a respondent (and sport, and prompt).

        Raises:
            KeyError: if there is no such group, or more than one.
        """
        criteria = {"respondent": respondent, "sport": sport, "prompt": prompt}
        criteria = {key: value for key, value in criteria.items() if value is not None}
        matches = [g for g in self.groups if all(getattr(g, key) == value for key, value in criteria.items())]
        if len(matches) != 1:
            raise KeyError(f"{len(matches)} groups match {criteria}, expected one")
        return matches[0]
