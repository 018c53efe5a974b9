"""Analyze rationales: compute a report from texts, embeddings, templates and scenes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from spotball_core.errors import OptionError
from spotball_core.metrics.task import truth_distances
from spotball_core.reasoning.categories import STATISTICS, Categories
from spotball_core.reasoning.classify import keyword_categories
from spotball_core.reasoning.grouped import GroupedRationales, stratified_difference
from spotball_core.reasoning.rationales import Rationales
from spotball_core.reasoning.records import (
    CategoryContrast,
    Outcome,
    Panel,
    ReasoningReport,
    ReasoningSignature,
    Statistic,
    TemplateSet,
    TextCounts,
)
from spotball_core.reasoning.similarity import cosines
from spotball_core.reasoning.templates import Templates
from spotball_core.schema.response import Kind
from spotball_core.schema.scene import Scene
from spotball_core.scoring.groups import reading_order
from spotball_core.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    import polars as pl


_UNKNOWN = {
    "accuracy": "the scenes do not contain the ball's position",
    "euclidean_error": "no rationale with a guessed cell belongs to a scene with a known ball position",
    "distance_to_people": "no rationale with a guessed cell belongs to an image that people answered",
}


def outcomes(grouped: GroupedRationales, scenes: Sequence[Scene]) -> dict[Outcome, FloatArray]:
    """Return the outcomes of each rationale's answer, shape (n,) each; NaN if an outcome is undefined.

    Returns:
        `accuracy`: 1 if the named cell holds the ball, else 0; unparsed answers are wrong. `euclidean_error`: distance
            in pixels from the cell to the nearest cell with the ball. `distance_to_people`: mean distance in pixels
            from the cell to the cells that people (respondents of kind human) named on the image; it is not defined for
            people themselves. Answers given as probabilities name no cell, so they have no outcome.
    """
    rows = grouped.rationales
    has_cell = ~rows["cell"].is_null().to_numpy()
    cell = rows["cell"].fill_null(0).to_numpy()
    spread = rows["spread"].fill_null(value=False).to_numpy()
    hit, error, apart = (table[grouped.image, cell] for table in _tables(grouped, scenes))
    known_truth = ~np.isnan(hit)
    return {
        "accuracy": np.where(spread | ~known_truth, np.nan, np.where(has_cell, hit, 0.0)),
        "euclidean_error": np.where(has_cell, error, np.nan),
        "distance_to_people": np.where(has_cell & (rows["kind"] != "human").to_numpy(), apart, np.nan),
    }


def _tables(grouped: GroupedRationales, scenes: Sequence[Scene]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return three outcomes of naming each cell, shape (n_images, n_cells) each: hit, error and distance to people."""
    n_cells = scenes[0].layout.n_cells
    people = _people(grouped.responses, len(scenes), n_cells)
    hit, error, apart = (np.full((len(scenes), n_cells), np.nan) for _ in range(3))
    for place, scene in enumerate(scenes):
        if scene.truth is not None:
            hit[place] = scene.truth.mask
            error[place] = truth_distances(scene.truth.mask, scene.layout)
        if people[place].any():
            apart[place] = scene.layout.distance_sums(people[place]) / people[place].sum()
    return hit, error, apart


def _people(responses: pl.DataFrame, n_images: int, n_cells: int) -> FloatArray:
    """Return the number of times people named each cell of each image."""
    import polars as pl

    rows = responses.filter((pl.col("kind") == "human") & pl.col("cell").is_not_null())
    flat = rows["_image"].to_numpy() * n_cells + rows["cell"].to_numpy()
    return np.bincount(flat, minlength=n_images * n_cells).astype(float).reshape(n_images, n_cells)


def contrasts(
    grouped: GroupedRationales, categories: Categories, scenes: Sequence[Scene]
) -> tuple[CategoryContrast, ...]:
    """Return how outcomes differ between categories, for each respondent, then for all models if there are several."""
    values = outcomes(grouped, scenes)
    return tuple(
        contrast
        for outcome, value in values.items()
        for respondent, kind, places in _whom(grouped)
        if outcome != "distance_to_people" or kind != "human"
        for contrast in _of(outcome, value, respondent, kind, np.isin(grouped.group, places), grouped, categories)
    )


def _whom(grouped: GroupedRationales) -> Iterator[tuple[str | None, Kind, list[int]]]:
    """Yield each respondent, its kind and its groups' indices; then None for all models, if there are several."""
    by_respondent: dict[tuple[str, Kind], list[int]] = {}
    for place, (_, respondent, kind, _) in enumerate(grouped.names):
        by_respondent.setdefault((str(respondent), kind or "model"), []).append(place)
    order: Mapping[str, int] = {"human": 0, "model": 1, "baseline": 2}
    for (respondent, kind), places in sorted(by_respondent.items(), key=lambda item: (order[item[0][1]], item[0][0])):
        yield respondent, kind, places
    models = [places for (_, kind), places in by_respondent.items() if kind == "model"]
    if len(models) > 1:
        yield None, "model", [place for places in models for place in places]


