"""Provide the task, solver, scorer and metrics that Inspect loads through the entry point `inspect_ai`."""

from spotball_adapters.inspect.scorer import spot_the_ball_metrics, spot_the_ball_scorer
from spotball_adapters.inspect.task import questions_first, spot_the_ball

__all__ = ["questions_first", "spot_the_ball", "spot_the_ball_metrics", "spot_the_ball_scorer"]
