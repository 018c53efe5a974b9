"""List the file formats that record classes of this package define; see `spotball_core.schema.published`."""

from __future__ import annotations

from spotball_core.comparison.record import Comparison
from spotball_core.cues.explanation_record import CueReport
from spotball_core.gaze.follow.evaluate import FollowReport
from spotball_core.gaze.groups import GazeGroups
from spotball_core.gaze.result import GazeReport
from spotball_core.gaze.weights import GazeWeights
from spotball_core.planning.record import Plan
from spotball_core.reasoning.records import ReasoningReport
from spotball_core.replication.record import Replication
from spotball_core.report.numbers.records import PageReport
from spotball_core.schema import PredictionDistribution, Response, Scene, ScoreReport
from spotball_core.schema.published import FileFormat

SCENE = FileFormat("A line of scenes.jsonl.", Scene)
RESPONSE = FileFormat(
    "A line of responses*.jsonl as this package writes it; readers accept fewer fields.",
    Response | PredictionDistribution,
)
SCORES = FileFormat("The output of `spotball score --format json`.", ScoreReport)
REPORT = FileFormat("The file report.json of `spotball report`.", PageReport)
COMPARISON = FileFormat("The output of `spotball compare --format json`.", Comparison)
PLAN = FileFormat("The output of `spotball plan --format json`.", Plan)
CUES = FileFormat("The output of `spotball cues explain --format json`.", CueReport)
REPLICATION = FileFormat("The output of `spotball replicate --format json`.", Replication)
REASONING = FileFormat("The output of `spotball reasoning --format json`.", ReasoningReport)
GAZE_FOLLOW = FileFormat("The output of `spotball gaze follow --format json`.", FollowReport)
GAZE_GROUPS = FileFormat("The output of `spotball gaze analyze --by COLUMN --format json`.", GazeGroups)
GAZE_REPORT = FileFormat("The output of `spotball gaze analyze --format json`.", GazeReport)
GAZE_WEIGHTS = FileFormat("The output of `spotball gaze analyze --only weights --format json`.", GazeWeights)
