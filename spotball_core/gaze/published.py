"""Provide the figures that the gaze paper prints about models: Table 1 and Table 3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from spotball_core.text.tables import Titled

SOURCE: Final = (
    "Vision-Language Models Mistake Head Orientation for Gaze Direction: Nonverbal Conversation Cues, Tables 1 and 3 "
    "(https://zoryzhang.github.io/gaze)"
)


class PublishedAccuracy(NamedTuple):
    """A row of Table 1.

    Attributes:
        respondent: name of the model, or `people`.
        accuracy: accuracy by number of objects, in the natural condition of the main study or on the pilot's photos.
        pilot: whether the row is about the pilot's photos.
    """

    respondent: str
    accuracy: Mapping[int, float]
    pilot: bool


class PublishedTraining(NamedTuple):
    """A row of Table 3.

    Attributes:
        model: name of the model.
        accuracy: accuracy on the test photos, by set of photos.
        sd: standard deviation of the accuracy over five training runs; None for a model that was not trained.
    """

    model: str
    accuracy: Mapping[str, float]
    sd: Mapping[str, float] | None


def _row(respondent: str, *percent: int, pilot: bool = False) -> PublishedAccuracy:
    return PublishedAccuracy(respondent, {n: value / 100 for n, value in enumerate(percent, start=2)}, pilot)


TABLE_1: Final = (
    _row("people (n = 59)", 94, 88, 76, pilot=True),
    _row("GazeLLE-DinoV2-VitL14", 78, 67, 47),
    _row("Moondream2 (Hybrid)", 78, 58, 41),
    _row("GPT-5.2", 64, 46, 31),
    _row("GPT-4o-20240806", 65, 41, 30),
    _row("GPT-4o-20240806", 58, 43, 33, pilot=True),
    _row("Qwen3-VL-30B", 59, 39, 28),
    _row("Qwen2.5-VL-72B", 54, 40, 30, pilot=True),
    _row("GLM-4.6V-Flash", 62, 43, 30),
    _row("GLM-4V-9B", 54, 42, 33, pilot=True),
    _row("InternLM-XComposer2-VL-7B", 64, 43, 29),
    _row("InternLM-XComposer2-VL-7B", 54, 45, 31, pilot=True),
    PublishedAccuracy("guessing", {n: 1 / n for n in (2, 3, 4)}, pilot=False),
)
"""Table 1, in the order of the paper. The accuracies of uniform guessing are computed."""

_SETS: Final = ("pilot", "congruent", "incongruent", "natural")


def _training(model: str, percent: tuple[float, ...], sds: tuple[float, ...] = ()) -> PublishedTraining:
    accuracy = {name: value / 100 for name, value in zip(_SETS, percent, strict=True)}
    return PublishedTraining(
        model, accuracy, {name: sd / 100 for name, sd in zip(_SETS, sds, strict=True)} if sds else None
    )


TABLE_3: Final = (
    _training("GazeLLE (ViT-B/14)", (63.80, 62.82, 15.65, 65.22)),
    _training("Fine-tuned", (85.77, 70.00, 34.15, 76.81), (1.40, 5.01, 1.76, 2.90)),
)
"""Table 3, in the order of the paper."""


def percent(row: PublishedTraining, photos: str) -> str:
    """Return an accuracy of Table 3 in percent, with its standard deviation, as the paper prints it.

    Args:
        row: the row of the table.
        photos: the set of photos, such as `incongruent`.
    """
    return f"{100 * row.accuracy[photos]:.2f}" + (f" ± {100 * row.sd[photos]:.2f}" if row.sd else "")


def published_tables() -> tuple[Titled, Titled]:
    """Return Tables 1 and 3 as the paper prints them, in percent."""
    sizes = (2, 3, 4)
    first = [
        [row.respondent, "pilot" if row.pilot else "main study", *(f"{100 * row.accuracy[n]:.0f}" for n in sizes)]
        for row in TABLE_1
    ]
    third = [[row.model, *(percent(row, name) for name in row.accuracy)] for row in TABLE_3]
    return (
        ("Table 1: accuracy (%)", 2, ["respondent", "photos", *(f"{n} objects" for n in sizes)], first),
        (
            "Table 3: accuracy after fine-tuning (%), mean ± standard deviation over five runs",
            1,
            ["model", *_SETS],
            third,
        ),
    )