def _of(
    outcome: Outcome,
    value: FloatArray,
    respondent: str | None,
    kind: Kind,
    inside: BoolArray,
    grouped: GroupedRationales,
    categories: Categories,
) -> Iterator[CategoryContrast]:
    names = categories.templates.names
    pairs = [(0, names[1])] if len(names) == 2 else [(place, "others") for place in range(len(names))]
    statistic: Statistic
    for statistic in STATISTICS:
        number = categories.of_text[statistic][grouped.text[inside]]
        for place, other_name in pairs:
            about = {"outcome": outcome, "statistic": statistic, "respondent": respondent, "kind": kind}
            about |= {"a": names[place], "b": other_name}
            is_a = number == place
            is_b = (number >= 0) & ~is_a
            difference = stratified_difference(
                value[inside], is_a, is_b, grouped.group[inside], grouped.image[inside], categories.draws
            )
            if difference is None:
                reason = (
                    f"no combination of sport and prompt has rationales of both {names[place]} and {other_name} with a "
                    "known outcome"
                )
                if not np.isfinite(value[inside]).any():
                    reason = _UNKNOWN[outcome]
                yield CategoryContrast.model_validate(about | {"reason": reason})
                continue
            numbers = {
                "n_a": difference.n_a,
                "n_b": difference.n_b,
                "n_strata": difference.n_strata,
                "n_images": difference.n_images,
            }
            worth = {
                "value_a": difference.a,
                "value_b": difference.b,
                "difference": difference.a - difference.b,
                "ci95": difference.ci95,
            }
            yield CategoryContrast.model_validate(about | worth | numbers)


_COMMON = ("the", "and", "of", "this", "that", "with", "from", "are", "his", "her", "their", "they", "which", "because")
"""Common English words that other languages do not have."""

_FEW_WORDS = 6
"""Texts with fewer words are not checked for English words, because short texts often contain none of them."""


def word_counts(texts: Sequence[str]) -> IntArray:
    """Return the number of words, separated by spaces, of each text, shape (n,).

    Examples:
        >>> word_counts(["two words", "", "⚽ 👀"]).tolist()
        [2, 0, 2]
    """
    import polars as pl

    return pl.Series(texts, dtype=pl.String).str.count_matches(r"\S+").to_numpy().astype(np.int64)


def without_letters(texts: Sequence[str]) -> BoolArray:
    """Return which texts have no letter of any script, such as texts of emoji only, shape (n,).

    Examples:
        >>> without_letters(["⚽ 👀!", "D5", "球"]).tolist()
        [True, False, False]
    """
    import polars as pl

    return ~pl.Series(texts, dtype=pl.String).str.contains(r"\p{L}").to_numpy()


def seem_not_english(texts: Sequence[str]) -> BoolArray:
    """Return which texts seem to be in another language, shape (n,).

    The rule is simple: less than half of the letters are Latin, or the text has at least six words, none of which is a
    common English word. It fails for notes without sentences, and classifies a text in two languages as English.

    Examples:
        >>> seem_not_english(["Der Torwart schaut nach links zum Ball", "I bet it is the one", "球在左边"]).tolist()
        [True, False, True]
    """
    import polars as pl

    column = pl.Series(texts, dtype=pl.String)
    letters = column.str.count_matches(r"\p{L}").to_numpy().astype(int)
    latin = column.str.count_matches(r"\p{Latin}").to_numpy().astype(int)
    common = column.str.contains(rf"(?i)\b(?:{'|'.join(_COMMON)})\b").to_numpy()
    foreign: BoolArray = (letters > 2 * latin) | ((letters > 0) & (word_counts(texts) >= _FEW_WORDS) & ~common)
    return foreign


