"""Test the findings of the report: differences, ranks, means over sports, and the sentences that state them."""

from __future__ import annotations

import numpy as np
import pytest

from spotball_core.comparison.compare import compare
from spotball_core.metrics.registry import METRICS
from spotball_core.plots.dots import DotChart
from spotball_core.report.build import all_sections, page_of
from spotball_core.report.sections.findings import ALL_SPORTS, findings
from spotball_core.report.view import PageView
from tests.report.conftest import Written
from tests.report.study import responses, scenes, scored, view_of


@pytest.fixture(scope="module")
def made() -> PageView:
    return view_of(bootstrap=200)


@pytest.mark.slow
def test_differences_in_the_report_equal_those_of_compare(made: PageView) -> None:
    differences = [one for one in made.page.differences if one.sport]
    assert len(differences) == 12  # These are three groups in two sports, with accuracy and error.
    for one in differences:
        contrasts = compare(scored(), f"{one.respondent}/{one.prompt}", "human").contrasts
        (other,) = [contrast.metrics[one.metric] for contrast in contrasts if contrast.sport == one.sport]
        assert one.n_images == other.n_images
        assert (one.value, one.reference) == (pytest.approx(other.a), pytest.approx(other.b))
        assert (one.difference, one.p) == (pytest.approx(other.difference), pytest.approx(other.p))


def test_holm_correction_covers_all_differences_of_a_metric(made: PageView) -> None:
    for key in ("accuracy", "euclidean_error"):
        tested = [one for one in made.page.differences if one.metric == key and one.p is not None]
        assert len(tested) == 6
        least = min(tested, key=lambda one: one.p or 0.0)
        assert least.p_holm == pytest.approx(min(1.0, 6 * (least.p or 0.0)))
        assert all((one.p_holm or 0.0) >= (one.p or 0.0) for one in tested)


def test_overall_values_of_a_respondent_are_means_that_weight_sports_equally(made: PageView) -> None:
    by_name = {(one.respondent, one.prompt): one for one in made.page.overall}
    assert set(by_name) == {("human", "base"), ("alpha", "base"), ("alpha", "cot"), ("beta", "base")}
    for name, one in by_name.items():
        parts = [group for group in made.scored if (group.respondent, group.prompt) == name]
        assert len(parts) == 2
        assert one.n_responses == sum(part.n_responses for part in parts)
        for key, value in one.metrics.items():
            assert value.value == pytest.approx(np.mean([part.metrics[key].value or 0.0 for part in parts]))
            assert value.ci95 is not None
            assert value.ci95[0] <= (value.value or 0.0) <= value.ci95[1]
    assert {one.sport for one in made.page.differences} == {"soccer", "volleyball", None}


@pytest.mark.slow
def test_interval_of_a_mean_over_sports_has_the_width_expected_for_independent_sports() -> None:
    # If the two sports are independent, the standard error of their mean is half the root of the sum of the squared
    # standard errors.
    found = view_of(bootstrap=4000)
    for one in found.page.overall:
        parts = [g for g in found.scored if (g.respondent, g.prompt) == (one.respondent, one.prompt)]
        ends = [part.metrics["euclidean_error"].ci95 for part in parts]
        widths = [end[1] - end[0] for end in ends if end]
        whole = one.metrics["euclidean_error"].ci95
        assert whole is not None
        assert whole[1] - whole[0] == pytest.approx(np.hypot(*widths) / 2, rel=0.35)


def test_report_of_one_sport_has_no_means_over_sports() -> None:
    made = view_of(responses().filter(sport="soccer"), bootstrap=50)
    assert made.page.overall == ()
    assert {one.sport for one in made.page.standings} == {"soccer"}
    assert ALL_SPORTS not in [rows.title for rows in findings(made).tables[0].groups]


def test_ranks_follow_the_order_of_the_values_and_lie_within_their_95_percent_intervals(made: PageView) -> None:
    for sport in (*made.sports, None):
        scores = made.page.overall if sport is None else made.of_sport(sport)
        for key in ("accuracy", "euclidean_error", "wasserstein_matched"):
            ranked = [one for one in made.page.standings if (one.sport, one.metric) == (sport, key)]
            values = {(s.respondent, s.prompt): s.metrics[key].value for s in scores if key in s.metrics}
            known = sorted((v for v in values.values() if v is not None), reverse=METRICS[key].direction == "higher")
            assert len(ranked) == len(known)
            for one in ranked:
                value = values[one.respondent, one.prompt]
                assert value is not None
                assert one.rank == 1 + known.index(value)
                assert one.rank_ci95 is not None
                assert one.rank_ci95[0] <= one.rank <= one.rank_ci95[1] <= one.n_ranked == len(known)


