"""Test comparisons of two respondents: images, participants, names, sports and sentences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from spotball_core.comparison.compare import compare
from spotball_core.comparison.matched import matched
from spotball_core.comparison.record import Comparison, Difference
from spotball_core.errors import OptionError
from spotball_core.metrics.registry import METRICS
from spotball_core.schema import ScorePolicy
from spotball_core.scoring import sides
from spotball_core.scoring.estimates import Estimator
from spotball_core.scoring.groups import Scoring
from spotball_core.scoring.score import load_counts
from spotball_core.stats.bootstrap import percentile_interval, resample_weights
from spotball_core.stats.power import smallest_difference
from spotball_core.typing import FloatArray
from tests.failures import raises
from tests.stats.build import counts_of, drawn, scenes, scoring_of, varied_scenes


def crowd(rng: np.random.Generator, n_images: int, n_people: int = 8, clicks: int = 3) -> FloatArray:
    """Simulate people who share one distribution per image; the shape is (n_people, n_images, n_cells)."""
    shares = rng.dirichlet(np.full(60, 0.3), n_images)
    return rng.multinomial(clicks, shares, size=(n_people, n_images)).astype(float)


@pytest.fixture(scope="module")
def three() -> Scoring:
    """Return people, who are the reference, and two model prompts with as many responses as all people together."""
    rng, known = np.random.default_rng(0), varied_scenes(20)
    answers = {"human/base": crowd(rng, 20), "m/base": drawn(rng, 20, 24), "m/cot": drawn(rng, 20, 24)}
    return scoring_of(known, answers, reference="human")


@pytest.mark.slow
def test_compare_values_equal_those_of_the_score_report(three: Scoring) -> None:
    report, found = three.report(), compare(three, "m/base", "m/cot", permutations=99)
    (contrast,) = found.contrasts
    assert (contrast.sport, contrast.n_images) == ("soccer", 20)
    for key, one in contrast.metrics.items():
        a, b = (report.group("m", prompt=prompt).metrics[key].value for prompt in ("base", "cot"))
        assert a is not None
        assert b is not None
        assert (one.a, one.b) == (pytest.approx(a), pytest.approx(b))
        assert one.difference == (None if METRICS[key].by_size else pytest.approx(a - b))
        assert one.n_images == (None if METRICS[key].by_size else 20)
    assert "with only 99 permutations" in found.warnings[-1]


@pytest.mark.slow
def test_compare_with_a_and_b_swapped_flips_signs_and_keeps_p_values(three: Scoring) -> None:
    for names in (("m/base", "m/cot"), ("human", "m/cot")):
        one = compare(three, *names, permutations=499).contrasts[0]
        other = compare(three, *reversed(names), permutations=499).contrasts[0]
        for key, first in one.metrics.items():
            second = other.metrics[key]
            assert (first.a, first.b, first.p, first.p_holm) == (second.b, second.a, second.p, second.p_holm)
            assert first.verdict == second.verdict
            if first.difference is not None:
                assert second.difference == -first.difference
                assert second.ci95 == pytest.approx((-first.ci95[1], -first.ci95[0]))
                flipped = {"a": "b", "b": "a"}
                who, word = str(first.direction).split(" ", maxsplit=1)
                assert second.direction == f"{flipped[who]} {word}"
            if first.effect_size is not None:
                assert second.effect_size == pytest.approx(-first.effect_size)


@pytest.mark.slow
def test_compare_with_another_seed_changes_only_p_values_and_intervals(three: Scoring) -> None:
    again = Scoring(three.counts, list(three.arrays.scenes), three.policy)
    one = compare(three, "human", "m/cot", permutations=200)
    assert compare(again, "human", "m/cot", permutations=200) == one
    policy = three.policy.model_copy(update={"seed": 1})
    other = compare(Scoring(three.counts, three.arrays.scenes, policy), "human", "m/cot", permutations=200)
    first, second = (found.contrasts[0].metrics["euclidean_error"] for found in (one, other))
    assert first.difference == second.difference
    assert first.ci95 != second.ci95
    assert first.p != second.p


@pytest.mark.slow
def test_compare_euclidean_error_agrees_with_the_paired_t_test_of_scipy(three: Scoring) -> None:
    groups = {group.prompt: group for group in three.groups if group.respondent == "m"}
    values = []
    for prompt in ("base", "cot"):
        estimator = three.estimator(groups[prompt])
        answers = estimator.answers
        values.append(estimator.statistic(METRICS["euclidean_error"], answers.mass, answers.unparsed).values)
    t = scipy_stats.ttest_rel(*values)
    compared = compare(three, "m/base", "m/cot", permutations=20_000)
    assert not compared.warnings
    found = compared.contrasts[0].metrics["euclidean_error"]
    assert found.p == pytest.approx(t.pvalue, abs=0.03)
    assert found.effect_size == pytest.approx(t.statistic / np.sqrt(20))


def test_compare_of_few_images_uses_all_permutations() -> None:
    rng = np.random.default_rng(1)
    scoring = scoring_of(scenes(3), {"a/base": drawn(rng, 3, 9), "b/base": drawn(rng, 3, 9)})
    found = compare(scoring, "a", "b")
    (contrast,) = found.contrasts
    assert contrast.exact
    assert contrast.permutations == 8
    assert all((one.p or 0.0) * 8 == round((one.p or 0.0) * 8) for one in contrast.metrics.values())
    assert "no p value corrected for" in found.warnings[-1]
    spoken = contrast.metrics["expected_error"].sentence
    assert "3 images are too few for a test: no p value can be below 0.25" in spoken


def test_compare_warns_if_no_corrected_p_value_can_be_significant() -> None:
    """Check the smallest p value corrected for 13 tests: 0.051 (2 of 512 swaps) for 9 images, and half of it for 10."""
    rng = np.random.default_rng(18)
    for n, warned in ((9, True), (10, False)):
        scoring = scoring_of(scenes(n), {"a/base": drawn(rng, n, 9), "b/base": drawn(rng, n, 9)})
        told = "soccer: with only 9 images, no p value corrected for 13 tests can be below 0.051"
        assert compare(scoring, "a", "b").warnings == ((told,) if warned else ())


def test_compare_without_bootstrap_or_reference_has_no_intervals_or_wasserstein_distance() -> None:
    rng = np.random.default_rng(2)
    answers = {"a/base": drawn(rng, 12, 9), "b/base": drawn(rng, 12, 9)}
    (contrast,) = compare(scoring_of(scenes(12), answers, bootstrap=0), "a", "b").contrasts
    assert {one.ci95 for one in contrast.metrics.values()} == {None}
    assert "interval" not in "".join(one.sentence for one in contrast.metrics.values())
    assert contrast.metrics["wasserstein"].reason == "no reference"


def test_compare_uses_only_images_answered_by_both_respondents() -> None:
    rng = np.random.default_rng(3)
    a, b = drawn(rng, 10, 12), drawn(rng, 10, 12)
    a[:2], b[9] = 0.0, 0.0
    found = compare(scoring_of(scenes(10), {"a/base": a, "b/base": b}), "a", "b")
    assert found.contrasts[0].n_images == 7
    reason = "are not compared, because they are not scored for both respondents"
    assert found.warnings[0] == f"1 of the 8 soccer images that a answered {reason}"
    assert found.warnings[1].startswith("2 of the 9 soccer images that b answered are not compared, because")


def test_compare_uses_an_image_without_parsed_responses_only_for_accuracy() -> None:
    rng = np.random.default_rng(4)
    a, b, blanks = drawn(rng, 10, 12), drawn(rng, 10, 12), np.zeros(10)
    a[0], blanks[0] = 0.0, 12.0
    (contrast,) = compare(scoring_of(scenes(10), {"a/base": a, "b/base": b}, {"a/base": blanks}), "a", "b").contrasts
    assert contrast.metrics["accuracy"].n_images == 10
    for key in ("euclidean_error", "normalized_entropy_matched", "overlap_rate"):
        assert contrast.metrics[key].n_images == 9
        assert contrast.metrics[key].reason == "1 image is excluded, because one or both respondents have no value"


def test_compare_has_a_contrast_per_sport_and_one_for_all_sports() -> None:
    rng = np.random.default_rng(5)
    known = [*varied_scenes(8, "soccer"), *varied_scenes(4, "golf", seed=1), *varied_scenes(3, "chess", seed=2)]
    a, b = drawn(rng, 15, 12), drawn(rng, 15, 12)
    b[12:] = 0.0
    found = compare(scoring_of(known, {"a/base": a, "b/base": b}), "a", "b")
    assert [(one.sport, one.n_images) for one in found.contrasts] == [("soccer", 8), ("golf", 4), (None, 12)]
    errors = [one.metrics["euclidean_error"] for one in found.contrasts]
    assert errors[2].a == pytest.approx((8 * (errors[0].a or 0) + 4 * (errors[1].a or 0)) / 12)
    assert any(line.startswith("3 of the 3 chess images that a answered are not compared") for line in found.warnings)
    pooled = compare(scoring_of(known, {"a/base": a, "b/base": b}, by=("respondent",)), "a", "b")
    assert [one.sport for one in pooled.contrasts] == [None]
    assert pooled.contrasts[0].metrics == found.contrasts[2].metrics


def test_function_only_keeps_the_counts_of_the_named_respondents_and_prompts() -> None:
    rng, known = np.random.default_rng(6), scenes(6)
    short = drawn(rng, 6, 5)
    short[1:] = 0.0
    answers = {"a/base": drawn(rng, 6, 5), "b/base": drawn(rng, 6, 5), "b/cot": drawn(rng, 6, 5), "c/base": short}
    counts = counts_of(known, answers)
    kept = sides.only(counts, ["a", "b/cot"])
    assert set(kept.table.select("respondent", "prompt").unique().rows()) == {("a", "base"), ("b", "cot")}
    assert kept.table["n"].sum() == 60.0
    policy = ScorePolicy.standard(images="shared", bootstrap=0)
    assert compare(Scoring(counts, known, policy), "a", "b/cot").contrasts[0].n_images == 1
    assert compare(Scoring(kept, known, policy), "a", "b/cot").contrasts[0].n_images == 6


@pytest.mark.slow
@pytest.mark.parametrize("names", [("human", "m/cot"), ("m/cot", "human")])
def test_compare_with_the_reference_tests_all_metrics_but_wasserstein_distances(
    three: Scoring, names: tuple[str, str]
) -> None:
    metrics = compare(three, *names, permutations=199).contrasts[0].metrics
    distance = three.report().group("m", prompt="cot").metrics["wasserstein"].value
    for key in ("wasserstein", "wasserstein_1d"):
        one = metrics[key]
        assert (one.difference, one.p, one.verdict) == (None, None, None)
        assert one.reason == "human is the reference"
        assert one.sentence.endswith("no comparison: human is the reference.")
    values = (metrics["wasserstein"].a, metrics["wasserstein"].b)
    assert values == ((None, pytest.approx(distance)) if names[0] == "human" else (pytest.approx(distance), None))
    # Holm's correction counts only the tested metrics.
    tested = [one for one in metrics.values() if one.p is not None]
    assert len(tested) == sum(not metric.by_size for metric in METRICS.values()) - 2
    smallest = min(tested, key=lambda one: one.p or 0.0)
    assert smallest.p_holm == pytest.approx(min(1.0, (smallest.p or 0.0) * len(tested)))


@pytest.mark.slow
def test_metrics_that_depend_on_response_count_are_compared_by_matched_versions() -> None:
    rng, known = np.random.default_rng(8), varied_scenes(40)
    shares = rng.dirichlet(np.full(60, 0.3), 40)
    answers = {f"{name}/base": rng.multinomial(n, shares).astype(float) for name, n in (("a", 100), ("b", 20))}
    scoring = scoring_of(known, answers)
    metrics = compare(scoring, "a", "b", permutations=999).contrasts[0].metrics
    report = scoring.report()
    for key, metric in METRICS.items():
        if "wasserstein" in key:
            continue
        one = metrics[key]
        assert one.a == pytest.approx(report.group("a").metrics[key].value, rel=0.1)
        if metric.by_size:
            assert (one.difference, one.p, one.verdict) == (None, None, None)
            reason = "the metric depends on the number of responses; its matched version is compared instead"
            assert one.reason == reason
        else:
            assert (one.p or 0) > 0.01, key


@pytest.mark.slow
def test_compare_intervals_are_wider_if_participants_are_resampled_in_addition_to_images() -> None:
    """Check with participants who each choose one cell on all images, so that most variance is between participants."""
    rng, known = np.random.default_rng(10), varied_scenes(40)
    people = np.zeros((6, 40, 60))
    for person, cell in enumerate(rng.choice(60, 6, replace=False)):
        people[person, :, cell] = 3.0
    answers = {"human/base": people, "m/base": drawn(rng, 40, 18)}
    two_way = compare(scoring_of(known, answers), "human", "m").contrasts[0]
    pooled = answers | {"human/base": people.sum(axis=0)}
    one_way = compare(scoring_of(known, pooled), "human", "m").contrasts[0]
    assert (two_way.resampled, one_way.resampled) == ("images and participants", "images")

    def width(one: Difference) -> float:
        return one.ci95[1] - one.ci95[0]

    for key in ("euclidean_error", "near_player_rate", "center_ratio", "symmetric_center_bias"):
        assert two_way.metrics[key].difference == pytest.approx(one_way.metrics[key].difference)
        assert two_way.metrics[key].p == one_way.metrics[key].p
        assert width(two_way.metrics[key]) > 1.2 * width(one_way.metrics[key]), key


def test_two_way_resamples_equal_statistics_of_repeated_participants_and_images() -> None:
    rng, known = np.random.default_rng(11), varied_scenes(5)
    people, blanks = crowd(rng, 5, 4), rng.integers(0, 2, (4, 5)).astype(float)
    model = drawn(rng, 5, 12)
    model[4] = 0.0
    unparsed = {"human/base": blanks, "m/base": np.array([0.0, 0, 0, 0, 12])}
    scoring = scoring_of(known, {"human/base": people, "m/base": model}, unparsed, bootstrap=12)
    both = matched(scoring, {name: sides.groups_named(scoring, name) for name in ("human", "m")}, range(5))
    chosen = {
        key: metric for key, metric in METRICS.items() if metric.needs in ((), ("truth",)) and not metric.is_matched
    }
    pairs = {key: both.pair(metric) for key, metric in chosen.items()}
    weights, times = resample_weights(4, 12, seed=5), resample_weights(5, 12, seed=6)
    found = both._two_way(0, weights, times, pairs)
    assert [key for key, pair in pairs.items() if pair.enters.all()] == ["accuracy"]
    for r in range(12):
        who = np.repeat(np.arange(4), weights[r].astype(int))
        for key, pair in pairs.items():
            where = np.repeat(np.arange(5), (times[r] * pair.enters).astype(int))
            written = Estimator(scoring.arrays, where, both.estimators[0].answers, scoring.policy)
            mass, unparsed_then = people[who][:, where].sum(axis=0), blanks[who][:, where].sum(axis=0)
            expected = float(written.statistic(METRICS[key], mass, unparsed_then).total())
            assert found[key][r] == pytest.approx(expected, nan_ok=True), key


@pytest.mark.slow
def test_resampling_participants_does_not_shift_the_intervals_of_matched_metrics() -> None:
    """Check that the interval is centered on the difference although resampled participants have lower entropy."""
    rng, known = np.random.default_rng(12), varied_scenes(60)
    shares = rng.dirichlet(np.full(60, 0.5), 60)
    people = rng.multinomial(1, shares, size=(10, 60)).astype(float)
    answers = {"human/base": people, "m/base": rng.multinomial(10, shares).astype(float)}
    metrics = compare(scoring_of(known, answers, bootstrap=1000), "human", "m").contrasts[0].metrics
    for key in ("image_entropy_matched", "log_score_matched", "brier_score_matched"):
        one = metrics[key]
        low, high = one.ci95
        assert abs((low + high) / 2 - (one.difference or 0)) < 0.2 * (high - low), key


@pytest.mark.slow
def test_two_way_intervals_cover_the_true_difference_for_new_images_and_participants() -> None:
    """Check that intervals from images alone are too narrow if images differ in difficulty and people in skill."""
    rng, known, n, k = np.random.default_rng(17), scenes(30), 30, 12
    expected = [np.mean(1 / (1 + np.exp(0.3 - rng.normal(0, sd, 1_000_000)))) for sd in (np.hypot(0.8, 0.8), 0.8)]
    truth, held = expected[0] - expected[1], np.zeros(2)
    for _ in range(80):
        image, person = rng.normal(-0.3, 0.8, n), rng.normal(0, 0.8, (k, 1))
        people, model = np.zeros((k, n, 60)), np.zeros((n, 60))
        people[..., 22] = rng.binomial(3, 1 / (1 + np.exp(-image - person)))
        model[:, 22] = rng.binomial(36, 1 / (1 + np.exp(-image)))
        people[..., 0], model[:, 0] = 3 - people[..., 22], 36 - model[:, 22]
        scoring = scoring_of(known, {"human/base": people, "m/base": model})
        both = matched(scoring, {name: sides.groups_named(scoring, name) for name in ("human", "m")}, range(n))
        pair = both.pair(METRICS["accuracy"])
        for way, draws in enumerate((both.drawn({"accuracy": pair})["accuracy"], pair.drawn(resample_weights(n, 200)))):
            low, high = percentile_interval(draws[0] - draws[1]) or (0.0, 0.0)
            held[way] += low <= truth <= high
    assert held[0] / 80 > 0.85
    assert held[1] / 80 < 0.8


def test_participants_with_answers_to_both_prompts_are_resampled_together() -> None:
    rng, known = np.random.default_rng(13), varied_scenes(15)
    people = crowd(rng, 15)
    scoring = scoring_of(known, {"human/base": people, "human/cue": people.copy()})
    (contrast,) = compare(scoring, "human/base", "human/cue", permutations=99).contrasts
    assert contrast.resampled == "images and participants"
    for one in contrast.metrics.values():
        if one.difference is not None:
            assert one.ci95 == pytest.approx((0.0, 0.0), abs=1e-12)
            assert (one.direction, one.verdict) == ("equal", "unclear")


def test_compare_of_a_respondent_named_without_a_prompt_combines_all_its_prompts(three: Scoring) -> None:
    found = compare(three, "human", "m", permutations=50)
    assert (found.prompts_a, found.prompts_b) == (("base",), ("base", "cot"))
    assert found.warnings[0] == "m combines the prompts base, cot; to compare one of them, name it, such as m/base"
    pooled = Scoring(three.counts, three.arrays.scenes, three.policy.model_copy(update={"by": ("sport", "respondent")}))
    assert compare(pooled, "human", "m", permutations=50).contrasts == found.contrasts
    assert Comparison.model_validate_json(found.model_dump_json()) == found
    assert found.signature.startswith("spotball|v:")
    assert found.signature.endswith("|boot:200|seed:0|perm:50")


def test_compare_looks_up_a_name_with_a_slash_as_a_respondent_first() -> None:
    rng, known = np.random.default_rng(14), scenes(4)
    a, b, c = (drawn(rng, 4, 5) for _ in range(3))
    scoring = scoring_of(known, {"org/model/base": a, "org/cot": b, "org/model": c})
    found = compare(scoring, "org/model", "org/cot")
    assert found.prompts_a == ("base",)
    assert found.contrasts[0].metrics["accuracy"].a == pytest.approx(a[:, 22].sum() / a.sum())


@pytest.mark.parametrize(
    ("a", "b", "options", "where"),
    [
        ("m/base", "x", {}, "unknown-name"),
        ("m/base", "m/base", {}, "invalid-option"),
        ("m", "m/base", {}, "invalid-option"),
        ("m/base", "m/cot", {"permutations": 0}, "invalid-option:permutations"),
    ],
)
def test_compare_with_unknown_or_equal_names_or_no_permutations_is_an_error(
    three: Scoring, a: str, b: str, options: dict[str, int], where: str
) -> None:
    with raises(OptionError, where):
        compare(three, a, b, **options)


def test_compare_of_merged_respondents_or_without_common_images_is_an_error(three: Scoring) -> None:
    by_prompt = Scoring(three.counts, three.arrays.scenes, ScorePolicy.standard(by=("prompt",)))
    with raises(OptionError, "invalid-option"):
        compare(by_prompt, "m", "human")
    rng = np.random.default_rng(15)
    a, b = drawn(rng, 4, 5), drawn(rng, 4, 5)
    a[:2], b[2:] = 0.0, 0.0
    with raises(OptionError, "no-data"):
        compare(scoring_of(scenes(4), {"a/base": a, "b/base": b}), "a", "b")


@pytest.mark.slow
@pytest.mark.real
def test_compare_of_soccer_participants_and_gemini_matches_the_published_release(real_release: object) -> None:
    """Check that Gemini has lower entropy than people only because it has 20 responses per image, and people 150."""
    from spotball_core.release.convert import import_release

    release = import_release(str(real_release))
    counts, known = load_counts(release.responses, release.scenes, participants=True)
    scoring = Scoring(counts, known, ScorePolicy.standard(reference="human"))
    (contrast,) = compare(scoring, "human", "gemini/cot").contrasts
    assert (contrast.n_images, contrast.resampled) == (50, "images and participants")
    accuracy, entropy = contrast.metrics["accuracy"], contrast.metrics["image_entropy_matched"]
    assert accuracy.difference == pytest.approx(1441 / 7500 - 81 / 1000)
    assert (accuracy.direction, accuracy.verdict) == ("a is better", "clear")
    assert contrast.metrics["center_ratio"].verdict == "clear"
    raw = [scoring.report().group(name).metrics["image_entropy"].value or 0.0 for name in ("human", "gemini")]
    assert raw[0] - raw[1] == pytest.approx(0.106, abs=0.001)
    assert entropy.difference == pytest.approx(0.013, abs=0.002)
    assert entropy.verdict == "unclear"


def noisy_pair(n: int, shift: float, *, seed: int = 0) -> Scoring:
    """Return a scoring of two respondents with 40 answers per image; a is right more often by `shift` on average."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.2, 0.5, n)
    masses = {}
    for name, more in (("a", shift), ("b", 0.0)):
        right = rng.binomial(40, p + more)
        mass = np.zeros((n, 60))
        mass[:, 22], mass[:, 0] = right, 40 - right
        masses[f"{name}/base"] = mass
    return scoring_of(scenes(n), masses)


