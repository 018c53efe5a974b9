"""Define the scoring policy: all choices that affect the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, Self, TypedDict, Unpack

from pydantic import Field, NonNegativeInt, PositiveInt

from spotball_core.schema.record import Name, Record

Share = Annotated[float, Field(gt=0, le=1)]
Images = Literal["shared", "all"]
Window = tuple[tuple[PositiveInt, PositiveInt], tuple[PositiveInt, PositiveInt]]


class PolicyChoices(TypedDict, total=False):
    """Keyword arguments of `ScorePolicy.standard` and `ScorePolicy.paper`, named like its attributes."""

    controls: Literal["out", "paper"]
    prior: Literal["scored", "all"]
    tau: float
    theta: float
    window: Sequence[Sequence[int]] | None
    wasserstein_unit: Literal["px", "cell", "diagonal"]
    top_k: int
    log_smoothing: float
    by: Sequence[Literal["sport", "respondent", "prompt"]]
    cluster: Literal["image", "participant"]
    bootstrap: int
    seed: int


class ScorePolicy(Record):
    """All choices that affect a number, in addition to the responses and the scenes.

    `ScorePolicy.standard()` and `ScorePolicy.paper()` return the two named policies. Keyword arguments change single
    choices, and the signature then lists the changes.

    Attributes:
        reference: the respondent that others are compared with; None for no comparison.
        images: "shared" keeps, within each sport, the images that every scored group and the reference answered; "all"
            keeps each group's own images.
        controls: whether images with a visible ball are included. "out" excludes them. "paper" includes them in the
            metrics that were published with them (`Metric.published_with_controls`); other metrics exclude them, and
            images that the reference did not answer.
        prior: the images whose ground truth center_ratio and symmetric_center_bias compare guesses with: the "scored"
            images, or "all" images of the sport.
        tau: a guess is near a player if the distance is at most this share of the image's diagonal (eq. 5).
        theta: a cell overlaps a player if the player covers at least this share of its area (eq. 6).
        window: the first and last row and column of the center window (eq. 7). None means the window from the paper,
            rows 2-4 and columns 3-7, which is only defined for a 6 x 10 grid.
        wasserstein_unit: pixels, cells, or shares of the image's diagonal.
        top_k: the number of most named cells that top_k_accuracy uses.
        log_smoothing: the share of a uniform distribution that is mixed in before log_score takes the logarithm.
        by: the fields that define a group: a list of sport, respondent, prompt.
        cluster: the unit of the bootstrap: images, or a group's participants (images for groups without participants).
        bootstrap: number of resamples; 0 for no intervals.
        seed: seed of the resamples.
    """

    name: Literal["standard", "paper"] = "standard"
    reference: Name | None = None
    images: Images = "all"
    controls: Literal["out", "paper"] = "out"
    prior: Literal["scored", "all"] = "scored"
    tau: Share = 0.08
    theta: Share = 0.02
    window: Window | None = None
    wasserstein_unit: Literal["px", "cell", "diagonal"] = "px"
    top_k: PositiveInt = 3
    log_smoothing: Share = 0.01
    by: tuple[Literal["sport", "respondent", "prompt"], ...] = ("sport", "respondent", "prompt")
    cluster: Literal["image", "participant"] = "image"
    bootstrap: NonNegativeInt = 1000
    seed: NonNegativeInt = 0

    @classmethod
    def standard(
        cls, *, reference: str | None = None, images: Images | None = None, **choices: Unpack[PolicyChoices]
    ) -> Self:
        """Return the default policy: controls are excluded, and images are shared if there is a reference."""
        images = images or ("shared" if reference else "all")
        return cls.model_validate({"name": "standard", "reference": reference, "images": images, **choices})

    @classmethod
    def paper(
        cls, *, reference: str | None = None, images: Images | None = None, **choices: Unpack[PolicyChoices]
    ) -> Self:
        """Return the policy of the published tables: each group's own images, with controls (see the class)."""
        defaults = {"name": "paper", "controls": "paper", "prior": "all", "images": images or "all"}
        return cls.model_validate({**defaults, "reference": reference, **choices})

    def changed(self) -> dict[str, object]:
        """Return the choices that differ from the named policy, except those that the signature always names."""
        preset = type(self).paper() if self.name == "paper" else type(self).standard()
        shown_apart = {"name", "reference", "images", "wasserstein_unit", "bootstrap", "seed"}
        own_values, preset_values = self.model_dump(), preset.model_dump()
        return {
            key: own_values[key]
            for key in own_values
            if key not in shown_apart and own_values[key] != preset_values[key]
        }
