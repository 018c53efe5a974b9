"""The public names, each in the module that defines it. `__init__.py` reads this file to load them on first use."""

from spotball_core.baselines import (
    BASELINES as BASELINES,
    baseline_distributions as baseline_distributions,
    baseline_responses as baseline_responses,
)
from spotball_core.comparison.record import Comparison as Comparison
from spotball_core.counting.counts import Counts as Counts
from spotball_core.counting.read import read_counts as read_counts
from spotball_core.cue_maps.registry import CUES as CUES, cue_scores as cue_scores
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
from spotball_core.io.scenes import read_scenes as read_scenes
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
from spotball_core.metrics.registry import METRICS as METRICS
from spotball_core.release.convert import import_release as import_release
from spotball_core.replication.check import replicate as replicate
from spotball_core.schema import (
    PlayerBox as PlayerBox,
    PredictionDistribution as PredictionDistribution,
    Response as Response,
    Scene as Scene,
    ScorePolicy as ScorePolicy,
    ScoreReport as ScoreReport,
)
from spotball_core.scoring.accumulator import Accumulator as Accumulator
from spotball_core.scoring.arrays import score_arrays as score_arrays, scorer as scorer
from spotball_core.scoring.score import score as score
from spotball_core.synthetic.pictures import draw_scene as draw_scene
from spotball_core.synthetic.poses import synthetic_poses as synthetic_poses
from spotball_core.synthetic.respondents import cue_responses as cue_responses
from spotball_core.synthetic.scenes import synthetic_scenes as synthetic_scenes

__all__: list[str]
__version__: str