def test_findings_state_the_numbers_of_the_report(made: PageView) -> None:
    people = next(one for one in made.page.overall if one.respondent == "human").metrics["accuracy"].value
    sentences = findings(made).details
    assert len(sentences) == 6
    assert sentences[0].startswith(
        f"People find the ball in {100 * (people or 0):.1f}% of guesses, averaged over 2 sports, "
    )
    soccer = sentences[2]
    best = max((g.metrics["accuracy"].value or 0.0, made.name(g)) for g in made.compared if g.sport == "soccer")
    assert f"{best[1]}, the best of 3 others, in {100 * best[0]:.1f}%" in soccer
    differences = [one for one in made.page.differences if (one.sport, one.metric) == ("soccer", "accuracy")]
    (difference,) = [one for one in differences if made.name(one) == best[1]]
    assert difference.difference < 0
    assert f"({-100 * difference.difference:.1f} points less [" in soccer
    assert ", which may be due to chance)" in soccer  # Four images are too few for a significant difference.
    uniform = made.by_sport["soccer"].uniform.accuracy or 0.0
    assert soccer.endswith(f"uniform guessing finds it in {100 * uniform:.1f}%.")
    assert all(sentence.endswith(".") and "None" not in sentence and "nan" not in sentence for sentence in sentences)


def test_findings_without_a_reference_state_accuracies_and_have_no_table_of_differences() -> None:
    made = view_of(reference=None, bootstrap=200)
    sentences = findings(made).details
    assert made.page.differences == ()
    assert len(sentences) == 3
    assert all(" finds the ball in " in sentence and "People find" not in sentence for sentence in sentences)
    assert [table.name for table in findings(made).tables] == ["headline"]


@pytest.mark.parametrize("reference", ["human", None])
def test_findings_of_a_single_respondent_are_one_sentence_with_its_accuracy(reference: str | None) -> None:
    made = view_of(responses().filter(sport="soccer", respondent="human"), reference=reference, bootstrap=50)
    section = findings(made)
    (sentence,) = section.details
    accuracy = f"{100 * (made.scored[0].metrics['accuracy'].value or 0.0):.1f}%"
    assert sentence.startswith(f"People find the ball in {accuracy} [")
    assert accuracy in section.points[0]
    assert page_of(made).title == f"People find the ball in {accuracy} of guesses"


def test_findings_state_the_closest_respondent_its_closeness_and_how_many_others_may_be_closer(made: PageView) -> None:
    closest = [sentence for sentence in findings(made).details if "closest to those of people" in sentence]
    # Alpha has two prompts and counts twice, so people are compared with three groups: two of alpha and one of beta.
    assert any(sentence.endswith(("1 other may be closer.", "2 others may be closer.")) for sentence in closest)
    for sport, ceiling in made.ceilings.items():
        of_sport = [score for score in made.compared if score.sport == sport]
        best = min(of_sport, key=lambda score: score.metrics["wasserstein_matched"].value or 0.0)
        (sentence,) = [
            s for s in findings(made).details if s.startswith(f"In {sport}, the guesses of {made.name(best)} ")
        ]
        assert f"The closeness is {ceiling.score[best.name].value:.2f} [" in sentence
        assert "(0: uniform guessing, 1: people)" in sentence


def test_reference_is_called_people_only_if_it_is_the_only_human_group(made: PageView) -> None:
    assert made.reference_words == "people"
    other = made.report.groups[0].model_copy(update={"respondent": "experts", "kind": "human"})
    groups = (*made.report.groups, other)
    assert PageView(made.report.model_copy(update={"groups": groups})).reference_words == "human"


def test_findings_of_one_image_have_no_interval() -> None:
    # People are correct in 10 of 12 guesses. The variation between images cannot be estimated from one image.
    rows = responses().filter(sport="soccer", image="1", respondent="human")
    made = view_of(rows, [one for one in scenes() if one.key == ("soccer", "1")], bootstrap=50)
    assert findings(made).details == (
        "People find the ball in 83.3% of soccer guesses; uniform guessing finds it in 1.7%.",
    )


