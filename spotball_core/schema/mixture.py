"""What explains a respondent: the record of a fitted mixture."""

from __future__ import annotations

from spotball_core.schema.record import Record
from spotball_core.schema.report import MetricValue


class Mixture(Record):
    """A group's guesses as a mixture: with which probability each guess came from which part.

    Attributes:
        group: its name.
        sport: of the group; None where it spans several.
        respondent: of the group.
        prompt: of the group.
        n_images: images that enter.
        n_answers: parsed answers to them.
        weights: of each part, with intervals that draw images; they sum to 1.
        explained: share of the log likelihood gained over the uniform distribution that each part but the uniform
            one accounts for: its Shapley value, the gain from adding it averaged over all orders of adding parts.
            Sums to 1; all 0 where nothing is gained.
        log_likelihood: of the fitted mixture, in nats.
        log_likelihood_uniform: of the uniform distribution alone.
        notes: parts and images that were excluded, and why.
    """

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
