"""The choices that change numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, Self, TypedDict, Unpack

from pydantic import Field, NonNegativeInt, PositiveInt

from spotball_core.schema.record import Name, Record

Share = Annotated[float, Field(gt=0, le=1)]
Images = Literal["shared", "all"]
Window = tuple[tuple[PositiveInt, PositiveInt], tuple[PositiveInt, PositiveInt]]


class PolicyChoices(TypedDict, total=False):
    """The keyword arguments of `ScorePolicy.standard` and `ScorePolicy.paper`, by the names of its attributes."""

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
    """Everything that decides a number beside the responses and the scenes.

    `ScorePolicy.standard()` and `ScorePolicy.paper()` give the two named policies; keyword arguments change single
    choices, and the signature then says which.

    Attributes:
        reference: the respondent that others are compared with; None for no comparison.
        images: "shared" keeps, within each sport, the images that every scored group and the reference answered;
            "all" keeps each group's own.
        controls: whether images with a visible ball count. "paper": in all but accuracy, the scoring rules and the
            Wasserstein distance, which keep to the images that the reference answered.
        prior: the images whose ground truth the center measures compare with: "scored", or "all" of the sport's.
        tau: near a player means within this share of the image's diagonal (eq. 5).
        theta: overlap means at least this share of the cell's area (eq. 6).
        window: rows and columns, first and last, of the center window (eq. 7); None for the paper's, rows 2-4 and
            columns 3-7, which is defined for a 6 x 10 grid alone.
        wasserstein_unit: pixels, cells, or shares of the image's diagonal.
        top_k: how many of a respondent's most named cells top_k_accuracy looks at.
        log_smoothing: share of a uniform distribution mixed in before log_score takes the logarithm.
        by: what makes a group; a list from sport, respondent, prompt.
        cluster: what the bootstrap draws: images, or a group's participants (groups without any: images).
        bootstrap: how many resamples; 0 for no intervals.
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
        """The project's default: controls left out, shared images where there is a reference."""
        images = images or ("shared" if reference else "all")
        return cls.model_validate({"name": "standard", "reference": reference, "images": images, **choices})

    @classmethod
    def paper(
        cls, *, reference: str | None = None, images: Images | None = None, **choices: Unpack[PolicyChoices]
    ) -> Self:
        """What the published tables did: each group's own images, controls included (see the class)."""
        defaults = {"name": "paper", "controls": "paper", "prior": "all", "images": images or "all"}
        return cls.model_validate({**defaults, "reference": reference, **choices})

    def changed(self) -> dict[str, object]:
        """The choices that differ from the named policy's, beside those the signature names by themselves."""
        preset = type(self).paper() if self.name == "paper" else type(self).standard()
        shown_apart = {"name", "reference", "images", "wasserstein_unit", "bootstrap", "seed"}
        own_values, preset_values = self.model_dump(), preset.model_dump()
        return {
            key: own_values[key]
            for key in own_values
            if key not in shown_apart and own_values[key] != preset_values[key]
        }
