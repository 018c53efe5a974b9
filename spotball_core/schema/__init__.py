"""Define the records that are read from files and written to them, as frozen pydantic models."""

from spotball_core.schema.policy import ScorePolicy
from spotball_core.schema.report import (
    Ceiling,
    CeilingReport,
    GroupScore,
    ImageSet,
    MetricValue,
    ScoreReport,
    Signature,
)
from spotball_core.schema.response import Kind, PredictionDistribution, Response
from spotball_core.schema.scene import GridShape, GroundTruth, PlayerBox, Scene

__all__ = [
    "Ceiling",
    "CeilingReport",
    "GridShape",
    "GroundTruth",
    "GroupScore",
    "ImageSet",
    "Kind",
    "MetricValue",
    "PlayerBox",
    "PredictionDistribution",
    "Response",
    "Scene",
    "ScorePolicy",
    "ScoreReport",
    "Signature",
]
