"""Write the photo browser, a table of the targets and all choices of every photo, sorted by disagreement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from spotball_core.gaze.data.stimuli import SEPARATOR
from spotball_core.gaze.data.trials import Trials
from spotball_core.gaze.page.photos import PhotoSource, disputed_sheet
from spotball_core.pages.parts import PageTable, Section, TableCell, TableRows
from spotball_core.text.words import plural

if TYPE_CHECKING:
    import polars as pl

_LEAD = (
    "The table lists every photo with its targets and the choices of every respondent. Disagreement is the probability "
    "that two random answers to the photo differ; all respondents have the same weight. Photos with the largest "
    "disagreement come first."
)


def disagreement(trials: Trials) -> pl.DataFrame:
    """Return a table of photos with the disagreement between their answers, the largest first.

    The share of each object among the choices is averaged over respondents. Disagreement is 1 minus the sum of the
    squared shares. Unmatched choices are excluded.

    Args:
        trials: trials of one or more respondents.

    Returns:
        One row per photo: `stimulus_id`, `condition`, `view`, `proximity`, `objects`, `gaze`, `head`, `disagreement`.
    """
    import polars as pl

    photos = ("stimulus_id", "condition", "view", "proximity", "objects", "gaze", "head")
    matched = trials.frame.filter(pl.col("choice").is_not_null())
    n_respondents = pl.col("respondent").n_unique().over("stimulus_id")
    weighted = matched.select(
        *photos, "choice", weight=1 / (pl.len().over("stimulus_id", "respondent") * n_respondents)
    )
    shares = weighted.group_by(*photos, "choice", maintain_order=True).agg(pl.col("weight").sum())
    by_photo = shares.group_by(photos, maintain_order=True).agg(disagreement=1 - (pl.col("weight") ** 2).sum())
    return by_photo.sort("disagreement", descending=True, maintain_order=True)


def browser(trials: Trials, source: PhotoSource | None, colors: Mapping[str, str]) -> Section | None:
    """Return the section of the photo browser; None if no choice could be matched.

    Args:
        trials: the trials.
        source: photos with files; those with the most disagreement are shown. With None, only the table is written.
        colors: colors of respondents, as #rrggbb.
    """
    photos = disagreement(trials)
    if photos.is_empty():
        return None
    names = trials.respondents
    choices = _choices(trials)
    heads = ("Photo", "Condition", "View", "Proximity", "Eyes", "Head", "Disagreement (%)", *names)
    rows = tuple(_row(photo, names, choices) for photo in photos.iter_rows(named=True))
    caption = "Number of choices of each object, most frequent first. A question mark counts unmatched choices."
    table = PageTable("browser", caption, heads, 6, (TableRows("", rows),), fold=f"All {plural(len(rows), 'photo')}")
    sheet = disputed_sheet(source, photos["stimulus_id"].to_list(), colors) if source else None
    return Section("browser", "Photo browser", (_LEAD,), short="Browser", tables=(table,), photos=sheet)


def _row(photo: Mapping[str, Any], names: list[str], choices: Mapping[tuple[str, str], str]) -> tuple[TableCell, ...]:
    objects = photo["objects"].split(SEPARATOR)
    head = "free" if photo["head"] is None else objects[photo["head"]]
    return (
        TableCell(photo["stimulus_id"]),
        TableCell(photo["condition"]),
        TableCell(photo["view"]),
        TableCell(str(photo["proximity"])),
        TableCell(objects[photo["gaze"]]),
        TableCell(head),
        TableCell(f"{100 * photo['disagreement']:.0f}"),
        *(TableCell(choices.get((photo["stimulus_id"], name), "–")) for name in names),
    )


def _choices(trials: Trials) -> dict[tuple[str, str], str]:
    """Return text with the chosen objects and their counts, by photo and respondent."""
    import polars as pl

    counts = trials.frame.group_by("stimulus_id", "respondent", "objects", "choice").len()
    name = pl.col("objects").str.split(SEPARATOR).list.get(pl.col("choice"), null_on_oob=True).fill_null("?")
    written = counts.with_columns(text=pl.format("{} {}", name, "len")).sort("len", "text", descending=[True, False])
    joined = written.group_by("stimulus_id", "respondent").agg(pl.col("text").str.join(", "))
    return {(stimulus, respondent): text for stimulus, respondent, text in joined.iter_rows()}
