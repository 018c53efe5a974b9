"""Compute results for groups of rationales: shares of categories, margins, tests, and agreement with keywords."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from spotball_core.reasoning.classify import TIE, agreement, closest, weighted_mean
from spotball_core.reasoning.grouped import GroupedRationales, Name, drawn_images, ratios_of_sums
from spotball_core.reasoning.records import (
    Agreement,
    Alignment,
    LeftOut,
    Margins,
    Offset,
    ReasoningGroup,
    Relabeling,
    Statistic,
)
from spotball_core.reasoning.relabel import LabelTest, kept_without, relabel
from spotball_core.reasoning.similarity import mean_over, set_numbers
from spotball_core.reasoning.templates import Templates
from spotball_core.typing import FloatArray, IntArray

STATISTICS: tuple[Statistic, ...] = ("published", "centered")
QUANTILES = {"p05": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95}


class Categories:
    """The categories of rationales by both statistics (published and centered), and the results for groups.

    Attributes:
        offsets: each category's mean similarity to the neutral sentences (if there are any), then to the rationales.
            Centering subtracts the first of these offsets.
        of_text: each text's category by each statistic, shape (n_texts,).

    Args:
        grouped: the rationales.
        cosines: cosines of each text with each template, shape (n_texts, k).
        neutral: cosines of each neutral sentence with each template, shape (m, k); None without neutral sentences.
        by_words: each text's category by the keyword rule, shape (n_texts,); None without keywords.
        templates: the templates to compare with.
        bootstrap: number of resamples of the images.
        labelings: number of random assignments of the templates to categories in permutation tests.
        seed: seed of all random draws.
    """

    def __init__(
        self,
        grouped: GroupedRationales,
        cosines: FloatArray,
        neutral: FloatArray | None,
        by_words: IntArray | None,
        templates: Templates,
        *,
        bootstrap: int,
        labelings: int,
        seed: int,
    ) -> None:
        self.grouped, self.templates, self._by_words = grouped, templates, by_words
        self.draws = drawn_images(bootstrap, seed)
        means = mean_over(set_numbers(templates.sizes), len(templates.sizes))
        pooled = weighted_mean(cosines[grouped.text], 1 / grouped.sizes[grouped.group])
        corpora = [] if neutral is None else [("neutral", len(neutral), neutral.mean(axis=0))]
        corpora.append(("rationales", len(grouped.text), pooled))
        self.offsets = tuple(_offset(name, n, offset @ means, templates.names) for name, n, offset in corpora)
        shifts = dict(zip(STATISTICS, (np.zeros(len(pooled)), corpora[0][2]), strict=True))
        self._cosines = {statistic: cosines - shift for statistic, shift in shifts.items()}
        closest_sets = {statistic: closest(similar @ means) for statistic, similar in self._cosines.items()}
        self.of_text: Mapping[Statistic, IntArray] = {
            statistic: number for statistic, (number, _) in closest_sets.items()
        }
        self._margin = {statistic: margin[grouped.text] for statistic, (_, margin) in closest_sets.items()}
        self._number = {statistic: number[grouped.text] for statistic, number in self.of_text.items()}
        group, text, times = grouped.distinct()
        tested = relabel(
            cosines[text], times, group, templates.sizes, offsets=list(shifts.values()), labelings=labelings, seed=seed
        )
        self._tested = dict(zip(STATISTICS, tested, strict=True))

    def group(self, name: Name, places: Sequence[int]) -> ReasoningGroup:
        """Return the results for the pooled rationales of the given groups.

        Args:
            name: the name of the pooled group.
            places: indices of the groups to pool.
        """
        inside = np.flatnonzero(np.isin(self.grouped.group, places))
        n_responses = sum(self.grouped.n_responses[self.grouped.names[place]] for place in places)
        sport, respondent, kind, prompt = name
        published, centered = self._alignments(inside, places)
        return ReasoningGroup(
            sport=sport,
            respondent=respondent,
            kind=kind,
            prompt=prompt,
            n_images=len(np.unique(self.grouped.image[inside])),
            n_rationales=len(inside),
            n_empty=n_responses - len(inside),
            published=published,
            centered=centered,
            changed=float((self._number["published"][inside] != self._number["centered"][inside]).mean()),
            keywords=self._agreement(inside),
        )

    def _alignments(self, inside: IntArray, places: Sequence[int]) -> list[Alignment]:
        """Return the results of both statistics; their means and shares use the same resamples of the images."""
        image, names = self.grouped.image[inside], self.templates.names
        sums = []
        for statistic in STATISTICS:
            number = self._number[statistic][inside]
            sums += [(number == place).astype(float) for place in range(len(names))]
            sums.append(self._margin[statistic][inside])
        by_image = [np.bincount(image, values, minlength=self.grouped.n_images) for values in sums]
        n = np.bincount(image, minlength=self.grouped.n_images).astype(float)
        values = iter(ratios_of_sums(np.stack(by_image), n, self.draws))
        alignments = []
        for statistic in STATISTICS:
            margin, tested = self._margin[statistic][inside], self._tested[statistic]
            shares = {name: next(values) for name in names}
            quantiles = np.quantile(margin, list(QUANTILES.values())).tolist()
            alignments.append(
                Alignment(
                    shares=shares,
                    n_ties=int((self._number[statistic][inside] == TIE).sum()),
                    margin=Margins(mean=next(values), **dict(zip(QUANTILES, quantiles, strict=True))),
                    margin_test=_relabeling(tested.margin_test(places)),
                    share_test=_relabeling(tested.share_test(places)),
                )
            )
        return alignments

    def _agreement(self, inside: IntArray) -> Agreement | None:
        if self._by_words is None:
            return None
        by_words, names = self._by_words[self.grouped.text[inside]], self.templates.names
        by_similarity = self._number["published"][inside]
        n, share, kappa = agreement(by_similarity, by_words, len(names), np.ones(len(inside)))
        covered = by_words[by_words >= 0]
        return Agreement(
            n=int(n),
            covered=len(covered) / len(inside),
            share=None if np.isnan(share) else share,
            kappa=None if np.isnan(kappa) else kappa,
            shares={name: float((covered == place).mean()) for place, name in enumerate(names)} if len(covered) else {},
        )

    def left_out(self) -> tuple[LeftOut, ...]:
        """Return, for each template, the share of all rationales that keep their category without this template."""
        text, times = np.unique(self.grouped.text, return_counts=True)
        shares_kept = {
            statistic: [
                None if stays is None else float(np.average(stays, weights=times))
                for stays in kept_without(similar[text], self.templates.sizes)
            ]
            for statistic, similar in self._cosines.items()
        }
        names = [(name, sentence) for name, texts in self.templates.categories.items() for sentence in texts]
        return tuple(
            LeftOut(category=name, template=sentence, published=published, centered=centered)
            for (name, sentence), published, centered in zip(
                names, shares_kept["published"], shares_kept["centered"], strict=True
            )
        )


def _offset(corpus: str, n: int, similarity: FloatArray, names: Sequence[str]) -> Offset:
    return Offset.model_validate(
        {
            "texts": corpus,
            "n_texts": n,
            "similarity": dict(zip(names, similarity.tolist(), strict=True)),
            "spread": float(np.ptp(similarity)),
        }
    )


def _relabeling(test: LabelTest) -> Relabeling:
    return Relabeling(observed=test.observed, expected=test.expected, p=test.p)