def analyze(
    rationales: Rationales,
    scenes: Sequence[Scene],
    templates: Templates,
    text_embeddings: ArrayLike,
    template_embeddings: ArrayLike,
    *,
    embedder: str,
    model: str,
    truncated: ArrayLike | None = None,
    bootstrap: int = 1000,
    labelings: int = 1000,
    seed: int = 0,
) -> ReasoningReport:
    """Compute the categories of rationales, their reliability, and their associations with outcomes.

    Controls (images in which the ball is visible) are excluded. Responses without text are used only to compute where
    people guess.

    Args:
        rationales: responses and their texts, from `read_rationales`.
        scenes: the scenes that the responses refer to.
        templates: the templates to compare with.
        text_embeddings: embeddings of `rationales.texts`, in their order, shape (n_texts, d).
        template_embeddings: embeddings of `templates.texts`, in their order, shape (n_templates, d).
        embedder: the embedder's name, for the signature.
        model: the embedder's model.
        truncated: which texts the embedder truncated, shape (n_texts,); None if it does not report this.
        bootstrap: number of resamples of the images; 0 for no intervals.
        labelings: number of random assignments of the templates to categories in permutation tests, at least 1.
        seed: seed of all random draws.

    Raises:
        OptionError: if the numbers of embeddings and texts differ, the embedding of a template is zero or not
            finite, or no rationale remains.
    """
    vectors, sentences = np.asarray(text_embeddings), np.asarray(template_embeddings)
    for name, array, n in (("texts", vectors, len(rationales.texts)), ("templates", sentences, len(templates.texts))):
        if array.ndim != 2 or len(array) != n:
            raise OptionError(
                f"embeddings of {n} {name} have shape {array.shape}, expected ({n}, d)", code="wrong-shape"
            )
    in_sets = sum(templates.sizes)
    similar = cosines(vectors, sentences[:in_sets])
    neutral = cosines(sentences[in_sets:], sentences[:in_sets]) if templates.neutral else None
    by_words = keyword_categories(rationales.texts, templates.keywords) if templates.keywords else None
    has_direction: BoolArray = np.isfinite(similar.sum(axis=1))
    grouped = GroupedRationales.of(rationales.rows, scenes, has_direction)
    categories = Categories(
        grouped, similar, neutral, by_words, templates, bootstrap=bootstrap, labelings=labelings, seed=seed
    )
    from spotball_core.version import version

    signature = ReasoningSignature(
        version=version(),
        data=_data(rationales, scenes),
        embedder=embedder,
        model=model,
        dimensions=vectors.shape[1],
        templates=_template_set(templates),
        centered_on=categories.offsets[0].texts,
        bootstrap=bootstrap,
        labelings=labelings,
        seed=seed,
    )
    return ReasoningReport(
        signature=str(signature),
        provenance=signature,
        warnings=grouped.silent(),
        categories=templates.names,
        texts=_text_counts(grouped, rationales.texts, has_direction, truncated),
        offsets=categories.offsets,
        groups=tuple(categories.group(name, [place]) for place, name in enumerate(grouped.names)),
        panels=tuple(_panels(grouped, categories)),
        left_out=categories.left_out(),
        contrasts=contrasts(grouped, categories, scenes),
    )


def _data(rationales: Rationales, scenes: Sequence[Scene]) -> str:
    """Return the SHA-256 of responses, texts and scenes, independent of their order."""
    described = sorted(scene.model_dump_json(exclude={"player_keypoints"}) for scene in scenes)
    return hashlib.sha256("\n".join([rationales.digest, *described]).encode()).hexdigest()


def _template_set(templates: Templates) -> TemplateSet:
    return TemplateSet(
        name=templates.name,
        version=templates.version,
        digest=templates.digest,
        sizes=dict(zip(templates.names, templates.sizes, strict=True)),
        neutral=len(templates.neutral),
    )


def _text_counts(
    grouped: GroupedRationales, texts: Sequence[str], known: BoolArray, truncated: ArrayLike | None
) -> TextCounts:
    """Count the responses and texts, and special cases such as repeated texts and texts without letters."""
    words = grouped.responses["text"].drop_nulls().to_numpy()
    used, times = np.unique(words, return_counts=True)
    used_texts = [texts[place] for place in used]

    def often(mask: BoolArray) -> int:
        return int(times[mask].sum())

    return TextCounts(
        n_responses=len(grouped.responses),
        n_controls=grouped.n_controls,
        n_empty=len(grouped.responses) - len(words),
        n_without_direction=often(~known[used]),
        n_unique=len(used),
        n_duplicates=len(words) - len(used),
        n_truncated=None if truncated is None else often(np.asarray(truncated, dtype=bool)[used]),
        n_without_letters=often(without_letters(used_texts)),
        n_seem_not_english=often(seem_not_english(used_texts)),
        longest=int(word_counts(used_texts).max()),
    )


def _panels(grouped: GroupedRationales, categories: Categories) -> Iterator[Panel]:
    """Yield the panels of Figure 7 (Spot the Ball): rationales of people or models, pooled by sport or by prompt."""
    by_sport, by_prompt = 0, 3
    of: tuple[tuple[str, Kind, int], ...] = (
        ("people by sport", "human", by_sport),
        ("models by sport", "model", by_sport),
        ("models by prompt", "model", by_prompt),
    )
    for panel, kind, by in of:
        places: dict[str, list[int]] = {}
        for place, name in enumerate(grouped.names):
            if name[2] == kind:
                places.setdefault(str(name[by]), []).append(place)
        groups = []
        for key in sorted(places, key=lambda key: reading_order(None, None, None, key)):
            sport, prompt = (key, None) if by == by_sport else (None, key)
            groups.append(categories.group((sport, None, kind, prompt), places[key]))
        if groups:
            yield Panel.model_validate({"name": panel, "groups": groups})