@pytest.mark.parametrize(
    ("n", "shift", "margin", "conclusion"),
    [
        (60, 0.2, 3.0, "a is better"),
        (60, -0.15, 3.0, "b is better"),
        (60, 0.0, 8.0, "equivalent"),
        (60, 0.0, 0.1, "undecided"),
        # A clear difference that is within the margin does not matter.
        (150, 0.04, 20.0, "equivalent"),
    ],
)
def test_margin_gives_one_of_four_conclusions(n: int, shift: float, margin: float, conclusion: str) -> None:
    found = compare(noisy_pair(n, shift), "a", "b", permutations=999, margins={"accuracy": margin}).contrasts[-1]
    accuracy = found.metrics["accuracy"]
    assert accuracy.conclusion == conclusion
    assert accuracy.margin == pytest.approx(margin / 100)
    assert accuracy.margin_ci is not None
    assert accuracy.ci95 is not None
    # The 90% interval is inside the 95% interval.
    assert accuracy.ci95[0] <= accuracy.margin_ci[0] <= accuracy.margin_ci[1] <= accuracy.ci95[1]
    assert found.metrics["euclidean_error"].conclusion is None


def test_detectable_difference_is_that_of_a_t_test_with_the_corrected_level() -> None:
    found = compare(noisy_pair(40, 0.01), "a", "b", permutations=9999).contrasts[-1]
    tests = sum(one.p is not None for one in found.metrics.values())
    scoring = noisy_pair(40, 0.01)
    rates = [scoring.estimator(group).answers.mass[:, 22] / 40 for group in scoring.groups]
    se = float((rates[0] - rates[1]).std(ddof=1) / np.sqrt(40))
    accuracy = found.metrics["accuracy"]
    assert accuracy.detectable == pytest.approx(smallest_difference(se, df=39, alpha=0.05 / tests))
    assert f"{100 * (accuracy.detectable or 0):.1f} points" in accuracy.sentence


