"""The numbers of any group of rationales: shares, margins, tests, agreement with keywords."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from spotball_core.grid import FloatArray, IntArray
from spotball_core.reasoning.classify import TIE, closest, weighted_mean
from spotball_core.reasoning.intervals import drawn_images, ratio_of_sums, sums_by
from spotball_core.reasoning.keywords import agreement
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
from spotball_core.reasoning.said import Name, Said
from spotball_core.reasoning.similarity import mean_over, set_numbers
from spotball_core.reasoning.templates import Templates

STATISTICS: tuple[Statistic, ...] = ("published", "centered")
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


class Categories:
    """The categories of rationales by both statistics, and what groups of them come to.

    Attributes:
        offsets: what the sets are close to whatever a text speaks of; the first is taken off to center.
        of_text: each text's category by each statistic, shape (n_texts,).

    Args:
        said: the rationales.
        cosines: of each text with each template, shape (n_texts, k).
        neutral: of each neutral sentence with each template, shape (m, k); None if there are none.
        by_words: each text's category by the keyword rule, shape (n_texts,); None without keywords.
        templates: what is compared with.
        bootstrap: how many resamples of the images.
        labelings: how many random labelings of the templates.
        seed: of all that is drawn.
    """

    def __init__(
        self,
        said: Said,
        cosines: FloatArray,
        neutral: FloatArray | None,
        by_words: IntArray | None,
        templates: Templates,
        *,
        bootstrap: int,
        labelings: int,
        seed: int,
    ) -> None:
        self.said, self.templates, self._by_words = said, templates, by_words
        self.draws = drawn_images(bootstrap, seed)
        means = mean_over(set_numbers(templates.sizes), len(templates.sizes))
        pooled = weighted_mean(cosines[said.text], 1 / said.sizes[said.group])
        corpora = [] if neutral is None else [("neutral", len(neutral), neutral.mean(axis=0))]
        corpora.append(("rationales", len(said.text), pooled))
        self.offsets = tuple(_offset(name, n, offset @ means, templates.names) for name, n, offset in corpora)
        shifts = dict(zip(STATISTICS, (np.zeros(len(pooled)), corpora[0][2]), strict=True))
        self._cosines = {statistic: cosines - shift for statistic, shift in shifts.items()}
        found = {statistic: closest(similar @ means) for statistic, similar in self._cosines.items()}
        self.of_text: Mapping[Statistic, IntArray] = {statistic: number for statistic, (number, _) in found.items()}
        self._margin = {statistic: margin[said.text] for statistic, (_, margin) in found.items()}
        self._number = {statistic: number[said.text] for statistic, number in self.of_text.items()}
        group, text, times = said.distinct()
        tested = relabel(
            cosines[text], times, group, templates.sizes, offsets=list(shifts.values()), labelings=labelings, seed=seed
        )
        self._tested = dict(zip(STATISTICS, tested, strict=True))

    def group(self, name: Name, places: Sequence[int]) -> ReasoningGroup:
        """What the rationales of some groups together come to.

        Args:
            name: what they are called together.
            places: the groups' numbers.
        """
        inside = np.flatnonzero(np.isin(self.said.group, places))
        n_responses = sum(self.said.n_responses[self.said.names[place]] for place in places)
        number = {statistic: each[inside] for statistic, each in self._number.items()}
        sport, respondent, kind, prompt = name
        return ReasoningGroup(
            sport=sport,
            respondent=respondent,
            kind=kind,
            prompt=prompt,
            n_images=len(np.unique(self.said.image[inside])),
            n_rationales=len(inside),
            n_empty=n_responses - len(inside),
            published=self._alignment("published", inside, places),
            centered=self._alignment("centered", inside, places),
            changed=float((number["published"] != number["centered"]).mean()),
            keywords=self._agreement(inside),
        )

    def _alignment(self, statistic: Statistic, inside: IntArray, places: Sequence[int]) -> Alignment:
        number, margin = self._number[statistic][inside], self._margin[statistic][inside]
        image = self.said.image[inside]

        def by_image(values: FloatArray) -> FloatArray:
            sums: FloatArray = sums_by(np.zeros_like(image), image, (1, self.said.n_images), values)[0]
            return sums

        n = by_image(np.ones(len(inside)))
        tested = self._tested[statistic]
        return Alignment(
            shares={
                name: ratio_of_sums(by_image((number == place).astype(float)), n, self.draws)
                for place, name in enumerate(self.templates.names)
            },
            n_ties=int((number == TIE).sum()),
            margin=Margins(
                mean=ratio_of_sums(by_image(margin), n, self.draws),
                **{f"p{share * 100:02.0f}": float(np.quantile(margin, share)) for share in QUANTILES},
            ),
            margin_test=_relabeling(tested.margin_test(places)),
            share_test=_relabeling(tested.share_test(places)),
        )

    def _agreement(self, inside: IntArray) -> Agreement | None:
        if self._by_words is None:
            return None
        by_words, names = self._by_words[self.said.text[inside]], self.templates.names
        ours = self._number["published"][inside]
        n, share, kappa = agreement(ours, by_words, len(names), np.ones(len(inside)))
        covered = by_words[by_words >= 0]
        return Agreement(
            n=int(n),
            covered=len(covered) / len(inside),
            share=None if np.isnan(share) else share,
            kappa=None if np.isnan(kappa) else kappa,
            shares={name: float((covered == place).mean()) for place, name in enumerate(names)} if len(covered) else {},
        )

    def left_out(self) -> tuple[LeftOut, ...]:
        """What leaving each template out changes, over all rationales."""
        text, times = np.unique(self.said.text, return_counts=True)
        kept = {
            statistic: [
                None if stays is None else float(np.average(stays, weights=times))
                for stays in kept_without(similar[text], self.templates.sizes)
            ]
            for statistic, similar in self._cosines.items()
        }
        names = [(name, sentence) for name, texts in self.templates.categories.items() for sentence in texts]
        return tuple(
            LeftOut(category=name, template=sentence, published=published, centered=centered)
            for (name, sentence), published, centered in zip(names, kept["published"], kept["centered"], strict=True)
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
