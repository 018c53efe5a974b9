"""Load responses and scenes once, and run every analysis on them: scores, comparisons, ceilings, cues, reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from spotball_core.counting.counts import Counts
from spotball_core.errors import OptionError, unknown_name
from spotball_core.grid import Grid
from spotball_core.io.columns import ColumnNames, ReadOptions
from spotball_core.io.dataset import response_files
from spotball_core.io.plain_files import paths_of
from spotball_core.schema.checks import path_of, whole_number
from spotball_core.schema.policy import Images, ScorePolicy
from spotball_core.schema.report import CeilingReport, Mixture, ScoreReport
from spotball_core.schema.scene import Scene
from spotball_core.scoring.groups import Part, Scoring
from spotball_core.scoring.score import (
    PolicyName,
    Scenes,
    chosen_metrics,
    chosen_policy,
    load_counts,
    needs_participants,
    score_counts,
)
from spotball_core.text.words import plural

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from spotball_core.comparison.record import Comparison
    from spotball_core.counting.engines import Engine
    from spotball_core.cues.explanation_record import CueReport
    from spotball_core.cues.thresholds import ThresholdSurface
    from spotball_core.io.answer_options import FirstIndex, PointScale
    from spotball_core.io.sources import Responses
    from spotball_core.planning.record import Plan
    from spotball_core.report.numbers.records import PageReport

_SHOWN_RESPONDENTS = 8
"""Maximum number of respondents in the text form of a dataset."""


def load(
    data: Responses | Counts,
    scenes: Scenes | None = None,
    *,
    truth: Scenes | None = None,
    reference: str | None = None,
    columns: Mapping[str, str] | None = None,
    grid: Grid | None = None,
    pool: bool = False,
    strict: bool = False,
    engine: Engine | None = None,
    point_scale: PointScale | None = None,
    first_index: FirstIndex | None = None,
    accept_signs: bool = False,
) -> Dataset:
    """Read responses and their scenes, and return a Dataset, whose methods are the analyses.

    All files are read and checked at once. Participants are counted separately if the responses name them.

    Args:
        data: dataset folders, response files, counts, a data frame, records, dictionaries, or a mapping from image to
            answer.
        scenes: the scenes that the responses refer to: a scenes file, records, dictionaries or a data frame. A dataset
            folder contains its scenes.
        truth: instead of scenes, a table of the ball's position in each image: a path (CSV, JSON Lines, JSON or
            Parquet), a data frame, dictionaries, or a mapping from image to truth.
        reference: the respondent that others are compared with, usually "human". Every method uses it by default.
        columns: the names of the tables' columns, such as `{"image": "image_id", "cell": "prediction"}`.
        grid: the grid and the image size of a truth table that does not name them. Default: `Grid.standard()`.
        pool: merge a respondent's answers to the same images from independent files, instead of raising an error.
        strict: raise InputError for signs that a file was misread, instead of listing them in `warnings`.
        engine: the engine that counts files, from `spotball_core.counting.engines.engine_named`. Default: this process.
        point_scale: the scale of points, such as "1" or "1000"; see `read_counts`. Default: pixels.
        first_index: the number of the first row, column and cell, 0 or 1; see `read_counts`.
        accept_signs: if it is certain that answers were misread, give a warning instead of an error.

    Raises:
        InputError: for files that cannot be read or contain invalid rows.
        OptionError: for unusable arguments, such as a reference without responses.

    Examples:
        >>> data = load({"1": "D5", "2": "A1"}, truth={"1": "D5", "2": "D5"})
        >>> data.score(bootstrap=0).groups[0].metrics["accuracy"].value
        0.5
    """
    reading = ReadOptions(
        columns=ColumnNames.of(columns), point_scale=point_scale, first_index=first_index, accept_signs=accept_signs
    )
    counts, known = load_counts(
        data,
        scenes,
        truth=truth,
        grid=grid,
        participants=True,
        engine=engine,
        pool=pool,
        strict=strict,
        **reading,
    )
    dataset = Dataset(counts, known, reference=reference)
    paths, scene_paths = paths_of(data), [*paths_of(scenes), *paths_of(truth)]
    dataset._sources = _Sources(
        response_files=response_files(paths) if paths else (),
        image_folders=tuple(path for path in paths if path.is_dir()) + tuple(path.parent for path in scene_paths),
        reading=reading,
    )
    return dataset


@dataclass(frozen=True)
class _Sources:
    """The files that a dataset was read from. A report reads rationales and images from them."""

    response_files: tuple[Path, ...] = ()
    image_folders: tuple[Path, ...] = ()
    reading: ReadOptions = field(default_factory=ReadOptions)


class Dataset:
    """Responses and the scenes that they refer to. `load` returns it.

    Every method takes the choices of `score` that affect its result. A choice that is None keeps the choice of the
    policy. If you pass a ScorePolicy, its reference must be that of the dataset.

    Attributes:
        counts: how often each respondent named each cell of each image, by participant if the responses name them.
        scenes: the scenes.
        reference: the respondent that others are compared with, unless a method is given another one; None for none.
        warnings: signs that a file was misread.
    """

    def __init__(self, counts: Counts, scenes: Iterable[Scene], *, reference: str | None = None) -> None:
        self.counts: Counts = counts
        self.scenes: tuple[Scene, ...] = tuple(scenes)
        self.reference: str | None = reference
        self.warnings: tuple[str, ...] = tuple(map(str, counts.warnings))
        self._sources = _Sources()
        respondents = self._respondents
        if reference is not None and reference not in respondents:
            raise OptionError(
                unknown_name("respondent", str(reference), respondents), code="unknown-name", field="reference"
            )

    def __repr__(self) -> str:
        respondents = self._respondents
        more = [f"{len(respondents) - _SHOWN_RESPONDENTS} more"] if len(respondents) > _SHOWN_RESPONDENTS else []
        named = ", ".join([*respondents[:_SHOWN_RESPONDENTS], *more])
        n_responses = plural(round(self.counts.n_answers), "response")
        return f"<Dataset: {plural(len(self.scenes), 'scene')}, {n_responses} of {named}>"

    def score(
        self,
        *,
        policy: ScorePolicy | PolicyName = "standard",
        reference: str | None = None,
        images: Images | None = None,
        by: Sequence[Part] | None = None,
        wasserstein_unit: Literal["px", "cell", "diagonal"] | None = None,
        cluster: Literal["image", "participant"] | None = None,
        bootstrap: int | None = None,
        seed: int | None = None,
        ceiling: bool = False,
        metrics: Iterable[str] | None = None,
    ) -> ScoreReport:
        """Compute every metric for every group, with confidence intervals and a signature.

        Args:
            policy: a named policy, whose choices the arguments from `reference` to `seed` replace, or a ScorePolicy,
                which already contains all these choices.
            reference: the respondent that others are compared with. Default: that of the dataset.
            images: "shared" to score each sport's groups on the images that all of them answered, or "all". Default:
                "shared" under `standard` with a reference, else "all".
            by: the fields that define a group. Default: sport, respondent and prompt.
            wasserstein_unit: pixels (default), cells, or shares of the image's diagonal.
            cluster: the unit of the bootstrap: images (default) or participants.
            bootstrap: number of resamples (default 1000); 0 for no intervals.
            seed: seed of the resamples (default 0).
            ceiling: whether to add the noise ceiling: how close a respondent can get to the people of the reference.
            metrics: keys of the metrics to compute, such as `["accuracy"]`. Default: all.

        Raises:
            OptionError: for unusable choices.
        """
        chosen = self._policy(
            policy,
            reference,
            images=images,
            by=by,
            wasserstein_unit=wasserstein_unit,
            cluster=cluster,
            bootstrap=bootstrap,
            seed=seed,
        )
        # Sums over participants in another order would differ in the last bit from those of counts without them.
        counts = self.counts if needs_participants(chosen, ceiling=ceiling) else self._pooled
        return score_counts(counts, self.scenes, chosen, ceiling=ceiling, metrics=chosen_metrics(metrics))

    def compare(
        self,
        a: str,
        b: str,
        *,
        permutations: int = 10_000,
        margin: Mapping[str, float] | None = None,
        policy: ScorePolicy | PolicyName = "standard",
        reference: str | None = None,
        images: Images | None = None,
        bootstrap: int | None = None,
        seed: int | None = None,
    ) -> Comparison:
        """Compare two respondents, or two prompts of one respondent, on the images that both are scored on.

        For each metric, the result has both values, their difference a - b, its 95% bootstrap interval, a permutation p
        value, and the p value after Holm's adjustment over the metrics. Respondents other than these two and the
        reference are ignored.

        - The interval draws images with replacement, the same for both respondents. If a respondent's answers name
          their participants, it also draws participants, independently of the images.
        - The p value comes from swapping the two labels within images. If there are at most `permutations` ways to
          swap, all are used; otherwise `permutations` random ways are used. Participants are not permuted.

        Args:
            a: a respondent (all its prompts pooled), or respondent/prompt.
            b: the respondent or respondent/prompt to compare with.
            permutations: maximum number of ways of swapping the two labels within images, at least 1.
            margin: for some metrics, the largest difference that counts as equal, such as `{"accuracy": 3}`: in points
                for shares, else in the metric's unit.
            policy: a named policy or a ScorePolicy.
            reference: the respondent that both are compared with. Default: that of the dataset.
            images: "shared" or "all", see `score`.
            bootstrap: number of resamples (default 1000); 0 for no intervals.
            seed: seed of the resamples and permutations (default 0).

        Raises:
            OptionError: if a name has no responses, both names include the same answers, no image is scored for both,
                or a margin is not usable.

        Examples:
            >>> from spotball_core import baseline_responses, synthetic_scenes
            >>> scenes = synthetic_scenes(12)
            >>> data = load(baseline_responses(scenes, ["oracle", "uniform"]), scenes)
            >>> data.compare("oracle", "uniform").contrasts[-1].metrics["accuracy"].direction
            'a is better'
        """
        from spotball_core.comparison.compare import compare
        from spotball_core.scoring.sides import only

        for argument, name in {"a": a, "b": b}.items():
            _check_name(argument, name)
        permutations = whole_number("permutations", permutations, least=1)
        chosen = self._policy(policy, reference, images=images, bootstrap=bootstrap, seed=seed)
        kept = only(self.counts, [a, b, *([chosen.reference] if chosen.reference else [])])
        return compare(Scoring(kept, self.scenes, chosen), a, b, permutations=permutations, margins=margin or {})

    def plan(
        self,
        a: str | None = None,
        b: str | None = None,
        *,
        effect: float | Mapping[str, float] = 5.0,
        power: float = 0.8,
        tests: int | None = None,
        price_answer: float | None = None,
        price_image: float | None = None,
        sport: str | None = None,
        metrics: Iterable[str] | None = None,
        policy: ScorePolicy | PolicyName = "standard",
        reference: str | None = None,
        images: Images | None = None,
        seed: int | None = None,
    ) -> Plan:
        """Plan how many images and answers a comparison of two respondents needs, from this pilot.

        The result has variance components, the smallest difference that designs detect, and the designs that detect an
        effect with the test of `compare`.

        Args:
            a: a respondent (all its prompts pooled), or respondent/prompt. Default: the pilot's one or two respondents
                other than the reference and baselines.
            b: the respondent to compare with. Without it, the plan is for two respondents like a.
            effect: the difference to detect: points for shares, pixels for distances; or a number for each metric.
            power: the probability with which the effect is detected.
            tests: number of tests to correct for. Default: the metrics that `compare` tests.
            price_answer: price of one answer of both respondents together.
            price_image: price of one new image.
            sport: the sport whose images are used. Default: all.
            metrics: keys of the metrics. Default: those of the paper, or their matched versions.
            policy: a named policy or a ScorePolicy.
            reference: the respondent that both are compared with. Default: that of the dataset.
            images: "shared" or "all", see `score`.
            seed: seed of the random samples (default 0).

        Raises:
            OptionError: for unusable arguments, or if no two images are scored for both.
        """
        from spotball_core.planning.plan import Goal, plan
        from spotball_core.scoring.sides import only

        chosen = self._policy(policy, reference, images=images, seed=seed).model_copy(update={"bootstrap": 0})
        goal = Goal(effect, power, tests, price_answer, price_image)
        names = [name for name in (a, b) if name is not None]
        kept = only(self.counts, [*names, *([chosen.reference] if chosen.reference else [])]) if names else self.counts
        scoring = Scoring(kept, self.scenes, chosen)
        return plan(scoring, goal, a=a, b=b, sport=sport, metrics=chosen_metrics(metrics))

    def ceiling(
        self,
        *,
        splits: int = 100,
        policy: ScorePolicy | PolicyName = "standard",
        reference: str | None = None,
        images: Images | None = None,
        bootstrap: int | None = None,
        seed: int | None = None,
    ) -> CeilingReport:
        """Compute the noise ceiling of each sport: how close a respondent can get to the people of the reference.

        Args:
            splits: number of random splits of the participants into two halves. If their number is odd, each split
                omits one participant.
            policy: a named policy or a ScorePolicy.
            reference: the respondent whose participants are split. Default: that of the dataset.
            images: "shared" or "all", see `score`.
            bootstrap: number of resamples (default 1000); 0 for no intervals.
            seed: seed of the splits, the draws and the intervals (default 0).

        Raises:
            OptionError: without a reference, or if the reference's responses do not name two participants.
        """
        from spotball_core.scoring.ceiling import noise_ceiling

        splits = whole_number("splits", splits, least=1)
        chosen = self._policy(policy, reference, images=images, bootstrap=bootstrap, seed=seed)
        report = noise_ceiling(Scoring(self.counts, self.scenes, chosen), splits=splits, seed=chosen.seed)
        if not report.ceilings:
            raise OptionError(report.warnings[0])
        return report

    def cues(
        self,
        cues: Iterable[str] | None = None,
        *,
        mirrors: int = 0,
        reference: str | None = None,
        images: Images | None = None,
        bootstrap: int | None = None,
        seed: int | None = None,
        jobs: int = 1,
    ) -> CueReport:
        """Estimate how well cues predict the guesses of each group, and which cues the guesses follow.

        A conditional logit over the cells of each image models a group's guesses, with the cues' standardized scores as
        covariates. Gains are held out: each image is predicted by weights fitted on the other images (leave-one-out up
        to 100 images, 20 folds beyond that). Intervals come from a bootstrap over images.

        Args:
            cues: keys of cues from `CUES` (default: all).
            mirrors: number of times that the keypoints of random players are mirrored, for a permutation test of
                whether guesses follow the sides that bodies turn to; 0 for no test.
            reference: the respondent that others are compared with. Default: that of the dataset.
            images: "shared" or "all", see `score`.
            bootstrap: number of resamples (default 1000); 0 for no intervals.
            seed: seed of the resamples and mirrorings (default 0).
            jobs: number of processes. The results do not depend on this number. A script that passes more than 1 needs
                `if __name__ == "__main__":` around its code, because worker processes import the script.

        Raises:
            OptionError: for unknown cues, or cues in more than 10 groups.
        """
        from spotball_core.cues.explanation import explain_cues

        names = [cues] if isinstance(cues, str) else cues
        mirrors, jobs = whole_number("mirrors", mirrors, least=0), whole_number("jobs", jobs, least=1)
        chosen = self._policy("standard", reference, images=images, bootstrap=bootstrap, seed=seed)
        return explain_cues(Scoring(self.counts, self.scenes, chosen), cues=names, mirrors=mirrors, jobs=jobs)

    def thresholds(
        self,
        *,
        taus: ArrayLike | None = None,
        thetas: ArrayLike | None = None,
        policy: ScorePolicy | PolicyName = "standard",
        reference: str | None = None,
        images: Images | None = None,
    ) -> ThresholdSurface:
        r"""Compute the objective of the paper's threshold fit over the responses of all scored groups.

        $$J(\tau, \theta) = \tfrac12 \big(NR(\tau) + OR(\theta)\big)$$

        For any responses, J is largest at the largest tau and the smallest theta. Its maximum therefore does not
        determine suitable thresholds. The plateau shows how little the choice of thresholds matters.

        Args:
            taus: thresholds tau, ascending, each in (0, 1]. Default: those of the paper.
            thetas: thresholds theta, ascending, each in (0, 1]. Default: those of the paper.
            policy: a named policy or a ScorePolicy. Its tau and theta are ignored.
            reference: the respondent that others are compared with. Default: that of the dataset.
            images: "shared" or "all", see `score`.

        Raises:
            OptionError: for thresholds that are empty, not ascending or outside (0, 1], or if no response is to an
                image with player boxes.
        """
        from spotball_core.cues.thresholds import TAUS, THETAS, threshold_surface

        chosen = self._policy(policy, reference, images=images)
        return threshold_surface(
            Scoring(self.counts, self.scenes, chosen),
            taus=TAUS if taus is None else taus,
            thetas=THETAS if thetas is None else thetas,
        )

    def mixture(
        self,
        respondent: str,
        *,
        policy: ScorePolicy | PolicyName = "standard",
        reference: str | None = None,
        images: Images | None = None,
        bootstrap: int = 200,
        seed: int = 0,
    ) -> Mixture:
        r"""Fit a mixture of simple strategies and people to the guesses of one respondent and prompt to one sport.

        $$\max_w \sum_{i,j} n_{ij} \log \sum_m w_m P_m(j \mid i), \quad w_m \ge 0,\ \sum_m w_m = 1$$

        where $n_{ij}$ is how often the respondent named cell j of image i. The parts m are `uniform`, `center`,
        `nearest-player`, `truth` (the ball's cells), `prior` (where the ball is in the sport's other images) and
        `people` (the reference's answers to the image). The reference's own mixture excludes `people`. Parts without an
        answer to any image are excluded.

        Args:
            respondent: a respondent, respondent/prompt, or sport/respondent/prompt, such as soccer/gemini/cot.
            policy: a named policy or a ScorePolicy.
            reference: the respondent whose answers are the part `people`. Default: that of the dataset.
            images: "shared" or "all", see `score`.
            bootstrap: number of resamples of images for the weights' intervals; 0 for none.
            seed: seed of the resamples.

        Raises:
            OptionError: if the name fits no group or several groups, or the group has no parsed answers to images for
                which all parts have an answer.

        Examples:
            >>> from spotball_core import baseline_responses, synthetic_scenes
            >>> scenes = synthetic_scenes(30)
            >>> data = load(baseline_responses(scenes, ["center"]), scenes)
            >>> data.mixture("synthetic-soccer/center/base", bootstrap=0).weights["center"].value > 0.9
            True
        """
        from spotball_core.cues.mixture import explain
        from spotball_core.scoring.sides import groups_named

        _check_name("respondent", respondent)
        bootstrap, seed = whole_number("bootstrap", bootstrap, least=0), whole_number("seed", seed, least=0)
        scoring = Scoring(self.counts, self.scenes, self._policy(policy, reference, images=images))
        groups = [group for group in scoring.groups if group.name == respondent] or groups_named(scoring, respondent)
        if len(groups) > 1:
            names = ", ".join(group.name for group in groups)
            raise OptionError(
                f"{respondent!r} names {len(groups)} groups: {names}. Pass one of these names", code="ambiguous-name"
            )
        return explain(scoring, groups[0], bootstrap=bootstrap, seed=seed)

    def report(
        self,
        out: str | Path,
        *,
        policy: ScorePolicy | PolicyName = "standard",
        reference: str | None = None,
        images: Images | None = None,
        bootstrap: int | None = None,
        seed: int | None = None,
        pages: bool = False,
        before: Dataset | None = None,
        reasoning: str | Path | None = None,
        image_folders: Sequence[str | Path] | None = None,
        figures: Sequence[Literal["paper", "slides"]] = (),
        jobs: int = 1,
    ) -> PageReport:
        """Write an HTML report into a folder: report.html, report.json and figures/.

        Args:
            out: the report's folder. An earlier report in it is replaced.
            policy: a named policy or a ScorePolicy.
            reference: the respondent that others are compared with. Default: that of the dataset.
            images: "shared" or "all", see `score`.
            bootstrap: number of resamples (default 1000); 0 for no intervals.
            seed: seed of the resamples (default 0).
            pages: whether to show all images, on separate pages in images/, instead of at most 240 images.
            before: an earlier run, to report what changed since then.
            reasoning: the JSON file from `spotball reasoning`, for a section on rationales.
            image_folders: folders of the images. Default: the dataset folders, and the folder of the scenes file.
            figures: styles in which figures are written in addition to those of the page.
            jobs: number of processes. The report does not depend on this number. A script that passes more than 1 needs
                `if __name__ == "__main__":` around its code, because worker processes import the script.

        Returns:
            The content of report.json.

        Raises:
            OptionError: if `out` contains anything other than an earlier report, or cannot be written, or if there is
                nothing to score.
            InputError: if the file of rationales cannot be read.
            MissingExtraError: if matplotlib or Jinja2 is not installed.
        """
        from spotball_core.plots.presets import PRESETS
        from spotball_core.reasoning.records import read_reasoning
        from spotball_core.report.build import write_report
        from spotball_core.service.parallel import Workers

        folder, jobs = path_of("out", out), whole_number("jobs", jobs, least=1)
        styles = [figures] if isinstance(figures, str) else list(figures)
        if unknown := [style for style in styles if style not in PRESETS]:
            raise OptionError(unknown_name("style", str(unknown[0]), PRESETS), code="unknown-name", field="figures")
        categories = None if reasoning is None else read_reasoning(path_of("reasoning", reasoning))
        chosen = self._policy(policy, reference, images=images, bootstrap=bootstrap, seed=seed)
        earlier = None
        if before is not None:
            if not isinstance(before, Dataset):
                raise OptionError(
                    f"found {type(before).__name__}, expected a Dataset. Pass `load(...)`",
                    code="wrong-type",
                    field="before",
                )
            # Changes are paired by image, not by participant.
            earlier = Scoring(before._pooled, before.scenes, chosen.model_copy(update={"reference": None}))
        with Workers(jobs, [write_report.__module__]) as workers:
            return write_report(
                Scoring(self.counts, self.scenes, chosen),
                folder,
                image_folders=self._sources.image_folders if image_folders is None else image_folders,
                reasoning=categories,
                # The report shows images and rationales only if there is a reference to compare with.
                response_files=self._sources.response_files if chosen.reference else (),
                reading=self._sources.reading,
                pages=pages,
                before=earlier,
                figures=tuple(dict.fromkeys(styles)),
                workers=workers,
            )

    def _policy(
        self,
        policy: ScorePolicy | PolicyName,
        reference: str | None,
        *,
        by: Sequence[Part] | None = None,
        **choices: object,
    ) -> ScorePolicy:
        """Return the policy with these choices and, unless another one is given, the reference of the dataset."""
        return chosen_policy(policy, by=by, reference=self.reference if reference is None else reference, **choices)

    @cached_property
    def _respondents(self) -> list[str]:
        return self.counts.table["respondent"].unique().sort().to_list()

    @cached_property
    def _pooled(self) -> Counts:
        return self.counts.pooled()


def _check_name(argument: str, name: object) -> None:
    if not isinstance(name, str):
        raise OptionError(
            f"found {name!r}, expected the name of a respondent, such as human or gemini/cot", field=argument
        )
