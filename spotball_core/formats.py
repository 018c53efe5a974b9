"""List the file formats of this package that consist of records; see `spotball_core.schema.published`."""

from __future__ import annotations

from spotball_core.comparison.record import Comparison
from spotball_core.cues.explanation_record import CueReport
from spotball_core.gaze.analysis import GazeReport
from spotball_core.gaze.follow.evaluate import FollowReport
from spotball_core.gaze.weights import GazeWeights
from spotball_core.reasoning.records import ReasoningReport
from spotball_core.replication.record import Replication
from spotball_core.report.numbers.records import PageReport
from spotball_core.schema import PredictionDistribution, Response, Scene, ScoreReport
from spotball_core.schema.published import FileFormat

SCENE = FileFormat("A line of scenes.jsonl.", Scene)
RESPONSE = FileFormat(
    "A line of responses*.jsonl as it is written; less is enough to be read.", Response | PredictionDistribution
)
SCORES = FileFormat("What `spotball score --format json` writes.", ScoreReport)
REPORT = FileFormat("What `spotball report` writes as report.json.", PageReport)
COMPARISON = FileFormat("What `spotball compare --format json` writes.", Comparison)
CUES = FileFormat("What `spotball cues explain --format json` writes.", CueReport)
REPLICATION = FileFormat("What `spotball replicate --format json` writes.", Replication)
REASONING = FileFormat("What `spotball reasoning --format json` writes.", ReasoningReport)
GAZE_FOLLOW = FileFormat("What `spotball gaze follow --format json` writes.", FollowReport)
GAZE_REPORT = FileFormat("What `spotball gaze analyze --format json` writes.", GazeReport)
GAZE_WEIGHTS = FileFormat("What `spotball gaze weights --format json` writes.", GazeWeights)