def test_detectable_difference_is_missing_if_no_p_value_can_be_significant() -> None:
    few_images = compare(noisy_pair(4, 0.1), "a", "b", permutations=999).contrasts[-1]
    few_permutations = compare(noisy_pair(40, 0.1), "a", "b", permutations=19).contrasts[-1]
    assert few_images.metrics["accuracy"].detectable is None
    assert few_permutations.metrics["accuracy"].detectable is None


@pytest.mark.slow
def test_share_of_false_equivalences_at_the_margin_is_at_most_5_percent() -> None:
    # The true difference is exactly the margin.
    found = [
        compare(noisy_pair(50, 0.04, seed=seed), "a", "b", permutations=19, margins={"accuracy": 4.0})
        for seed in range(60)
    ]
    wrong = sum(one.contrasts[-1].metrics["accuracy"].conclusion == "equivalent" for one in found)
    # With a rate of 5%, more than 8 of 60 have a probability below 0.01.
    assert wrong <= 8


@pytest.mark.parametrize(
    ("margins", "choices", "where"),
    [
        ({"acuracy": 3.0}, {}, "unknown-name:margin"),
        ({"accuracy": 0.0}, {}, "invalid-option:margin"),
        ({"accuracy": float("nan")}, {}, "invalid-option:margin"),
        ({"wasserstein": 3.0}, {}, "invalid-option:margin"),
        ({"accuracy": 3.0}, {"bootstrap": 0}, "conflicting-options:margin"),
    ],
)
def test_unusable_margins_are_errors(margins: dict[str, float], choices: dict[str, int], where: str) -> None:
    mass = {f"{name}/base": drawn(np.random.default_rng(0), 5, 4) for name in "ab"}
    with raises(OptionError, where):
        compare(scoring_of(scenes(5), mass, **choices), "a", "b", permutations=9, margins=margins)
