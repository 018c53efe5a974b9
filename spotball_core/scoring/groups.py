"""Group counts by sport, respondent and prompt, and select the images each group is scored on.

Every analysis starts from these groups: the score report, comparisons, the noise ceiling, mixtures, thresholds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from spotball_core.counting.counts import Counts, dense
from spotball_core.errors import OptionError, unknown_name
from spotball_core.io.frames import KEYS
from spotball_core.metrics import transport
from spotball_core.metrics.metric import MetricInput, Statistic
from spotball_core.metrics.registry import METRICS
from spotball_core.schema.policy import ScorePolicy
from spotball_core.schema.report import Ceiling, GroupScore, ImageSet, ScoreReport, Signature, group_name, sport_prefix
from spotball_core.schema.response import Kind
from spotball_core.schema.scene import Scene
from spotball_core.scoring.estimates import (
    IMAGES_AT_ONCE,
    Answers,
    Draws,
    Estimator,
    SceneArrays,
    statistics_of,
)
from spotball_core.typing import FloatArray, IntArray

if TYPE_CHECKING:
    import polars as pl


COSTLY_GAP = 0.1
"""The report warns if the images that one group lacks exclude more than this share of the other groups' images."""

LARGE_ERROR = 1 / 3
"""The report warns if the standard error of a matched distance is larger than this share of the distance."""

UNEVEN = 1.1
"""The report warns if the numbers of responses per image differ between groups by more than this factor."""

MANY_IMAGES = 5_000
"""Number of images, summed over the groups, from which the compiled solver of `transport` takes less time to load than
it saves."""

Part = Literal["sport", "respondent", "prompt"]
PARTS: tuple[Part, ...] = ("sport", "respondent", "prompt")


Statistics = dict[str, Statistic | OptionError]
Block = tuple[Sequence[Sequence[str]], Sequence[MetricInput]]
"""The keys of each group's metrics, and each group's answers to some images."""

Run = Callable[[Callable[[Block], list[Statistics]], Iterable[Block]], Iterable[list[Statistics]]]


@dataclass(frozen=True)
class Group:
    """A group of responses: the parts of its name, its kind and number, and the indices of the scenes it answered."""

    sport: str | None
    respondent: str | None
    prompt: str | None
    kind: Kind | None
    number: int
    answered: frozenset[int]

    @property
    def name(self) -> str:
        """The group's name, such as soccer/gemini/cot."""
        return group_name(self.sport, self.respondent, self.prompt)


