"""spotball-core: metrics and scoring for Spot the Ball.

All public names can be imported from this package. Modules that are slow to import are loaded on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spotball_core.baselines import (
        BASELINES as BASELINES,
        baseline_distributions as baseline_distributions,
        baseline_responses as baseline_responses,
    )
    from spotball_core.comparison.record import Comparison as Comparison, Contrast as Contrast, Difference as Difference
    from spotball_core.counting.counts import Counts as Counts
    from spotball_core.counting.engines import Engine as Engine
    from spotball_core.counting.responses import read_counts as read_counts
    from spotball_core.cue_maps.cue import Cue as Cue
    from spotball_core.cue_maps.registry import CUES as CUES
    from spotball_core.cue_maps.scores import CueScores as CueScores, cue_scores as cue_scores
    from spotball_core.cues.explanation_record import (
        CueDifference as CueDifference,
        CueExplanation as CueExplanation,
        CueInfo as CueInfo,
        CueReport as CueReport,
        CueWeight as CueWeight,
        StatedCue as StatedCue,
    )
    from spotball_core.cues.thresholds import ThresholdSurface as ThresholdSurface
    from spotball_core.dataset import Dataset as Dataset, load as load
    from spotball_core.errors import (
        DistributionError as DistributionError,
        GridError as GridError,
        InputError as InputError,
        MissingExtraError as MissingExtraError,
        NotEnoughMemoryError as NotEnoughMemoryError,
        OptionError as OptionError,
        Problem as Problem,
        SpotballError as SpotballError,
    )
    from spotball_core.grid import Grid as Grid
    from spotball_core.interchange import ArrowFrame as ArrowFrame
    from spotball_core.io.scenes import read_scenes as read_scenes
    from spotball_core.io.sources import Responses as Responses
    from spotball_core.metrics import (
        accuracy as accuracy,
        brier_score as brier_score,
        brier_score_matched as brier_score_matched,
        center_ratio as center_ratio,
        energy_score as energy_score,
        energy_score_matched as energy_score_matched,
        euclidean_error as euclidean_error,
        expected_error as expected_error,
        image_entropy as image_entropy,
        image_entropy_matched as image_entropy_matched,
        log_score as log_score,
        log_score_matched as log_score_matched,
        near_player_rate as near_player_rate,
        normalized_entropy as normalized_entropy,
        normalized_entropy_matched as normalized_entropy_matched,
        overlap_rate as overlap_rate,
        symmetric_center_bias as symmetric_center_bias,
        top_k_accuracy as top_k_accuracy,
        top_k_accuracy_matched as top_k_accuracy_matched,
        wasserstein as wasserstein,
        wasserstein_1d as wasserstein_1d,
        wasserstein_1d_matched as wasserstein_1d_matched,
        wasserstein_matched as wasserstein_matched,
    )
    from spotball_core.metrics.metric import (
        Aggregate as Aggregate,
        MeanOverImages as MeanOverImages,
        MeanOverResponses as MeanOverResponses,
        Metric as Metric,
        MetricInput as MetricInput,
        MetricOptions as MetricOptions,
        Pooled as Pooled,
        Statistic as Statistic,
        Sums as Sums,
    )
    from spotball_core.metrics.registry import METRICS as METRICS
    from spotball_core.metrics.sampling import SharedDraws as SharedDraws
    from spotball_core.release.convert import Release as Release, import_release as import_release
    from spotball_core.replication.check import replicate as replicate
    from spotball_core.replication.record import Replication as Replication
    from spotball_core.schema import (
        Ceiling as Ceiling,
        CeilingReport as CeilingReport,
        GridShape as GridShape,
        GroundTruth as GroundTruth,
        GroupScore as GroupScore,
        ImageSet as ImageSet,
        MetricValue as MetricValue,
        PlayerBox as PlayerBox,
        PredictionDistribution as PredictionDistribution,
        Response as Response,
        Scene as Scene,
        ScorePolicy as ScorePolicy,
        ScoreReport as ScoreReport,
        Signature as Signature,
    )
    from spotball_core.schema.keypoints import KEYPOINT_NAMES as KEYPOINT_NAMES
    from spotball_core.schema.mixture import Mixture as Mixture
    from spotball_core.schema.policy import PolicyChoices as PolicyChoices
    from spotball_core.scoring.accumulator import Accumulator as Accumulator, ScoreChoices as ScoreChoices
    from spotball_core.scoring.arrays import Scorer as Scorer, score_arrays as score_arrays, scorer as scorer
    from spotball_core.scoring.score import score as score
    from spotball_core.synthetic.pictures import draw_scene as draw_scene
    from spotball_core.synthetic.poses import PoseNoise as PoseNoise, synthetic_poses as synthetic_poses
    from spotball_core.synthetic.respondents import cue_responses as cue_responses
    from spotball_core.synthetic.scenes import synthetic_scenes as synthetic_scenes


_HOMES = {
    "scoring.accumulator": ("Accumulator", "ScoreChoices"),
    "scoring.arrays": ("Scorer", "score_arrays", "scorer"),
    "baselines": ("BASELINES", "baseline_distributions", "baseline_responses"),
    "counting.counts": ("Counts",),
    "errors": (
        "DistributionError",
        "GridError",
        "InputError",
        "MissingExtraError",
        "NotEnoughMemoryError",
        "OptionError",
        "Problem",
        "SpotballError",
    ),
    "grid": ("Grid",),
    "dataset": ("Dataset", "load"),
    "release.convert": ("Release", "import_release"),
    "counting.responses": ("read_counts",),
    "io.scenes": ("read_scenes",),
    "metrics": (
        "accuracy",
        "brier_score",
        "brier_score_matched",
        "center_ratio",
        "energy_score",
        "energy_score_matched",
        "euclidean_error",
        "expected_error",
        "image_entropy",
        "image_entropy_matched",
        "log_score",
        "log_score_matched",
        "near_player_rate",
        "normalized_entropy",
        "normalized_entropy_matched",
        "overlap_rate",
        "symmetric_center_bias",
        "top_k_accuracy",
        "top_k_accuracy_matched",
        "wasserstein",
        "wasserstein_matched",
        "wasserstein_1d",
        "wasserstein_1d_matched",
    ),
    "metrics.metric": (
        "Aggregate",
        "MeanOverImages",
        "MeanOverResponses",
        "Metric",
        "MetricInput",
        "MetricOptions",
        "Pooled",
        "Statistic",
        "Sums",
    ),
    "metrics.registry": ("METRICS",),
    "metrics.sampling": ("SharedDraws",),
    "schema": (
        "Ceiling",
        "CeilingReport",
        "GridShape",
        "GroundTruth",
        "GroupScore",
        "ImageSet",
        "MetricValue",
        "PlayerBox",
        "PredictionDistribution",
        "Response",
        "Scene",
        "ScorePolicy",
        "ScoreReport",
        "Signature",
    ),
    "replication.check": ("replicate",),
    "replication.record": ("Replication",),
    "schema.keypoints": ("KEYPOINT_NAMES",),
    "schema.mixture": ("Mixture",),
    "schema.policy": ("PolicyChoices",),
    "comparison.record": ("Comparison", "Contrast", "Difference"),
    "counting.engines": ("Engine",),
    "interchange": ("ArrowFrame",),
    "io.sources": ("Responses",),
    "scoring.score": ("score",),
    "cue_maps.cue": ("Cue",),
    "cue_maps.registry": ("CUES",),
    "cue_maps.scores": ("CueScores", "cue_scores"),
    "cues.explanation_record": ("CueDifference", "CueExplanation", "CueInfo", "CueReport", "CueWeight", "StatedCue"),
    "cues.thresholds": ("ThresholdSurface",),
    "synthetic.pictures": ("draw_scene",),
    "synthetic.respondents": ("cue_responses",),
    "synthetic.poses": ("PoseNoise", "synthetic_poses"),
    "synthetic.scenes": ("synthetic_scenes",),
}
_HOME_OF = {name: f"spotball_core.{module}" for module, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> object:
    if name == "__version__":
        return importlib.import_module("spotball_core.version").version()
    if name not in _HOME_OF:
        from spotball_core.errors import did_you_mean

        raise AttributeError(f"module 'spotball_core' has no attribute {name!r}.{did_you_mean(name, __all__)}")
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
