"""Test the whole analysis on a few synthetic rationales with hand-computed results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from spotball_core.errors import OptionError
from spotball_core.reasoning.analysis import analyze
from spotball_core.reasoning.rationales import Rationales, read_rationales
from spotball_core.reasoning.records import CategoryContrast, ReasoningGroup, ReasoningReport
from spotball_core.reasoning.templates import Templates
from spotball_core.typing import FloatArray
from tests.failures import raises
from tests.reasoning.made import ROWS, SCENES, TWO, TWO_VECTORS, Row, frame, vectors


def report_of(said: Rationales, embedded: FloatArray, templates: Templates = TWO, **options: object) -> ReasoningReport:
    options = {"bootstrap": 50, "labelings": 20, "embedder": "synthetic", "model": "by hand", **options}
    return analyze(said, SCENES, templates, embedded, TWO_VECTORS[: len(templates.texts)], **options)  # type: ignore[arg-type]


def analyzed(rows: Sequence[Row] = ROWS, templates: Templates = TWO, **options: object) -> ReasoningReport:
    said = read_rationales(frame(rows), SCENES)
    return report_of(said, vectors(said.texts), templates, **options)


@pytest.fixture(scope="module")
def report() -> ReasoningReport:
    return analyzed()


def group(report: ReasoningReport, respondent: str, sport: str, prompt: str) -> ReasoningGroup:
    (found,) = (g for g in report.groups if (g.respondent, g.sport, g.prompt) == (respondent, sport, prompt))
    return found


def shares(group: ReasoningGroup) -> list[float | None]:
    return [value.value for value in group.published.shares.values()]


def test_analyze_lists_groups_in_input_order_with_their_category_shares(report: ReasoningReport) -> None:
    assert [(g.sport, g.respondent, g.prompt, g.n_rationales, g.n_empty, g.n_images) for g in report.groups] == [
        ("soccer", "human", "base", 2, 1, 1),
        ("soccer", "gemini", "base", 3, 0, 2),
        ("soccer", "gemini", "cot", 1, 0, 1),
        ("volleyball", "gemini", "cot", 1, 0, 1),
    ]
    assert [shares(g) for g in report.groups] == [[0.5, 0.5], [1 / 3, 2 / 3], [1.0, 0.0], [0.0, 1.0]]
    assert report.categories == ("pose", "gaze")


def test_analyze_counts_texts_and_warns_about_respondents_without_rationales(report: ReasoningReport) -> None:
    texts = report.texts
    assert (texts.n_responses, texts.n_controls, texts.n_empty) == (9, 1, 2)
    assert (texts.n_unique, texts.n_duplicates, texts.n_without_letters, texts.longest) == (4, 3, 1, 4)
    assert (texts.n_without_direction, texts.n_truncated, texts.n_seem_not_english) == (0, None, 0)
    assert report.warnings == ("qwen: none of the 1 responses has a rationale",)
    # The texts are in input order: arms, eyes, look, a control, emoji.
    cut = analyzed(truncated=[True, False, False, True, True]).texts.n_truncated
    assert cut == 4  # The text about arms occurs three times, and the emoji once.


def test_analyze_centers_on_neutral_sentences_or_without_them_on_rationales_with_equal_weight_per_group(
    report: ReasoningReport,
) -> None:
    neutral, pooled = report.offsets
    long = float(np.hypot(1.0, 0.2))  # This is the length of each template embedding.
    assert neutral.texts == "neutral"
    assert neutral.similarity == pytest.approx({"pose": 0.6 / long, "gaze": 0.8 / long})
    assert neutral.spread == pytest.approx(0.2 / long)
    near, far = (value / float(np.hypot(0.9, 0.1)) / long for value in (0.9, 0.1))
    means = [(near + far) / 2, (near + 2 * far) / 3, near, far]
    assert pooled.similarity["pose"] == pytest.approx(np.mean(means))
    assert pooled.n_texts == 7
    assert report.provenance.centered_on == "neutral"
    centered = analyzed(templates=Templates("bare", "1", TWO.categories))
    assert centered.provenance.centered_on == "rationales"
    assert [offset.texts for offset in centered.offsets] == ["rationales"]
    assert all(g.keywords is None for g in centered.groups)


def test_margins_and_keyword_agreement_of_a_group_equal_the_hand_computed_values(report: ReasoningReport) -> None:
    margin = 0.8 / float(np.hypot(0.9, 0.1) * np.hypot(1.0, 0.2))
    found = group(report, "gemini", "soccer", "base")
    assert found.published.margin.mean.value == pytest.approx(margin)
    assert found.published.margin.p05 == pytest.approx(margin)
    shift = 0.2 / float(np.hypot(1.0, 0.2))
    # Centering adds the shift to the margin of the one pose rationale, and subtracts it from those of the two others.
    assert found.centered.margin.mean.value == pytest.approx((margin + shift) / 3 + 2 * (margin - shift) / 3)
    assert found.changed == 0.0
    keywords = found.keywords
    assert keywords is not None
    assert (keywords.n, keywords.covered, keywords.share, keywords.kappa) == (3, 1.0, 1.0, 1.0)
    assert keywords.shares == pytest.approx({"pose": 1 / 3, "gaze": 2 / 3})
    # Rationales without keywords do not enter the keyword agreement.
    silent = group(report, "gemini", "volleyball", "cot").keywords
    assert silent is not None
    assert (silent.n, silent.covered, silent.share, silent.kappa, silent.shares) == (0, 0.0, None, None, {})


def test_panels_pool_rationales_by_kind_sport_and_prompt(report: ReasoningReport) -> None:
    found = {panel.name: panel.groups for panel in report.panels}
    assert list(found) == ["people by sport", "models by sport", "models by prompt"]
    assert [(g.sport, g.n_rationales, *shares(g)) for g in found["models by sport"]] == [
        ("soccer", 4, 0.5, 0.5),
        ("volleyball", 1, 0.0, 1.0),
    ]
    assert [(g.prompt, g.n_rationales) for g in found["models by prompt"]] == [("base", 3), ("cot", 2)]
    assert all(g.respondent is None for groups in found.values() for g in groups)
    assert [panel.name for panel in analyzed(ROWS[:3]).panels] == ["people by sport"]


def contrast(report: ReasoningReport, *key: str) -> CategoryContrast:
    """Return the contrast for this outcome and respondent that was computed with the published statistic."""
    (found,) = (c for c in report.contrasts if (c.outcome, c.respondent, c.statistic) == (*key, "published"))
    return found


def test_contrasts_of_accuracy_and_distances_equal_the_hand_computed_values(report: ReasoningReport) -> None:
    # With the prompt base, gemini has one pose rationale, whose answer is correct, and two gaze rationales.
    # Of these, one has a wrong answer, and one has an unparsed answer, which counts as wrong.
    accuracy = contrast(report, "accuracy", "gemini")
    assert (accuracy.value_a, accuracy.value_b, accuracy.difference) == (1.0, 0.0, 1.0)
    assert (accuracy.n_a, accuracy.n_b, accuracy.n_strata, accuracy.n_images) == (1, 2, 1, 2)
    # D7 is two cells from the ball; the unparsed answer has no distance.
    error = contrast(report, "euclidean_error", "gemini")
    assert (error.value_a, error.value_b, error.n_b) == (0.0, 128.0, 1)
    # People named D5 and D6: the mean distance from them is 32 pixels for D5 and 96 pixels for D7.
    apart = contrast(report, "distance_to_people", "gemini")
    assert (apart.value_a, apart.value_b, apart.difference) == (32.0, 96.0, -64.0)
    people = contrast(report, "accuracy", "human")
    assert (people.value_a, people.value_b) == (1.0, 0.0)
    assert not [c for c in report.contrasts if c.outcome == "distance_to_people" and c.kind == "human"]


def test_contrast_without_a_value_gives_a_reason() -> None:
    volleyball = [row for row in ROWS if row[0] == "volleyball"]
    reasons = {c.outcome: c.reason for c in analyzed(volleyball).contrasts}
    assert reasons == {
        "accuracy": "the scenes do not contain the ball's position",
        "euclidean_error": "no rationale with a guessed cell belongs to a scene with a known ball position",
        "distance_to_people": "no rationale with a guessed cell belongs to an image that people answered",
    }
    (first, *_) = analyzed([row for row in ROWS if row[4] == "cot"]).contrasts
    assert first.difference is None
    reason = "no combination of sport and prompt has rationales of both pose and gaze with a known outcome"
    assert first.reason == reason


def test_analyze_with_several_models_adds_a_pooled_contrast() -> None:
    again = [(*row[:2], "other", *row[3:]) for row in ROWS if row[2] == "gemini"]
    found = [(c.respondent, c.outcome) for c in analyzed([*ROWS, *again]).contrasts if c.statistic == "published"]
    assert [name for name, outcome in found if outcome == "accuracy"] == ["human", "gemini", "other", None]


def test_analyze_with_three_categories_contrasts_each_category_with_all_others() -> None:
    found = analyzed(templates=Templates("three", "1", {"pose": ("p", "q"), "gaze": ("g", "h"), "net": ("n",)}))
    assert found.categories == ("pose", "gaze", "net")
    assert {(c.a, c.b) for c in found.contrasts} == {(category, "others") for category in ("pose", "gaze", "net")}
    assert [left.published for left in found.left_out][-1] is None


def test_report_has_a_leave_one_out_result_per_template_and_a_signature_with_data_and_options(
    report: ReasoningReport,
) -> None:
    assert [(left.category, left.template) for left in report.left_out] == [
        (category, template) for category, templates in TWO.categories.items() for template in templates
    ]
    assert all(left.published == 1.0 for left in report.left_out)
    short, data = report.signature, report.provenance.data[:8]
    assert short.startswith("spotball-reasoning|v:")
    templates = f"templates:two@1+{TWO.digest[:8]}"
    assert f"|data:{data}|embedder:synthetic/by hand|{templates}|centered:neutral|boot:50|" in short
    assert short.endswith("|labelings:20|seed:0")
    assert ReasoningReport.model_validate_json(report.model_dump_json()) == report


def test_analyze_excludes_and_counts_texts_with_zero_embeddings_and_raises_an_error_if_all_are_zero() -> None:
    said = read_rationales(frame(), SCENES)
    embedded: FloatArray = vectors(said.texts)
    embedded[0] = 0.0
    found = report_of(said, embedded, bootstrap=0)
    assert found.texts.n_without_direction == 3
    assert sum(g.n_rationales for g in found.groups) == 4
    assert all(value.ci95 is None for g in found.groups for value in g.published.shares.values())
    with raises(OptionError, "unusable-model"):
        report_of(said, embedded * 0)


def test_analyze_with_mismatched_embeddings_or_scenes_raises_option_error() -> None:
    said = read_rationales(frame(), SCENES)
    embedded = vectors(said.texts)
    with raises(OptionError, "wrong-shape"):
        report_of(said, embedded[1:])
    with raises(OptionError, "wrong-shape"):
        analyze(said, SCENES, TWO, embedded, TWO_VECTORS[1:], embedder="x", model="y")
    with raises(OptionError, "unknown-image"):
        analyze(said, SCENES[1:], TWO, embedded, TWO_VECTORS, embedder="x", model="y")


@settings(max_examples=10, deadline=None)
@given(st.permutations(range(len(ROWS))), st.floats(0.1, 10))
def test_analyze_result_does_not_depend_on_row_order_or_embedding_length(
    report: ReasoningReport, order: list[int], length: float
) -> None:
    said = read_rationales(frame([ROWS[place] for place in order]), SCENES)
    turned = report_of(said, vectors(said.texts) * length)
    assert turned.signature == report.signature
    assert [shares(g) for g in turned.groups] == [shares(g) for g in report.groups]
    assert [g.published.shares["pose"].ci95 for g in turned.groups] == [
        pytest.approx(g.published.shares["pose"].ci95) for g in report.groups
    ]
    assert [c.difference for c in turned.contrasts] == pytest.approx([c.difference for c in report.contrasts])


def test_analyze_counts_a_repeated_text_once_per_response() -> None:
    said = read_rationales(frame(), SCENES)
    apart = Rationales(
        said.rows.with_columns(text=pl.when(pl.col("text").is_not_null()).then(pl.int_range(pl.len(), dtype=pl.Int64))),
        tuple(said.texts[place or 0] for place in said.rows["text"]),
    )
    one, other = (report_of(each, vectors(each.texts), bootstrap=20) for each in (said, apart))
    assert other.texts.n_duplicates == 0
    assert other.groups == one.groups
    assert other.contrasts == one.contrasts
