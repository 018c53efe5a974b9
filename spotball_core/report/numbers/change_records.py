"""The records of a comparison of two runs: part of a report's record."""

from __future__ import annotations

from spotball_core.schema.record import Record
from spotball_core.schema.report import Interval
from spotball_core.schema.response import Kind


class GroupKey(Record):
    """The name of a group."""

    sport: str | None
    respondent: str | None
    prompt: str | None


class Change(GroupKey):
    """One metric of a group in two runs, on the same images.

    Attributes:
        metric: its key.
        before: in the earlier run.
        after: in the later run.
        difference: after - before.
        ci95: 95% bootstrap interval of the difference over images; None without resamples.
        p: two-sided permutation p value: the runs' labels swapped within images.
        p_holm: the same after Holm's adjustment over all changes of this metric, those of groups with the same answers
            in both runs excluded: these have p 1, whichever way the runs are swapped.
        real: whether the adjusted p value is at most 0.05 and the interval, if there is one, excludes 0.
        n_images: images that enter.
    """

    metric: str
    before: float
    after: float
    difference: float
    ci95: Interval | None
    p: float
    p_holm: float
    real: bool
    n_images: int


class ComparedGroup(GroupKey):
    """The answers of a group that both runs have, on the images that are compared.

    Attributes:
        n_images: images that are compared.
        responses_before: responses to them in the earlier run, unparsed ones included.
        responses_after: responses to them in the later run.
        unparsed_before: unparsed responses among those of the earlier run.
        unparsed_after: unparsed responses among those of the later run.
        same_answers: whether each cell of each image was named equally often in both runs.
    """

    kind: Kind | None
    n_images: int
    responses_before: float
    responses_after: float
    unparsed_before: float
    unparsed_after: float
    same_answers: bool


class NotCompared(GroupKey):
    """A group that both runs have, and what is not compared of it.

    Attributes:
        metric: the metric that is not compared; None if no metric is.
        reason: why.
    """

    metric: str | None
    reason: str


class ChangedScene(Record):
    """An image whose scene differs between the runs in a way that changes scores.

    Attributes:
        fields: the scene's fields that differ.
    """

    sport: str
    image: str
    fields: tuple[str, ...]


class ImageChanges(Record):
    """How the images that were answered differ between two runs. Images are named sport/image.

    Images with a visible ball are not among them, unless the policy scores these.

    Attributes:
        n_before: images that were answered in the earlier run.
        n_after: images that were answered in the later run.
        only_before: images that were answered in the earlier run only.
        only_after: images that were answered in the later run only.
        excluded: images whose scene differs; they are not compared.
        other_players: images that differ in their players only; they are compared, since no headline metric uses
            players.
    """

    n_before: int
    n_after: int
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    excluded: tuple[ChangedScene, ...]
    other_players: tuple[str, ...]


class RunChanges(Record):
    """What changed from an earlier run to the run of the report.

    Both runs are scored by the version and under the policy of the report.

    Attributes:
        changes: one for each group that both runs have and each headline metric.
        groups: the groups that are compared.
        not_compared: groups that both runs have, and metrics of them, that are not compared.
        only_before: groups of the earlier run only.
        only_after: groups of the later run only.
        n_images: images that any group is compared on.
        images: differences between the images of the runs.
        same_reference: whether the reference's responses to the images that can be compared are the same in both runs;
            None without a reference. Distances of both runs are to those of the later run.
        n_tests: for each metric, how many changes Holm's adjustment is over.
        smallest_p: for each metric, the smallest adjusted p value that so few images and permutations allow.
        permutations: how many ways to swap the runs are drawn; all ways if there are no more.
        data_before: SHA-256 over the scenes and counts of the earlier run.
        parse_policies_before: the policies that replies of the earlier run were parsed under, if they are known.
        warnings_before: signs that files of the earlier run were misread.
    """

    changes: tuple[Change, ...]
    groups: tuple[ComparedGroup, ...]
    not_compared: tuple[NotCompared, ...]
    only_before: tuple[GroupKey, ...]
    only_after: tuple[GroupKey, ...]
    n_images: int
    images: ImageChanges
    same_reference: bool | None
    n_tests: dict[str, int]
    smallest_p: dict[str, float]
    permutations: int
    data_before: str
    parse_policies_before: tuple[str, ...]
    warnings_before: tuple[str, ...]