class Scoring:
    """Groups of responses, the images that each is scored on, and their arrays: the start of every analysis.

    Attributes:
        arrays: the scenes as arrays.
        groups: the scored groups: people first, then models, then baselines.
        policy: the choices that affect the numbers.
        keys: keys of the metrics that `score` and `report` compute. Default: all.
        noise: the noise of the reference, which all respondents share; see `sampling.distance_sums`.
    """

    def __init__(
        self,
        counts: Counts,
        scenes: Sequence[Scene],
        policy: ScorePolicy,
        metrics: Iterable[str] | None = None,
    ) -> None:
        self.counts: Counts = counts
        self.keys: tuple[str, ...] = tuple(METRICS if metrics is None else metrics)
        self.policy: ScorePolicy = policy
        self.arrays: SceneArrays = SceneArrays(scenes, tau=policy.tau, theta=policy.theta)
        self.table: pl.DataFrame = self._located()
        self.groups: list[Group] = self._grouped()
        self.reference: frozenset[int] = self._answered_by(policy.reference)
        self.noise: dict[object, FloatArray] = {}
        self._known: dict[int | tuple[int, ...], Mapping[str, Statistic | OptionError]] = {}
        self._scored = {group.number: self._images(group) for group in self.groups}

    def _located(self) -> pl.DataFrame:
        """Return the counts' table with the index of each row's scene."""
        import polars as pl

        places = pl.DataFrame(
            {
                "sport": [sport for sport, _ in self.arrays.keys],
                "image": [image for _, image in self.arrays.keys],
                "_scene": range(len(self.arrays.keys)),
            }
        )
        table = self.counts.table.join(places, on=["sport", "image"], how="left", maintain_order="left")
        strangers = table.filter(pl.col("_scene").is_null())
        if not strangers.is_empty():
            sport, image = strangers.select("sport", "image").row(0)
            raise OptionError(
                f"the counts contain the image {sport}/{image}, but the scenes do not. Use the scenes with which the "
                "responses were counted",
                code="unknown-image",
            )
        respondents = table["respondent"].unique().sort().to_list()
        if self.policy.reference is not None and self.policy.reference not in respondents:
            raise OptionError(
                unknown_name("respondent", self.policy.reference, respondents),
                code="unknown-name",
                field="reference",
            )
        return table

    def _grouped(self) -> list[Group]:
        import polars as pl

        by = list(self.policy.by)
        names = self.table.select(by).unique().with_columns(pl.lit(0).alias("_")) if by else pl.DataFrame({"_": [0]})
        names = names.sort(by).with_row_index("_group").drop("_")
        self.table = (
            self.table.join(names, on=by, maintain_order="left")
            if by
            else self.table.with_columns(_group=pl.lit(0, pl.UInt32))
        )
        seen = self.table.group_by("_group").agg(
            pl.col("kind").unique(), pl.col("_scene").unique(), *(pl.col(part).first() for part in by)
        )
        groups = [
            Group(
                sport=row.get("sport"),
                respondent=row.get("respondent"),
                prompt=row.get("prompt"),
                kind=row["kind"][0] if len(row["kind"]) == 1 else None,
                number=row["_group"],
                answered=frozenset(row["_scene"]),
            )
            for row in seen.iter_rows(named=True)
        ]
        return sorted(groups, key=lambda group: reading_order(group.sport, group.kind, group.respondent, group.prompt))

    def _answered_by(self, respondent: str | None) -> frozenset[int]:
        import polars as pl

        if respondent is None:
            return frozenset()
        return frozenset(self.table.filter(pl.col("respondent") == respondent)["_scene"].unique().to_list())

    # Which images count --------------------------------------------------------------------------------------

    def _images(self, group: Group) -> list[int]:
        kept = set(group.answered)
        if self.policy.controls == "out":
            kept = {scene for scene in kept if not self.arrays.control[scene]}
        if self.policy.images == "shared":
            kept &= self._shared(self.groups)
        return sorted(kept)

    def _shared(self, groups: Iterable[Group], *, by_reference: bool = True) -> set[int]:
        """Return the images answered by the reference and by every group that answered any image of the same sport."""
        sports = self.arrays.sports
        with_reference = by_reference and self.policy.reference is not None
        shared = set(self.reference) if with_reference else set(range(len(sports)))
        for group in groups:
            answered_sports = {sports[scene] for scene in group.answered}
            shared = {scene for scene in shared if sports[scene] not in answered_sports or scene in group.answered}
        return shared

    def _warnings(self) -> list[str]:
        if self.policy.images != "shared":
            return []
        warnings = []
        uncontrolled = {scene for scene in range(len(self.arrays.keys)) if not self.arrays.control[scene]}
        for sport in sorted(set(self.arrays.sports)):
            of_sport = {s for s in uncontrolled if self.arrays.sports[s] == sport}
            groups = [g for g in self.groups if g.answered & of_sport]
            left = len(self._shared(groups) & of_sport)
            for name, others, advice in self._left_out_in_turn(groups):
                without = len(others & of_sport)
                if without - left > COSTLY_GAP * without:
                    images = f"{sport_prefix(sport, ' ')}images"
                    warnings.append(
                        f"{name} did not answer {without - left} of the {without} {images} that all others "
                        f"answered, so all groups are scored on {left} {images}. To change this, {advice}"
                    )
        return warnings

    def _left_out_in_turn(self, groups: list[Group]) -> Iterator[tuple[str, set[int], str]]:
        """Yield the name of the reference or of a group, the images that the others share, and advice to the user."""
        reference = self.policy.reference
        scored = [group for group in groups if reference is None or group.respondent != reference]
        if reference is not None and scored:
            yield f"the reference {reference}", self._shared(scored, by_reference=False), "use --images all"
        for group in scored:
            if len(groups) > 1:
                others = self._shared(other for other in groups if other is not group)
                yield group.name, others, f"exclude {group.name}, or use --images all"

    # Work on other machines ----------------------------------------------------------------------------------

    def compute_with(self, run: Run) -> None:
        """Compute the statistics of all groups block by block, so that `report` only has to combine them.

        The groups of each block of images are one call, because they share the noise of the reference. If no group has
        more than one block of images, nothing is computed.

        Args:
            run: a function like `map`, which may call the given function in other processes or on other machines.
        """
        for scenes, positions in self._sets().items():
            if len(scenes) <= IMAGES_AT_ONCE:
                continue
            estimators: dict[int | tuple[int, ...], Estimator] = {
                self.groups[position].number: self.estimator(self.groups[position]) for position in positions
            }
            estimators[scenes] = self._uniform_estimator(scenes)
            metrics = {
                name: estimator.defined(METRICS[key] for key in self._keys_of(name))
                for name, estimator in estimators.items()
            }
            blocks = zip(
                *(
                    estimator.blocks(metrics[name], estimator.answers.mass, estimator.answers.unparsed)
                    for name, estimator in estimators.items()
                ),
                strict=True,
            )
            keys = [[metric.key for metric in of_group] for of_group in metrics.values()]
            done = list(run(statistics_of_groups, ((keys, block) for block in blocks)))
            for number, (name, estimator) in enumerate(estimators.items()):
                self._known[name] = estimator.joined(metrics[name], (block[number] for block in done))

    # Numbers -------------------------------------------------------------------------------------------------

    def report(
        self,
        ceilings: tuple[Ceiling, ...] = (),
        scores: Sequence[GroupScore] | None = None,
        image_sets: tuple[ImageSet, ...] | None = None,
    ) -> ScoreReport:
        """Compute the metrics of every group and return the report.

        Args:
            ceilings: noise ceilings of the sports, if they were requested.
            scores: the groups' scores, in the order of `groups` (default: compute them).
            image_sets: the result of `image_sets` (default: compute it).
        """
        if self.policy.reference is not None and sum(map(len, self._scored.values())) >= MANY_IMAGES:
            transport.prepare()
        signature = self.signature()
        groups = tuple(self.score(group)[0] for group in self.groups) if scores is None else tuple(scores)
        return ScoreReport(
            signature=str(signature),
            provenance=signature,
            policy=self.policy,
            warnings=(
                *map(str, self.counts.warnings),
                *self._warnings(),
                *self._uneven_samples(),
                *_mixed_outlines(self.arrays.scenes),
                *_imprecise(groups),
            ),
            groups=groups,
            ceilings=ceilings,
            image_sets=self.image_sets() if image_sets is None else image_sets,
        )

    def _uneven_samples(self) -> Iterator[str]:
        """Warn about each sport whose groups differ in their numbers of responses, which affect some metrics."""
        for sport in dict.fromkeys(group.sport for group in self.groups):
            sizes = [size for group in self.groups if group.sport == sport and (size := self._responses(group))]
            if sizes and max(sizes) > UNEVEN * min(sizes):
                yield (
                    f"{sport_prefix(sport)}the number of responses per image ranges from {min(sizes):g} to "
                    f"{max(sizes):g}, which affects some metrics. Compare groups by their matched versions, such as "
                    "`wasserstein_matched`"
                )

    def _responses(self, group: Group) -> float:
        """Return a group's median number of parsed responses per image, over the images it is scored on."""
        scenes = self.images(group)
        return float(np.median(self._dense(self._rows(group), scenes)[0].sum(axis=-1))) if scenes else 0.0

    def score(self, group: Group) -> tuple[GroupScore, dict[str, Draws]]:
        """Compute the metrics of a group. Return the score, and the bootstrap resamples by metric key."""
        estimator = self.estimator(group)
        mass, unparsed = estimator.answers.mass, estimator.answers.unparsed
        metrics, draws = estimator.estimates_with_draws(METRICS[key] for key in self.keys)
        score = GroupScore(
            sport=group.sport,
            respondent=group.respondent,
            kind=group.kind,
            prompt=group.prompt,
            n_images=len(mass),
            n_responses=round(float(mass.sum() + unparsed.sum())),
            n_unparsed=round(float(unparsed.sum())),
            metrics=metrics,
        )
        return score, draws

    def image_sets(self) -> tuple[ImageSet, ...]:
        """Describe each set of images that a group is scored on."""
        return tuple(self._image_sets())

    def _image_sets(self) -> Iterator[ImageSet]:
        for scenes, positions in self._sets().items():
            # Other images matter only if the policy compares with the ground truth of all images of a sport.
            sports = {self.arrays.sports[scene] for scene in scenes} if self.policy.prior == "all" else set()
            known = [place for place, sport in enumerate(self.arrays.sports) if sport in sports]
            yield ImageSet(
                groups=tuple(positions),
                scenes=self.arrays.digest_of([*scenes, *known]),
                reference=None if self.policy.reference is None else self._reference_digest(scenes),
                uniform=self._uniform(scenes),
            )

    def _sets(self) -> dict[tuple[int, ...], list[int]]:
        """Return the positions of the groups that are scored on each set of images."""
        groups: dict[tuple[int, ...], list[int]] = {}
        for position, group in enumerate(self.groups):
            if scenes := self.images(group):
                groups.setdefault(tuple(scenes), []).append(position)
        return groups

    def _reference_digest(self, scenes: Sequence[int]) -> str:
        rows = self._of_reference
        return replace(self.counts, table=rows.filter(rows["_scene"].is_in(list(scenes)))).digest()

    def _uniform(self, scenes: tuple[int, ...]) -> dict[str, float]:
        """Return the scores of uniform guessing."""
        values = self._uniform_estimator(scenes).estimates(METRICS[key] for key in self._keys_of(scenes))
        return {key: metric_value.value for key, metric_value in values.items() if metric_value.value is not None}

    def _keys_of(self, name: int | tuple[int, ...]) -> list[str]:
        """Return the keys of the metrics of a group, given by its number, or of uniform guessing, given by its scenes.

        Uniform guessing has no number of responses. Metrics that depend on that number are therefore excluded, and so
        are their matched versions, except distances to the reference.
        """
        if isinstance(name, int):
            return list(self.keys)
        chosen = (METRICS[key] for key in self.keys)
        return [m.key for m in chosen if not m.by_size and ("reference" in m.needs or not m.is_matched)]

    def _uniform_estimator(self, scenes: tuple[int, ...]) -> Estimator:
        n_cells = self.counts.n_cells
        answers = Answers(
            mass=np.full((len(scenes), n_cells), 1 / n_cells),
            unparsed=np.zeros(len(scenes)),
            reference=self.reference_mass(scenes),
            is_reference=False,
            compared=np.array([scene in self.reference for scene in scenes], dtype=bool),
            people=None,
        )
        policy = self.policy.model_copy(update={"bootstrap": 0})
        return Estimator(self.arrays, np.asarray(scenes), answers, policy, self.noise, self._known.get(scenes))

    def images(self, group: Group) -> list[int]:
        """Return the indices of the scenes that a group is scored on."""
        return self._scored[group.number]

    def estimator(self, group: Group, scenes: Sequence[int] | None = None) -> Estimator:
        """Return an estimator of a group's metrics on the images it is scored on, or on given scenes."""
        known = self._known.get(group.number) if scenes is None else None
        scenes = self.images(group) if scenes is None else scenes
        people = self.people(group, scenes) if self.policy.cluster == "participant" else None
        mass, unparsed = self._dense(self._rows(group), scenes)
        answers = Answers(
            mass=mass,
            unparsed=unparsed,
            reference=self.reference_mass(scenes),
            is_reference=group.respondent is not None and group.respondent == self.policy.reference,
            compared=np.array([scene in self.reference for scene in scenes], dtype=bool),
            people=people,
        )
        return Estimator(self.arrays, np.asarray(scenes, dtype=int), answers, self.policy, self.noise, known)

    def reference_mass(self, scenes: Sequence[int]) -> FloatArray | None:
        """Return the reference's counts over all its prompts, shape (n_images, n_cells); None without a reference."""
        if self.policy.reference is None:
            return None
        return self._dense(self._of_reference, scenes)[0]

    def people(self, group: Group, scenes: Sequence[int]) -> tuple[FloatArray, FloatArray] | None:
        """Return each participant's answers: mass (n_participants, n_images, n_cells), and unparsed answers.

        Return None if the counts do not separate participants, or some answers lack a participant.
        """
        rows = self._rows(group)
        if not self.counts.has_participants or rows["participant"].null_count():
            return None
        parts = [self._dense(part, scenes) for part in rows.sort("participant").partition_by("participant")]
        return np.stack([mass for mass, _ in parts]), np.stack([unparsed for _, unparsed in parts])

    def _rows(self, group: Group) -> pl.DataFrame:
        return self._by_group[group.number]

    @cached_property
    def _by_group(self) -> dict[int, pl.DataFrame]:
        """Rows of the table by group number, without the keys of counts, which need most of the memory.

        They are cached because analyses request them repeatedly.
        """
        import polars as pl

        table = self.table.drop(KEYS)
        return {group.number: table.filter(pl.col("_group") == group.number) for group in self.groups}

    @cached_property
    def _of_reference(self) -> pl.DataFrame:
        """Rows of the reference in the table."""
        import polars as pl

        return self.table.filter(pl.col("respondent") == self.policy.reference)

    def _dense(self, rows: pl.DataFrame, scenes: Sequence[int]) -> tuple[FloatArray, FloatArray]:
        return dense(rows, self.places(rows, scenes), len(scenes), self.counts.n_cells)

    def places(self, rows: pl.DataFrame, scenes: Sequence[int]) -> IntArray:
        """Return the index of each row's scene in `scenes`, shape (n_rows,); -1 if the scene is not among them."""
        places = np.full(len(self.arrays.keys), -1)
        places[np.asarray(scenes, dtype=int)] = np.arange(len(scenes))
        of_rows: IntArray = places[rows["_scene"].to_numpy()]
        return of_rows

    @cached_property
    def _data(self) -> str:
        return hashlib.sha256((self.counts.digest() + self.arrays.digest()).encode()).hexdigest()

    def signature(self) -> Signature:
        """Return the signature, which records the provenance of the numbers."""
        from spotball_core.version import version

        used = set().union(*self._scored.values())
        answered = {scene for group in self.groups for scene in group.answered}
        controls = {scene for scene in answered if self.arrays.control[scene]}
        dropped = {
            "controls": len(controls - used),
            "images not shared": len(answered - controls - used),
            "images without player boxes": sum(not self.arrays.has_players[scene] for scene in used),
            "images without ground truth": sum(not self.arrays.has_truth[scene] for scene in used),
        }
        return Signature(
            version=version(),
            data=self._data,
            grid=self.arrays.grid_name,
            policy=self.policy,
            n_images=len(used),
            dropped=dropped,
            parse_policies=tuple(sorted(self.counts.parse_policies)),
        )


