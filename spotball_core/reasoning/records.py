"""What the analysis of rationales gives: the contract of `spotball reasoning --format json`."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

from pydantic import ValidationError

from spotball_core.errors import InputError, Problem
from spotball_core.schema.record import Record
from spotball_core.schema.report import Interval, MetricValue
from spotball_core.schema.response import Kind
from spotball_core.service.json_file import parse_json

SCHEMA_VERSION: Final = 1

Corpus = Literal["neutral", "rationales"]
"""Texts that an offset is the mean similarity of: the templates' neutral sentences, or the rationales themselves."""

Statistic = Literal["published", "centered"]
"""As published: the larger mean cosine wins. Centered: less each category's offset."""

Outcome = Literal["accuracy", "euclidean_error", "distance_to_people"]


class TemplateSet(Record):
    """The templates compared with.

    Attributes:
        digest: SHA-256 of all their texts.
        sizes: how many sentences each category has.
        neutral: how many neutral sentences there are.
    """

    name: str
    version: str
    digest: str
    sizes: dict[str, int]
    neutral: int


class ReasoningSignature(Record):
    """Where the numbers come from, in full. `str()` of it is the short form for a table's foot.

    Attributes:
        version: of spotball-core.
        data: SHA-256 over the scenes and all responses with their words, whatever files they came in.
        embedder: what made the embeddings.
        model: which of its models.
        dimensions: numbers in an embedding.
        centered_on: the texts whose mean similarity is the offset that the centered statistic takes off.
        bootstrap: how many resamples of the images.
        labelings: how many random labelings of the templates.
        seed: of all that is drawn.
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
    """The texts: how many, and how many of a kind that the measure was not made for. None but empty ones is left out.

    Attributes:
        n_responses: responses to images that are no controls.
        n_controls: responses to controls, which are left out.
        n_empty: responses without a text, or with blanks alone.
        n_without_direction: texts whose embedding is zero or not finite; they have no category.
        n_unique: different texts among the others.
        n_duplicates: rationales whose text was there before.
        n_truncated: rationales that the embedder read only the beginning of; None if it does not tell.
        n_without_letters: rationales without a letter, such as emoji alone.
        n_seem_not_english: rationales that seem to be in another language.
        longest: words of the longest.
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
    """How close the sets are to texts whatever these speak of.

    Attributes:
        texts: which.
        n_texts: how many; groups of rationales count alike, whatever their sizes.
        similarity: their mean cosine with each category's sentences.
        spread: largest less smallest: the head start of one category over another.
    """

    texts: Corpus
    n_texts: int
    similarity: dict[str, float]
    spread: float


class Margins(Record):
    """How much closer the closest category is than the second: the distribution over rationales.

    Attributes:
        mean: with its interval.
        p05: quantiles, as shares: 0.05, 0.25, 0.5, 0.75 and 0.95.
    """

    mean: MetricValue
    p05: float
    p25: float
    p50: float
    p75: float
    p95: float


class Relabeling(Record):
    """A statistic under the templates' labels and under random ones.

    Attributes:
        observed: under the templates' own.
        expected: mean under random assignments to sets of the same sizes.
        p: (1 + assignments that give as much or more) / (1 + assignments).
    """

    observed: float
    expected: float
    p: float


class Alignment(Record):
    """The categories of a group's rationales, by one statistic.

    Attributes:
        shares: of the rationales, each category's; with ties they sum to 1.
        n_ties: rationales exactly as close to two categories.
        margin: how clear the categories are.
        margin_test: whether the mean margin is larger than random labels give.
        share_test: whether the shares are further from equal ones than random labels give.
    """

    shares: dict[str, MetricValue]
    n_ties: int
    margin: Margins
    margin_test: Relabeling
    share_test: Relabeling


class Agreement(Record):
    """The published statistic beside the keyword rule.

    Attributes:
        n: rationales that both put into a category.
        covered: share of the rationales that the rule puts into one.
        share: of those n, how many into the same.
        kappa: Cohen's; None where chance alone agrees fully, or n is 0.
        shares: of the rationales that the rule puts into a category, each category's.
    """

    n: int
    covered: float
    share: float | None
    kappa: float | None
    shares: dict[str, float]


class ReasoningGroup(Record):
    """The rationales of one group; a part of its name is None where it is pooled over.

    Attributes:
        n_rationales: with a category or tied; all numbers are of these.
        n_empty: responses without one.
        changed: share of the rationales whose category is another when the offset is taken off.
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
    """One panel of Figure 7."""

    name: Literal["people by sport", "models by sport", "models by prompt"]
    groups: tuple[ReasoningGroup, ...]


class LeftOut(Record):
    """What leaving one template out changes.

    Attributes:
        published: share of all rationales whose category stays; None for a category's only template.
        centered: the same, centered.
    """

    category: str
    template: str
    published: float | None
    centered: float | None


class CategoryContrast(Record):
    """Does a category go with an outcome? Within sport, respondent and prompt.

    Attributes:
        outcome: `accuracy`, a share; `euclidean_error` and `distance_to_people`, pixels.
        respondent: whose rationales; None for all of the kind.
        a: the category.
        b: the other one; "others" where there are more than two.
        value_a: mean of the first, weighted over strata; None with a reason.
        value_b: of the second.
        difference: a - b.
        ci95: its bootstrap interval over images.
        n_a: rationales of the first in strata that have both.
        n_b: of the second.
        n_strata: strata (sport, respondent, prompt) that have both.
        n_images: images that these rationales are for.
        reason: why there is no difference.
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
    """Everything there is to say about what rationales speak of.

    Attributes:
        categories: in the order they are shown.
        offsets: the first is what the centered statistic takes off.
        groups: by sport, respondent and prompt.
        panels: of Figure 7; a panel without rationales is not there.
        left_out: one for each template.
        contrasts: of each respondent, then of all models where there are several.
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
    """A report that was written as JSON.

    Raises:
        InputError: for a file that is none.
    """
    try:
        text = path.read_bytes()
        parse_json(text)
        return ReasoningReport.model_validate_json(text)
    except OSError as error:
        raise InputError([Problem(str(path), None, "file", str(error), "a file that can be read")]) from error
    except ValueError as error:
        where, actual = "file", str(error)
        if isinstance(error, ValidationError):
            first = error.errors()[0]
            where, actual = ".".join(map(str, first["loc"])) or "file", first["msg"]
        expected = "what `spotball reasoning --format json` writes"
        raise InputError([Problem(str(path), None, where, actual, expected)]) from error