def test_headline_table_has_scores_before_counts(written: Written) -> None:
    head = PageView(written.report)
    (table, differences) = findings(head).tables
    assert table.heads[2:4] == ("Accuracy (%)", "Minus people")
    assert table.heads[-3:] == ("Images", "Responses", "Unparsed")
    assert [rows.title for rows in table.groups] == ["soccer", "volleyball", ALL_SPORTS]
    assert all(len(row) == len(table.heads) for rows in table.groups for row in rows.rows)
    of_differences = [row for rows in differences.groups for row in rows.rows]
    assert len(of_differences) == len(head.page.differences)
    assert not any(cell.text.startswith("=") for row in of_differences for cell in row)


def test_first_screen_compares_people_with_the_best_respondent_in_title_sentences_and_chart(made: PageView) -> None:
    values = {(one.respondent, one.prompt): one.metrics["accuracy"].value or 0.0 for one in made.page.overall}
    people, best = values["human", "base"], max(value for name, value in values.items() if name[0] != "human")
    assert made.best is not None
    assert made.best.metrics["accuracy"].value == best
    section = findings(made)
    assert 1 <= len(section.points) <= 3
    assert f"{100 * people:.1f}%" in section.points[0]
    assert f"{100 * best:.1f}%, {100 * (people - best):.1f} points less [" in section.points[0]
    (picture,) = section.pictures
    assert isinstance(picture.chart, DotChart)
    (panel,) = picture.chart.panels
    assert [dot.respondent for dot in panel.dots][:1] == ["people"]
    assert [dot.value for dot in panel.dots][1:] == sorted((v for v in values.values() if v != people), reverse=True)
    reference, uniform = panel.rules
    assert reference.value == people
    chances = [made.by_sport[sport].uniform.accuracy or 0.0 for sport in made.sports]
    assert uniform.value == pytest.approx(np.mean(chances))


@pytest.mark.parametrize(
    ("own", "other", "expected"),
    [
        (0.4, 0.1, "People find the ball 4 times as often as the best model"),
        (0.2, 0.1, "People find the ball twice as often as the best model"),
        (0.1, 0.4, "The best model finds the ball 4 times as often as people"),
        (0.1, 0.0, "People find the ball more often than the best model"),
    ],
)
def test_title_states_who_finds_the_ball_more_often_only_if_the_difference_is_clear(
    made: PageView, own: float, other: float, expected: str
) -> None:
    def with_accuracy(value: float, p: float) -> PageView:
        overall = tuple(
            one.model_copy(
                update={"metrics": {**one.metrics, "accuracy": one.metrics["accuracy"].model_copy(update={"value": v})}}
            )
            for one in made.page.overall
            for v in (own if one.respondent == "human" else value,)
        )
        differences = tuple(one.model_copy(update={"p_holm": p}) for one in made.page.differences)
        page = made.page.model_copy(update={"overall": overall, "differences": differences})
        return PageView(made.report.model_copy(update={"page": page}))

    assert page_of(with_accuracy(other, 0.01)).title == expected
    assert "no clear difference" in page_of(with_accuracy(other, 0.5)).title


@pytest.mark.slow
def test_opening_shows_the_images_with_the_most_similar_a_typical_and_the_most_different_guesses(
    written: Written,
) -> None:
    made = PageView(written.report)
    sections = {section.name: section for section in all_sections(made, [written.study])}
    opening = sections["summary"].opening
    assert opening is not None
    assert made.best is not None
    assert opening.columns == ("people", made.name(made.best))
    assert made.page.gallery is not None
    # The image without a file, soccer 3, is not chosen.
    distances = {
        f"{image.scene.sport}-{image.scene.image}": case.distance or 0.0
        for image in made.page.gallery.images
        for case in image.cases
        if (case.respondent, case.prompt) == (made.best.respondent, made.best.prompt)
        and (image.scene.sport, image.scene.image) != ("soccer", "3")
    }
    ordered = sorted(distances, key=lambda name: distances[name])
    assert [row.image.name for row in opening.rows] == [ordered[0], ordered[2], ordered[4]]
    assert all(len(row.maps) == 2 for row in opening.rows)
