"""Records of the analysis of rationales, which `spotball reasoning --format json` writes."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

from spotball_core.errors import InputError, unreadable_text
from spotball_core.schema.faults import record_of_json
from spotball_core.schema.record import Record
from spotball_core.schema.report import Interval, MetricValue
from spotball_core.schema.response import Kind

SCHEMA_VERSION: Final = 1

Corpus = Literal["neutral", "rationales"]
"""Texts from which the categories' offsets are computed: the templates' neutral sentences, or the rationales."""

Statistic = Literal["published", "centered"]
"""How a rationale's category is chosen.

"published" chooses the category with the largest mean cosine. "centered" first subtracts each category's offset.
"""

Outcome = Literal["accuracy", "euclidean_error", "distance_to_people"]


class TemplateSet(Record):
    """The templates that rationales are compared with.

    Attributes:
        digest: SHA-256 of all sentences and keywords.
        sizes: number of sentences of each category.
        neutral: number of neutral sentences.
    """

    name: str
    version: str
    digest: str
    sizes: dict[str, int]
    neutral: int


class ReasoningSignature(Record):
    """The full provenance of the report's numbers. `str()` returns the short form that is printed under tables.

    Attributes:
        version: version of spotball-core.
        data: SHA-256 of the scenes and all responses with their texts, independent of their files.
        embedder: the embedder.
        model: the embedder's model.
        dimensions: number of dimensions of an embedding.
        centered_on: the texts whose mean similarity is the offset of the centered statistic.
        bootstrap: number of resamples of the images.
        labelings: number of random labelings of the templates.
        seed: seed of all random draws.
    """

    version: str
    data: str
    embedder: str
    model: str
    dimensions: int
    templates: TemplateSet
    centered_on: Corpus
    bootstrap: int
    labelings: int
    seed: int

    def __str__(self) -> str:
        fields = {
            "v": self.version,
            "data": self.data[:8],
            "embedder": f"{self.embedder}/{self.model}",
            "templates": f"{self.templates.name}@{self.templates.version}+{self.templates.digest[:8]}",
            "centered": self.centered_on,
            "boot": self.bootstrap,
            "labelings": self.labelings,
            "seed": self.seed,
        }
        return "|".join(["spotball-reasoning", *(f"{key}:{value}" for key, value in fields.items())])


class TextCounts(Record):
    """The numbers of responses and texts, and of special cases, such as texts that seem not to be English.

    Only empty texts, and texts whose embedding is zero or not finite, are excluded from the analysis.

    Attributes:
        n_responses: responses to images that are not controls.
        n_controls: responses to controls, which are excluded.
        n_empty: responses without a text, or with spaces only.
        n_without_direction: texts whose embedding is zero or not finite; they have no category.
        n_unique: distinct texts that are not empty.
        n_duplicates: rationales that repeat an earlier text.
        n_truncated: rationales that the embedder truncated; None if it does not report this.
        n_without_letters: rationales without a letter, such as emoji only.
        n_seem_not_english: rationales that seem to be in another language.
        longest: number of words of the longest rationale.
    """

    n_responses: int
    n_controls: int
    n_empty: int
    n_without_direction: int
    n_unique: int
    n_duplicates: int
    n_truncated: int | None
    n_without_letters: int
    n_seem_not_english: int
    longest: int


class Offset(Record):
    """The mean similarity of each category's sentences to reference texts, regardless of what these texts mention.

    Attributes:
        texts: the kind of reference texts.
        n_texts: number of reference texts. If they are rationales, all groups have the same total weight.
        similarity: the texts' mean cosine with each category's sentences.
        spread: largest minus smallest similarity, the advantage of the first of these categories over the other.
    """

    texts: Corpus
    n_texts: int
    similarity: dict[str, float]
    spread: float


class Margins(Record):
    """The distribution over rationales of the margin between the closest and the second closest category.

    Attributes:
        mean: the mean with its interval.
        p05: the quantile at 0.05; the other fields are the quantiles at 0.25, 0.5, 0.75 and 0.95.
    """

    mean: MetricValue
    p05: float
    p25: float
    p50: float
    p75: float
    p95: float


class Relabeling(Record):
    """A permutation test: a statistic under the templates' labels and under random labels.

    Attributes:
        observed: the statistic under the templates' labels.
        expected: mean of the statistic under random assignments of the templates to sets of the same sizes.
        p: (1 + number of assignments with at least the observed value) / (1 + number of assignments).
    """

    observed: float
    expected: float
    p: float


class Alignment(Record):
    """The categories of a group's rationales, by one statistic.

    Attributes:
        shares: each category's share of the rationales; together with ties they sum to 1.
        n_ties: number of rationales that are equally close to two or more categories.
        margin: how much closer rationales are to their category than to the second closest.
        margin_test: tests whether the mean margin is larger than under random labels.
        share_test: tests whether the shares differ more from equal shares than under random labels.
    """

    shares: dict[str, MetricValue]
    n_ties: int
    margin: Margins
    margin_test: Relabeling
    share_test: Relabeling


class Agreement(Record):
    """The agreement of the published statistic with the keyword rule.

    Attributes:
        n: number of rationales with a category both by the statistic and by the keyword rule.
        covered: share of all rationales with a category by the keyword rule.
        share: share of those n rationales with the same category by both; None if n is 0.
        kappa: Cohen's kappa; None if both assign all n rationales to one category, or if n is 0.
        shares: each category's share of the rationales with a category by the rule.
    """

    n: int
    covered: float
    share: float | None
    kappa: float | None
    shares: dict[str, float]


class ReasoningGroup(Record):
    """The results for one group's rationales; sport, respondent, kind or prompt is None if the group is pooled over it.

    Attributes:
        n_rationales: number of rationales with a category or a tie; all results refer to these rationales.
        n_empty: number of responses without a rationale.
        changed: share of the rationales whose category changes when the offset is subtracted.
    """

    sport: str | None
    respondent: str | None
    kind: Kind | None
    prompt: str | None
    n_images: int
    n_rationales: int
    n_empty: int
    published: Alignment
    centered: Alignment
    changed: float
    keywords: Agreement | None


class Panel(Record):
    """One panel of Figure 7 (Spot the Ball): the categories of the rationales of people or models."""

    name: Literal["people by sport", "models by sport", "models by prompt"]
    groups: tuple[ReasoningGroup, ...]


class LeftOut(Record):
    """The effect of omitting one template.

    Attributes:
        published: share of all rationales that keep their category; None for a category's only template.
        centered: the same share for the centered statistic.
    """

    category: str
    template: str
    published: float | None
    centered: float | None


class CategoryContrast(Record):
    """The association of a category with an outcome, within sport, respondent and prompt.

    Attributes:
        outcome: `accuracy`, a share; `euclidean_error` and `distance_to_people`, in pixels.
        respondent: the respondent; None for all respondents of the kind, pooled.
        a: the category.
        b: the other category; "others" if there are more than two categories.
        value_a: mean outcome of category a, weighted over strata; None if the difference is undefined.
        value_b: mean outcome of category b, weighted over strata; None if the difference is undefined.
        difference: value_a - value_b.
        ci95: 95% bootstrap interval of the difference over images.
        n_a: number of rationales of category a in strata with rationales of both categories.
        n_b: number of rationales of category b in these strata.
        n_strata: number of strata (sport, respondent, prompt) with rationales of both categories.
        n_images: number of images of these rationales.
        reason: why the difference is undefined; None if it is defined.
    """

    outcome: Outcome
    statistic: Statistic
    respondent: str | None
    kind: Kind
    a: str
    b: str
    value_a: float | None = None
    value_b: float | None = None
    difference: float | None = None
    ci95: Interval | None = None
    n_a: int = 0
    n_b: int = 0
    n_strata: int = 0
    n_images: int = 0
    reason: str | None = None


class ReasoningReport(Record):
    """The full analysis of rationales.

    Attributes:
        categories: the categories, in display order.
        offsets: offsets of the categories by kind of reference texts; the centered statistic subtracts the first one.
        groups: results by sport, respondent and prompt.
        panels: panels of Figure 7 (Spot the Ball); a panel without rationales is missing.
        left_out: the effect of omitting each template.
        contrasts: contrasts of each respondent, then of all models if there are several.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    signature: str
    provenance: ReasoningSignature
    warnings: tuple[str, ...] = ()
    categories: tuple[str, ...]
    texts: TextCounts
    offsets: tuple[Offset, ...]
    groups: tuple[ReasoningGroup, ...]
    panels: tuple[Panel, ...]
    left_out: tuple[LeftOut, ...]
    contrasts: tuple[CategoryContrast, ...]


def read_reasoning(path: Path) -> ReasoningReport:
    """Read a report that `spotball reasoning --format json` wrote.

    Raises:
        InputError: if the file is not such a report.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise InputError([unreadable_text(str(path), error)]) from error
    return record_of_json(ReasoningReport, text, str(path), fix="Give the output of `spotball reasoning --format json`")
