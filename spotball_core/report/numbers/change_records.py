"""Records of a comparison of two runs, which are part of report.json."""

from __future__ import annotations

from spotball_core.schema.record import Record
from spotball_core.schema.report import Interval
from spotball_core.schema.response import Kind


class GroupKey(Record):
    """The sport, respondent and prompt that identify a group."""

    sport: str | None
    respondent: str | None
    prompt: str | None


class Change(GroupKey):
    """One metric of a group in two runs, on the same images.

    Attributes:
        metric: the metric's key.
        before: the value in the earlier run.
        after: the value in the later run.
        difference: after - before.
        ci95: 95% bootstrap interval of the difference over images; None without resamples.
        p: two-sided p value of a permutation test that swaps the runs' labels within images.
        p_holm: the p value after Holm's adjustment over all changes of this metric. Groups with the same answers in
            both runs are excluded from the adjustment; their p is 1.
        real: whether the difference is not 0, the adjusted p value is at most 0.05, and the interval (if there is one)
            excludes 0.
        n_images: number of images used.
        detectable: the smallest true change that these images detect with 80% power, after the correction for all
            changes of this metric; None if no p value can be significant, or the images' changes do not vary.
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
    detectable: float | None = None


class ComparedGroup(GroupKey):
    """The numbers of a group's responses in both runs, on the compared images.

    Attributes:
        n_images: number of compared images.
        responses_before: number of responses to these images in the earlier run, including unparsed responses.
        responses_after: number of responses to these images in the later run, including unparsed responses.
        unparsed_before: number of unparsed responses among those of the earlier run.
        unparsed_after: number of unparsed responses among those of the later run.
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
    """A group in both runs that is not compared, either at all or by one metric.

    Attributes:
        metric: the metric that is not compared; None if the group is not compared at all.
        reason: why it is not compared.
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
    """Differences in the answered images between two runs. Images are named sport/image.

    Images with a visible ball are excluded, unless the policy scores them.

    Attributes:
        n_before: number of images answered in the earlier run.
        n_after: number of images answered in the later run.
        only_before: images answered in the earlier run only.
        only_after: images answered in the later run only.
        excluded: images whose scene differs; they are not compared.
        other_players: images that differ only in their players; they are compared, because no headline metric uses
            players.
    """

    n_before: int
    n_after: int
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    excluded: tuple[ChangedScene, ...]
    other_players: tuple[str, ...]


class RunChanges(Record):
    """Changes from an earlier run to the report's run.

    Both runs are scored with the version and the policy of the report.

    Attributes:
        changes: one for each group in both runs and each headline metric.
        groups: the groups that are compared.
        not_compared: groups in both runs, or single metrics of such groups, that are not compared.
        only_before: groups in the earlier run only.
        only_after: groups in the later run only.
        n_images: number of images on which any group is compared.
        images: differences between the answered images of the runs.
        same_reference: whether the reference's responses to the compared images are the same in both runs; None without
            a reference. Distances of both runs are to the reference of the later run.
        n_tests: for each metric, the number of changes in Holm's adjustment.
        smallest_p: for each metric, the smallest adjusted p value possible with these images and permutations.
        permutations: number of random swaps of the runs' labels; if fewer swaps are possible, all of them are used.
        data_before: SHA-256 of the scenes and counts of the earlier run.
        parse_policies_before: the policies that replies of the earlier run were parsed under, if known.
        warnings_before: warnings that files of the earlier run may have been misread.
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
