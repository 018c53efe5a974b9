"""Create the metadata of the task's samples, and count the answers of scored samples.

The metadata are stored in the log, so the log can be scored and imported without the dataset.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from spotball_adapters.prompts.prompt import Prompt
from spotball_core.schema.record import Name, Record
from spotball_core.schema.scene import Scene

if TYPE_CHECKING:
    from spotball_core.counting.counts import Counts


class Reference(Record):
    """The answers of the reference about one image. The reference is the respondent that the model is compared with.

    Attributes:
        counts: the columns `cell`, `n` and `parts` of `Counts.table`, with one row per cell that was answered.
    """

    respondent: Name
    kind: str
    counts: tuple[tuple[int | None, int, int], ...]


class About(Record):
    """Metadata of a sample: the scene, the prompt, and the reference's answers about the scene."""

    scene: Scene
    prompt: Name
    version: str
    digest: str
    reference: Reference | None = Field(default=None)

    @classmethod
    def of(cls, scene: Scene, prompt: Prompt, reference: Reference | None) -> About:
        """Return the metadata of a sample that asks about a scene with a prompt."""
        return cls(scene=scene, prompt=prompt.name, version=prompt.version, digest=prompt.digest, reference=reference)


def references(counts: Counts, respondent: str) -> dict[tuple[str, str], Reference]:
    """Return a respondent's answers by (sport, image), summed over all prompts."""
    import polars as pl

    own_rows = counts.table.filter(pl.col("respondent") == respondent)
    summed = own_rows.group_by("sport", "image", "kind", "cell", maintain_order=True).agg(pl.col("n", "parts").sum())
    by_image: dict[tuple[str, str], Any] = {}
    for sport, image, kind, *count in summed.iter_rows():
        by_image.setdefault((sport, image), (kind, []))[1].append(tuple(count))
    return {
        key: Reference(respondent=respondent, kind=kind, counts=tuple(rows)) for key, (kind, rows) in by_image.items()
    }


def counted(answers: Iterable[tuple[About, str | None]], respondent: str) -> Counts:
    """Return the counts of the given answers, and of the reference's answers about the same images.

    Args:
        answers: for each answer, the metadata of its sample and the label of the chosen cell, or None if the answer
            could not be parsed.
        respondent: the name of the respondent that gave the answers.
    """
    import polars as pl

    from spotball_core.counting.counts import Counts

    rows: list[tuple[Any, ...]] = []
    by_key: dict[tuple[str, str], About] = {}
    for about, cell in answers:
        scene = about.scene
        by_key.setdefault(scene.key, about)
        place = None if cell is None else scene.layout.index(cell)
        rows.append((*scene.key, respondent, "model", about.prompt, place, 1, 0))
    for about in by_key.values():
        if about.reference:
            identity = (about.reference.respondent, about.reference.kind, "reference")
            rows += [(*about.scene.key, *identity, *count) for count in about.reference.counts]
    columns = ("sport", "image", "respondent", "kind", "prompt", "cell", "n", "parts")
    grid = next(iter(by_key.values())).scene.grid
    table = pl.DataFrame(rows, schema=columns, orient="row", infer_schema_length=None)
    return Counts.of(table, rows=grid.rows, cols=grid.cols)


PACKAGE = "spotball_adapters"


def named(name: str) -> str:
    """Return the name to register an object under, so that Inspect always finds it as spotball_adapters/NAME.

    In a regular install, Inspect adds the prefix itself. In an editable install, it looks for a distribution called
    `spotball_adapters`. As this project's distribution is called `spotball-core`, the returned name has the prefix.
    """
    installed = {"site-packages", "dist-packages"} & set(Path(__file__).parts)
    return name if installed else f"{PACKAGE}/{name}"
