"""Analyze rationales: compute a report from texts, embeddings, templates and scenes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from spotball_core.errors import OptionError
from spotball_core.reasoning.categories import Categories
from spotball_core.reasoning.grouped import GroupedRationales
from spotball_core.reasoning.keywords import keyword_categories
from spotball_core.reasoning.outcomes import contrasts
from spotball_core.reasoning.rationales import Rationales
from spotball_core.reasoning.records import Panel, ReasoningReport, ReasoningSignature, TemplateSet, TextCounts
from spotball_core.reasoning.similarity import cosines
from spotball_core.reasoning.templates import Templates
from spotball_core.reasoning.texts import seem_not_english, without_letters, word_counts
from spotball_core.schema.response import Kind
from spotball_core.schema.scene import Scene
from spotball_core.scoring.groups import reading_order
from spotball_core.typing import BoolArray


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