def statistics_of_groups(block: Block) -> list[Statistics]:
    """Return each group's statistics of a block of images. Groups share the noise of the reference."""
    noise: dict[object, FloatArray] = {}
    transport.prepare()
    return [statistics_of([METRICS[key] for key in keys], data, noise=noise) for keys, data in zip(*block, strict=True)]


def _imprecise(groups: Iterable[GroupScore]) -> Iterator[str]:
    """Warn about matched distances whose standard error is large compared with the distance."""
    names: dict[str, list[str]] = {}
    for group in groups:
        for key, value in group.metrics.items():
            is_distance = METRICS[key].is_matched and "reference" in METRICS[key].needs
            if is_distance and value.value is not None and (value.se or 0) > LARGE_ERROR * abs(value.value):
                names.setdefault(key, []).append(group.name)
    for key, of_key in names.items():
        yield (
            f"the standard error of `{key}` is more than a third of the distance for {', '.join(of_key)}. Use more "
            "responses per image, or more images"
        )


def _mixed_outlines(scenes: Sequence[Scene]) -> Iterator[str]:
    """Warn if some players have outlines and others only boxes: rates on such a mix are not comparable."""
    n_players = sum(len(scene.players or ()) for scene in scenes)
    n_outlines = sum(outline is not None for scene in scenes for outline in scene.player_outlines or ())
    if 0 < n_outlines < n_players:
        yield (
            f"only {n_outlines:,} of {n_players:,} players have an outline, so `near_player_rate` and `overlap_rate` "
            "mix outlines and boxes. Add the missing outlines to the scenes, or remove all"
        )


def reading_order(
    sport: str | None, kind: Kind | None, respondent: str | None, prompt: str | None
) -> tuple[str, int, str, int, str]:
    """Return the sort key of a group: by sport, then people, models, baselines, then prompts in the paper's order.

    Examples:
        >>> groups = [("soccer", "model", "gpt", "cot"), ("soccer", "model", "gpt", "base"),
        ...           ("soccer", "human", "human", "base")]
        >>> [group[3] for group in sorted(groups, key=lambda group: reading_order(*group))]
        ['base', 'base', 'cot']
    """
    kinds, prompts = ("human", "model", "baseline", None), ("base", "cue", "cot")
    known = prompt in prompts
    place = prompts.index(prompt) if known else len(prompts)
    return sport or "", kinds.index(kind), respondent or "", place, "" if known else prompt or ""
