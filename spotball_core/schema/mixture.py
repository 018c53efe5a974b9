"""The record of a fitted mixture of heuristics."""

from __future__ import annotations

from typing import ClassVar

from spotball_core.schema.report import MetricValue
from spotball_core.schema.result import ResultRecord


class Mixture(ResultRecord):
    """A group's guesses as a mixture of heuristics (parts): the estimated share of guesses that came from each part.

    Attributes:
        group: the group's name.
        sport: the group's sport; None if it spans several.
        respondent: the group's respondent.
        prompt: the group's prompt.
        n_images: number of images used.
        n_answers: number of parsed answers to them.
        weights: the weight of each part, with intervals from a bootstrap over images. The weights sum to 1.
        explained: for each part except the uniform distribution, its share of the gain in log likelihood over the
            uniform distribution. The shares are Shapley values: the gain from adding the part, averaged over all orders
            of adding parts. They sum to 1, or are all 0 if there is no gain.
        log_likelihood: log likelihood of the fitted mixture, in nats.
        log_likelihood_uniform: log likelihood of the uniform distribution alone.
        notes: parts and images that were excluded, with reasons.
    """

    _forms: ClassVar[str] = "spotball_core.cues.mixture_text:FORMS"
    _counted: ClassVar[tuple[str, ...]] = ("weights",)

    group: str
    sport: str | None
    respondent: str | None
    prompt: str | None
    n_images: int
    n_answers: float
    weights: dict[str, MetricValue]
    explained: dict[str, float]
    log_likelihood: float
    log_likelihood_uniform: float
    notes: tuple[str, ...] = ()
    signature: str
