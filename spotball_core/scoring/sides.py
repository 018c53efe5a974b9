"""Select the answers for an analysis: convert names to groups, and groups to arrays.

A name is a respondent (`gemini`: all its prompts pooled) or a respondent with a prompt (`gemini/cot`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from spotball_core.counting.counts import Counts, dense
from spotball_core.errors import OptionError, unknown_name
from spotball_core.scoring.groups import Group, Scoring
from spotball_core.typing import FloatArray

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class People:
    """The answers of each participant.

    Attributes:
        ids: the participants' IDs.
        mass: counts of cells, shape (n_participants, n_images, n_cells).
        unparsed: unparsed responses, shape (n_participants, n_images).
    """

    ids: tuple[str, ...]
    mass: FloatArray
    unparsed: FloatArray


def named(names: Iterable[tuple[str, str | None]], name: str) -> list[tuple[str, str | None]]:
    """Return the (respondent, prompt) pairs that a name refers to.

    A respondent's full name has priority: `org/model` is the respondent of that name, not the prompt `model` of `org`.

    Raises:
        OptionError: if no pair matches.

    Examples:
        >>> names = [("human", "base"), ("gemini", "base"), ("gemini", "cot")]
        >>> named(names, "gemini"), named(names, "gemini/cot")
        ([('gemini', 'base'), ('gemini', 'cot')], [('gemini', 'cot')])
    """
    names = list(dict.fromkeys(names))
    whole = [pair for pair in names if pair[0] == name]
    found = whole or [pair for pair in names if pair[1] is not None and f"{pair[0]}/{pair[1]}" == name]
    if not found:
        known = sorted({respondent for respondent, _ in names} | {f"{r}/{p}" for r, p in names if p is not None})
        raise OptionError(unknown_name("respondent", name, known), code="unknown-name")
    return found


def only(counts: Counts, names: Iterable[str]) -> Counts:
    """Return the counts of the named respondents or prompts only.

    Raises:
        OptionError: for a name without responses.
    """
    import polars as pl

    pairs = counts.table.select("respondent", "prompt").unique(maintain_order=True).rows()
    kept = {pair for name in names for pair in named(pairs, name)}
    wanted = pl.DataFrame(sorted(kept), schema={"respondent": pl.String, "prompt": pl.String}, orient="row")
    table = counts.table.join(wanted, on=["respondent", "prompt"], how="semi", maintain_order="left")
    return replace(counts, table=table)


def groups_named(scoring: Scoring, name: str) -> list[Group]:
    """Return the groups, of any sport, that a name refers to.

    Raises:
        OptionError: if no group matches, or groups are not split by respondent.
    """
    if "respondent" not in scoring.policy.by:
        raise OptionError(
            f"{name!r} cannot be selected, because groups are not split by respondent. Add respondent to `by`"
        )
    names = [(str(group.respondent), group.prompt) for group in scoring.groups]
    pairs = named(names, name)
    return [group for group, pair in zip(scoring.groups, names, strict=True) if pair in pairs]


def answers(scoring: Scoring, rows: pl.DataFrame, scenes: Sequence[int]) -> tuple[FloatArray, FloatArray]:
    """Return the mass, shape (n_images, n_cells), and the unparsed answers, shape (n_images,), of these scenes."""
    return dense(rows, scoring.places(rows, scenes), len(scenes), scoring.counts.n_cells)


def people(scoring: Scoring, rows: pl.DataFrame, scenes: Sequence[int]) -> People | None:
    """Return the answers to these scenes in rows of `scoring.table`, separately for each participant.

    Return None if fewer than two participants answered, or some answers lack a participant.
    """
    if "participant" not in rows.columns or rows["participant"].null_count():
        return None
    ids = rows["participant"].unique().sort()
    if len(ids) < 2:
        return None
    who = rows["participant"].replace_strict(ids, np.arange(len(ids))).to_numpy()
    shape = (len(ids), len(scenes))
    places = scoring.places(rows, scenes)
    places = np.where(places < 0, -1, who * len(scenes) + places)
    mass, unparsed = dense(rows, places, shape[0] * shape[1], scoring.counts.n_cells)
    return People(tuple(ids), mass.reshape(*shape, -1), unparsed.reshape(shape))
