"""Test changes between two runs: hand-computed values, agreement with `compare`, simulations, and the report page."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

from spotball_core import Grid, OptionError, Scene, ScorePolicy
from spotball_core.comparison.compare import compare
from spotball_core.counting.parse_record import write_parse_policy
from spotball_core.io.frames import write_responses
from spotball_core.io.scenes import write_scenes
from spotball_core.report.build import all_sections, write_page, write_report
from spotball_core.report.numbers.analyze import analyze
from spotball_core.report.numbers.change_records import Change, RunChanges
from spotball_core.report.numbers.changes import run_changes
from spotball_core.report.numbers.records import HEADLINE, PageReport
from spotball_core.report.sections.changes import change_sentences, changes
from spotball_core.report.view import PageView
from spotball_core.scoring.groups import Scoring
from spotball_core.scoring.score import load_counts
from spotball_core.stats.power import smallest_difference
from tests.builders import scene
from tests.cli.process import Done, spotball
from tests.failures import codes, raises
from tests.report.study import scored, write_study

GRID = Grid.standard()
CELLS = [GRID.label(place) for place in range(GRID.rows * GRID.cols)]
HIT, MISS = "C2", "F10"

Answers = Mapping[str, Sequence[str | None]]
"""Named cells, by image."""

Runs = tuple[list[pl.DataFrame], list[pl.DataFrame], list[Scene]]
"""Answers of an earlier and of a later run, and their scenes."""


def rows(
    respondent: str, answers: Answers, *, sport: str = "soccer", kind: str = "model", prompt: str = "base"
) -> pl.DataFrame:
    keys = {"sport": sport, "respondent": respondent, "kind": kind, "prompt": prompt}
    return pl.DataFrame(
        [
            {**keys, "image": image, "sample": sample, "cell": cell}
            for image, cells in answers.items()
            for sample, cell in enumerate(cells, start=1)
        ],
        schema_overrides={"cell": pl.String},
    )


def run(frames: Iterable[pl.DataFrame], known: Sequence[Scene], **choices: object) -> Scoring:
    counts, known = load_counts(pl.concat(frames), known, participants=False)
    return Scoring(counts, known, ScorePolicy.standard(**{"bootstrap": 200, **choices}))  # type: ignore[arg-type]


def images(n: int, sport: str = "soccer", **fields: object) -> list[Scene]:
    return [scene(str(number), sport, **fields) for number in range(n)]


def guesses(rng: np.random.Generator, n_images: int, *, right: float = 0.2, n: int = 8) -> dict[str, list[str | None]]:
    """Return responses that are correct with probability `right`, and otherwise random."""
    return {
        str(image): [HIT if rng.random() < right else str(rng.choice(CELLS)) for _ in range(n)]
        for image in range(n_images)
    }


def change(found: RunChanges, respondent: str, metric: str, sport: str = "soccer", prompt: str = "base") -> Change:
    key = (sport, respondent, prompt, metric)
    (one,) = [c for c in found.changes if (c.sport, c.respondent, c.prompt, c.metric) == key]
    return one


# Numbers -------------------------------------------------------------------------------------------------------


def test_run_changes_on_three_images_equal_hand_computed_values() -> None:
    known = images(3)
    # Of 4 answers per image, 2, 0 and 1 are correct before, and 4, 2 and 1 after.
    before = run([rows("a", {"0": [HIT] * 2 + [MISS] * 2, "1": [MISS] * 4, "2": [HIT] + [MISS] * 3})], known)
    after = run([rows("a", {"0": [HIT] * 4, "1": [HIT] * 2 + [MISS] * 2, "2": [HIT] + [MISS] * 3})], known)
    found = run_changes(before, after)
    accuracy = change(found, "a", "accuracy")
    assert (accuracy.before, accuracy.after, accuracy.difference) == pytest.approx((3 / 12, 7 / 12, 4 / 12))
    # The images differ by 1/2, 1/2 and 0. Of the 8 permutations, 4 give a difference at least as large.
    assert (accuracy.p, accuracy.p_holm, accuracy.real, accuracy.n_images) == (4 / 8, 4 / 8, False, 3)
    assert accuracy.detectable is None  # No p value of three images can be significant.
    # All misses have the same distance, so the error changes in proportion to accuracy, in the opposite direction.
    error = change(found, "a", "euclidean_error")
    assert error.difference < 0
    assert error.p == 4 / 8
    assert len(found.changes) == 2  # Without a reference, there is no distance.
    (group,) = found.groups
    assert (group.responses_before, group.responses_after, group.unparsed_before) == (12, 12, 0)


@pytest.fixture(scope="module")
def two_runs() -> Runs:
    """Return two runs with people and two respondents in two sports; one respondent improves."""
    rng = np.random.default_rng(5)
    # The permutation test uses all permutations of the 8 images of soccer, and 10,000 of the 14 images of tennis.
    known = [*images(8), *images(14, "tennis")]
    before, after = [], []
    for sport, n in (("soccer", 8), ("tennis", 14)):
        for frames, better in ((before, 0.1), (after, 0.5)):
            frames.append(rows("human", guesses(rng, n, right=0.4, n=20), sport=sport, kind="human"))
            frames.append(rows("a", guesses(rng, n), sport=sport, prompt="cot"))
            frames.append(rows("a", guesses(rng, n, right=better), sport=sport))
            frames.append(rows("b", guesses(rng, n, n=5 if frames is before else 11), sport=sport))
    return before, after, known


@pytest.mark.slow
def test_run_changes_equal_the_contrasts_of_compare(two_runs: Runs) -> None:
    before, after, known = two_runs
    found = run_changes(run(before, known), run(after, known, reference="human"))

    def renamed(frame: pl.DataFrame, name: str) -> pl.DataFrame:
        return frame.with_columns(respondent=pl.col("respondent") + f" {name}")

    both = [*(renamed(frame, "before") for frame in before), *(renamed(frame, "after") for frame in after)]
    checked = 0
    for sport in ("soccer", "tennis"):
        merged = run([frame.filter(sport=sport) for frame in both], known, reference="human after")
        for respondent, prompt in (("human", "base"), ("a", "base"), ("a", "cot"), ("b", "base")):
            names = f"{respondent} after/{prompt}", f"{respondent} before/{prompt}"
            (contrast,) = compare(merged, *names).contrasts
            for key in HEADLINE:
                if (respondent, key) == ("human", "wasserstein_matched"):
                    continue
                one, other = change(found, respondent, key, sport, prompt), contrast.metrics[key]
                assert one.n_images == other.n_images
                assert (one.after, one.before) == (pytest.approx(other.a), pytest.approx(other.b))
                assert (one.difference, one.p) == (pytest.approx(other.difference), pytest.approx(other.p))
                assert one.ci95 == pytest.approx(other.ci95)
                checked += 1
    assert checked == len(found.changes) == 2 * (4 * 3 - 1)
    assert change(found, "a", "accuracy", "tennis").real


def test_holm_correction_covers_all_changes_of_a_metric(two_runs: Runs) -> None:
    before, after, known = two_runs
    found = run_changes(run(before, known), run(after, known))
    for key in ("accuracy", "euclidean_error"):
        tested = [one for one in found.changes if one.metric == key]
        assert len(tested) == found.n_tests[key] == 8
        least = min(tested, key=lambda one: one.p)
        assert least.p_holm == pytest.approx(8 * least.p)


def test_run_changes_of_identical_runs_are_zero(two_runs: Runs) -> None:
    _, after, known = two_runs
    scoring = run(after, known, reference="human")
    found = run_changes(scoring, scoring)
    assert len(found.changes) == 22
    for one in found.changes:
        assert (one.difference, one.p, one.p_holm, one.real, one.ci95) == (0, 1, 1, False, (0, 0))
    assert all(group.same_answers for group in found.groups)
    assert found.n_tests == {}
    assert found.same_reference
    report = PageView(analyze(run(after, known, reference="human", bootstrap=0), before=scoring))
    assert report.page.changes is not None
    assert change_sentences(report, report.page.changes) == ("All compared answers are the same in both runs.",)


def test_group_with_identical_answers_in_both_runs_is_not_counted_in_the_holm_correction() -> None:
    rng = np.random.default_rng(2)
    known = images(12)
    fixed = rows("fixed", guesses(rng, 12))
    before = [fixed, rows("new", guesses(rng, 12, right=0.0))]
    after = [fixed, rows("new", guesses(rng, 12, right=0.9))]
    found = run_changes(run(before, known), run(after, known))
    assert found.n_tests == {"accuracy": 1, "euclidean_error": 1}
    new, same = change(found, "new", "accuracy"), change(found, "fixed", "accuracy")
    assert (new.p_holm, new.real) == (new.p, True)
    assert (same.p, same.p_holm) == (1, 1)
    assert [group.same_answers for group in found.groups] == [True, False]


def test_run_changes_do_not_mark_a_change_as_real_if_its_interval_contains_0() -> None:
    known = images(10)
    hits = [2, 4, 2, 1, 1, 1, 2, 1, 0, 0], [6, 0, 3, 3, 3, 5, 5, 2, 4, 3]
    before, after = (
        [rows("a", {str(image): [HIT] * n + [MISS] * (8 - n) for image, n in enumerate(of_run)})] for of_run in hits
    )
    one = change(run_changes(run(before, known), run(after, known)), "a", "accuracy")
    assert one.ci95 is not None
    assert one.ci95[0] < 0 < one.difference
    assert one.p_holm == one.p < 0.05
    assert not one.real
    by_image = np.subtract(hits[1], hits[0]) / 8
    se = by_image.std(ddof=1) / np.sqrt(10)
    assert one.detectable == pytest.approx(smallest_difference(se, df=9))
    # Without an interval, only p decides.
    assert change(run_changes(run(before, known), run(after, known, bootstrap=0)), "a", "accuracy").real


@pytest.mark.slow
def test_run_changes_between_simulated_runs_of_the_same_models_are_rarely_marked_as_real() -> None:
    # Both runs use the same models. A metric may show a change in at most 1 of 20 comparisons of runs.
    runs, groups, n_images = 40, 6, 18
    known = images(n_images)
    false = dict.fromkeys(("accuracy", "euclidean_error"), 0)
    uncorrected = dict(false)
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        asked = [
            [rows(f"m{number}", guesses(rng, n_images, right=number / 10)) for number in range(groups)]
            for _ in range(2)
        ]
        before, after = (run(frames, known, bootstrap=0) for frames in asked)
        found = run_changes(before, after)
        for key in false:
            of_metric = [one for one in found.changes if one.metric == key]
            false[key] += any(one.real for one in of_metric)
            uncorrected[key] += any(one.p <= 0.05 for one in of_metric)
    most = binom.ppf(0.999, runs, 0.05)
    assert max(false.values()) <= most
    # Without the correction, there are too many real changes. This shows that the test can fail.
    assert max(uncorrected.values()) > most


# Compared images and groups ------------------------------------------------------------------------------------


def test_images_whose_scenes_differ_between_runs_are_excluded_and_listed() -> None:
    answers: Answers = {str(number): [HIT, MISS] for number in range(8)}
    corner = [[0, 0, 10, 10]]
    earlier, later = images(8, players=corner), images(8, players=corner)
    later[0] = scene("0", ball_cells=("D5",), players=corner)
    later[1] = scene("1", size=(1280, 360), players=corner)
    later[2] = scene("2", control=True, players=corner)
    later[3] = scene("3", players=[[5, 5, 10, 10]])
    earlier[4] = later[4] = scene("4", control=True, players=None)
    before = run([rows("a", {**answers, "5": [HIT] * 2})], earlier)
    after = run([rows("a", {image: cells for image, cells in answers.items() if image != "7"})], later)
    found = run_changes(before, after)
    excluded = [(one.image, one.fields) for one in found.images.excluded]
    assert excluded == [("0", ("ball cells",)), ("1", ("size",)), ("2", ("control",))]
    assert found.images.other_players == ("soccer/3",)
    assert (found.images.only_before, found.images.only_after) == (("soccer/7",), ())
    # The image that is a control in both runs is not counted.
    assert (found.images.n_before, found.images.n_after, found.n_images) == (7, 6, 3)
    accuracy = change(found, "a", "accuracy")
    assert accuracy.n_images == 3  # These are images 3, 5 and 6.
    assert (accuracy.before, accuracy.after) == (pytest.approx(4 / 6), pytest.approx(3 / 6))
    sentences = data_sentences(found, after)
    assert (
        "3 images are not compared, because their scenes differ between the runs: soccer/0 (ball cells), soccer/1 "
        "(size), soccer/2 (control)." in sentences
    )
    assert any(one.startswith("The players of 1 image differ between the runs: soccer/3. ") for one in sentences)
    assert "1 image was answered only in the earlier run: soccer/7." in sentences


def data_sentences(found: RunChanges, after: Scoring) -> tuple[str, ...]:
    view = PageView(analyze(after))
    return changes(view, found).points[len(change_sentences(view, found)) :]


def test_run_changes_with_the_paper_policy_compare_controls_in_the_error_but_not_in_accuracy() -> None:
    known = [*images(2), scene("2", control=True)]
    frame = rows("a", {str(number): [HIT, MISS] for number in range(3)})
    counts, _ = load_counts(frame, known, participants=False)
    paper = Scoring(counts, known, ScorePolicy.paper(bootstrap=0))
    found = run_changes(paper, paper)
    assert (found.n_images, found.images.n_before) == (3, 3)
    # Under this policy, controls are included in the error, but not in accuracy.
    assert {one.metric: one.n_images for one in found.changes} == {"accuracy": 2, "euclidean_error": 3}


def test_respondents_and_prompts_of_only_one_run_are_listed() -> None:
    known = [*images(3), *images(3, "tennis")]
    some: Answers = {"0": [HIT, MISS], "1": [MISS] * 2}
    both = rows("a", some)
    elsewhere = rows("c", {"0": [HIT]}), rows("c", {"2": [HIT]})
    before = run([both, rows("old", some), rows("a", some, prompt="cue"), elsewhere[0]], known)
    after = run([both, rows("new", some), rows("new", some, sport="tennis"), elsewhere[1]], known)
    found = run_changes(before, after)
    only_before = [(one.sport, one.respondent, one.prompt) for one in found.only_before]
    assert only_before == [("soccer", "a", "cue"), ("soccer", "old", "base")]
    assert [(one.sport, one.respondent) for one in found.only_after] == [("soccer", "new"), ("tennis", "new")]
    (missing,) = found.not_compared
    assert (missing.respondent, missing.metric) == ("c", None)
    sentences = data_sentences(found, after)
    assert "Only the earlier run contains a cue (soccer), old (soccer)." in sentences
    assert "Only the later run contains new (soccer, tennis)." in sentences
    said = "Not compared: c (soccer) (no scored image has answers in both runs and the same scene in both)."
    assert said in sentences


def test_metric_without_a_value_is_listed_as_not_compared_with_a_reason() -> None:
    known = images(3, ball_cells=None)
    frame = rows("a", {"0": [HIT, MISS], "1": [MISS] * 2})
    scoring = run([frame, rows("human", {"0": [HIT], "1": [HIT]}, kind="human")], known, reference="human")
    found = run_changes(scoring, scoring)
    assert {(one.respondent, one.metric, one.reason) for one in found.not_compared} >= {
        ("a", "accuracy", "no ground truth"),
        ("human", "euclidean_error", "no ground truth"),
    }
    assert found.changes == ()


def test_run_changes_use_the_images_that_the_later_report_scores() -> None:
    known = images(6)
    answers: Answers = {str(number): [HIT, MISS] for number in range(6)}
    few = {image: answers[image] for image in ("0", "1", "2", "3")}
    before = run([rows("a", answers), rows("human", answers, kind="human"), rows("old", few)], known)
    after = run([rows("a", answers), rows("human", few, kind="human")], known, reference="human")
    # The reference of the later run answered four images. Respondents found only in the earlier run have no effect.
    assert change(run_changes(before, after), "a", "accuracy").n_images == 4
    every = run([rows("a", answers), rows("human", few, kind="human")], known, reference="human", images="all")
    assert change(run_changes(before, every), "a", "accuracy").n_images == 6


def test_distances_of_both_runs_use_the_reference_of_the_later_run() -> None:
    rng = np.random.default_rng(3)
    known = images(10)
    a, people, others = guesses(rng, 10), guesses(rng, 10, n=20), guesses(rng, 10, right=0.9, n=20)
    after = run([rows("a", a), rows("human", people, kind="human")], known, reference="human")
    for earlier_people in ([], [rows("human", others, kind="human")]):
        found = run_changes(run([rows("a", a), *earlier_people], known), after)
        distance = change(found, "a", "wasserstein_matched")
        assert (distance.difference, distance.p) == (0, 1)
        assert distance.after == pytest.approx(after.score(after.groups[1])[0].metrics["wasserstein_matched"].value)
        assert found.same_reference is False
    assert any("All distances use those of the later run" in sentence for sentence in data_sentences(found, after))


def test_run_changes_do_not_compare_distances_if_the_reference_answered_none_of_the_images() -> None:
    earlier, later = images(4), [scene("0", ball_cells=("D5",)), *images(4)[1:]]
    frame = rows("a", {str(number): [HIT, MISS] * 4 for number in range(4)})
    people = rows("human", {"0": [HIT] * 20}, kind="human")
    after = run([frame, people], later, reference="human", images="all")
    found = run_changes(run([frame, people], earlier), after)
    assert {one.metric for one in found.changes} == {"accuracy", "euclidean_error"}
    missing = [(one.respondent, one.metric, one.reason) for one in found.not_compared]
    assert ("a", "wasserstein_matched", "the reference answered none of the images") in missing


def test_run_changes_of_incomparable_runs_raise_option_error() -> None:
    frame = rows("a", {"0": [HIT]})
    before = run([frame], images(1))
    small = images(1, grid={"rows": 2, "cols": 2}, ball_cells=("A1",))
    for after, code in (
        (run([rows("a", {"0": ["A1"]})], small), "different-grids"),
        (run([frame], images(1, ball_cells=("D5",))), "no-data"),
        (run([rows("b", {"0": [HIT]})], images(1)), "no-data"),
        (run([frame], images(1), by=("respondent",)), "incompatible-data"),
    ):
        with raises(OptionError, code):
            run_changes(before, after)


def test_run_changes_match_respondents_whose_names_contain_colons_by_full_name() -> None:
    known = images(2)
    values = {"a": 1, "1:a": 2, "2:a": 3, "1:2:a": 4}
    frames = [rows(name, {image: [HIT] * n + [MISS] * (4 - n) for image in ("0", "1")}) for name, n in values.items()]
    found = run_changes(run(frames, known), run(frames, known))
    shares = {one.respondent: (one.before, one.after) for one in found.changes if one.metric == "accuracy"}
    assert shares == {name: (n / 4, n / 4) for name, n in values.items()}


# Sentences and page --------------------------------------------------------------------------------------------


def test_change_sentences_state_only_the_changes_marked_as_real() -> None:
    rng = np.random.default_rng(1)
    base = guesses(rng, 25)
    before, after = (
        run(
            [
                rows("human", guesses(rng, 25, right=people, n=20), kind="human"),
                rows("gpt", guesses(rng, 25, right=cot), prompt="cot"),
                rows("gpt", {**base, **changed}),
            ],
            images(25),
            reference=reference,
        )
        for people, cot, changed, reference in ((0.2, 0.9, {}, None), (0.8, 0.0, {"0": [MISS] * 8}, "human"))
    )
    view = PageView(analyze(after, before=before))
    found = view.page.changes
    assert found is not None
    sentences = change_sentences(view, found)
    one = change(found, "gpt", "accuracy", prompt="cot")
    high, low = (f"{-100 * end:.1f}" for end in one.ci95 or ())
    assert (
        f"gpt cot finds the ball less often in soccer: {100 * one.before:.1f}% before, {100 * one.after:.1f}% after "
        f"({-100 * one.difference:.1f} points less [{low}, {high}])."
    ) in sentences
    people = change(found, "human", "accuracy")
    (sentence,) = [s for s in sentences if s.startswith("People find the ball more often in soccer: ")]
    assert f"({100 * people.difference:.1f} points more [" in sentence
    for start in (
        "People guess closer to the ball in soccer: ",
        "gpt cot guesses farther from the ball in soccer: ",
        "gpt cot guesses less like people in soccer: a distance of ",
    ):
        (sentence,) = [s for s in sentences if s.startswith(start)]
        assert " px before, " in sentence
        assert re.search(r"\([\d.]+ px (more|less) \[", sentence)
    assert not any(s.startswith("gpt base") for s in sentences)
    *_, other, could = sentences
    assert other == "No other change can be distinguished from chance (3 other comparisons)."
    base_change = change(found, "gpt", "accuracy", prompt="base")
    assert f"accuracy {100 * (base_change.detectable or 0):.1f} points" in could
    assert len(sentences) == 7


def test_change_sentences_explain_that_no_change_can_be_significant_with_few_images() -> None:
    before, after = (run([rows("a", {str(n): [cell] * 3 for n in range(4)})], images(4)) for cell in (MISS, HIT))
    view = PageView(analyze(after, before=before))
    assert view.page.changes is not None
    assert change_sentences(view, view.page.changes) == (
        "No change can be distinguished from chance (2 comparisons).",
        (
            "With 4 images, no change of accuracy and Euclidean error can be significant, because no corrected p value "
            "can be below 0.12."
        ),
    )


def test_changes_section_follows_the_summary_only_with_an_earlier_run(study: Path) -> None:
    scoring = scored()
    view = PageView(analyze(scoring))
    assert view.page.changes is None
    assert "changes" not in [section.name for section in all_sections(view, [study])]
    view = PageView(analyze(scoring, before=scoring))
    assert [section.name for section in all_sections(view, [study])][:2] == ["summary", "changes"]
    assert view.page.changes is not None
    section = changes(view, view.page.changes)
    table = section.tables[0]
    assert all(len(row) == len(table.heads) for group in table.groups for row in group.rows)
    assert sum(len(group.rows) for group in table.groups) == len(view.page.changes.changes)
    assert "excludes 0" not in " ".join(section.lead)  # The bootstrap is off, so there are no intervals.


@pytest.mark.slow
def test_changes_section_escapes_markup_in_names(tmp_path: Path) -> None:
    names = ["<b>x</b>", "`code`", "a|b", "{{ 7 * 7 }}"]
    sport = "<i>s"
    known = [scene(str(number), sport) for number in range(6)]
    rng = np.random.default_rng(0)

    def frames(right: float) -> list[pl.DataFrame]:
        return [rows(name, guesses(rng, 6, right=right), sport=sport, prompt="<u>p</u>") for name in names]

    before = run([*frames(0.0), rows("<s>old</s>", guesses(rng, 6), sport=sport)], known)
    write_report(run(frames(1.0), known), tmp_path / "out", before=before)
    page = (tmp_path / "out/report.html").read_text()
    section = page.partition('<section id="changes"')[2].partition("</section>")[0]
    for markup in ("<b>x", "<i>s", "<u>p", "<s>old", "<code>code", "49"):
        assert markup not in section, markup
    for text in ("&lt;b&gt;x&lt;/b&gt;", "&lt;i&gt;s", "&lt;s&gt;old&lt;/s&gt;", "`code`", "{{ 7 * 7 }}"):
        assert text in section, text


# The command ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the dataset folders of an earlier and a later run."""
    rng = np.random.default_rng(4)
    folder = tmp_path_factory.mktemp("runs")
    people = rows("human", guesses(rng, 20, n=12), kind="human")
    for name, right in (("old", 0.0), ("new", 0.7)):
        (folder / name).mkdir()
        write_scenes(images(20), folder / name / "scenes.jsonl")
        write_responses(
            pl.concat([people, rows("gpt", guesses(rng, 20, right=right))]), folder / name / "responses.csv"
        )
    return folder / "old", folder / "new"


def report(*arguments: str | Path) -> Done:
    return spotball("report", *arguments, "--bootstrap", "100")


@pytest.mark.slow
def test_report_command_with_the_before_option_prints_and_writes_the_changes(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    old, new = folders
    out = tmp_path / "out"
    done = report(new, "--before", old, "--reference", "human", "--out", out)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    lines = done.stderr.splitlines()
    assert any(line.startswith("gpt finds the ball more often in soccer: ") for line in lines)
    assert lines[-1] == f"wrote {out}/report.html"
    page = (out / "report.html").read_text()
    places = [page.index(f'<section id="{name}"') for name in ("summary", "changes", "accuracy")]
    assert places == sorted(places)
    assert "These respondents have the same answers in both runs: human (soccer)." in page
    written = PageReport.model_validate_json((out / "report.json").read_text())
    assert written.page.changes is not None
    assert len(written.page.changes.changes) == 5
    assert change(written.page.changes, "gpt", "wasserstein_matched").difference != 0
    # The scores are those of the later run.
    report(new, "--reference", "human", "--out", tmp_path / "alone", "--quiet")
    alone, with_changes = (json.loads((folder / "report.json").read_text()) for folder in (tmp_path / "alone", out))
    assert alone["page"].pop("changes") is None
    assert with_changes["page"].pop("changes") is not None
    assert alone == with_changes
    write_page(written, tmp_path / "again")
    assert (tmp_path / "again/report.html").read_text() == page


@pytest.mark.slow
def test_report_reads_a_before_file_with_the_later_scenes_and_a_before_folder_with_its_own(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    old, new = folders
    moved = tmp_path / "moved"
    shutil.copytree(old, moved)
    write_scenes([scene("0", ball_cells=("D5",)), *images(20)[1:]], moved / "scenes.jsonl")
    for before, n_images in ((moved / "responses.csv", 20), (moved, 19)):
        out = tmp_path / str(n_images)
        done = report(new, "--before", before, "--out", out, "--quiet")
        assert (done.returncode, done.stderr) == (0, "")
        found = PageReport.model_validate_json((out / "report.json").read_text()).page.changes
        assert found is not None
        assert found.n_images == n_images


@pytest.mark.slow
def test_report_with_an_unusable_earlier_run_exits_with_status_2_and_writes_nothing(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    old, new = folders
    earlier = tmp_path / "earlier"
    assert report(old, "--out", earlier, "--quiet").returncode == 0
    shutil.copytree(new, tmp_path / "other")
    write_scenes(images(20, ball_cells=("A1",)), tmp_path / "other/scenes.jsonl")
    for arguments, code, value in (
        ([new, "--before", earlier], ["wrong-file"], f"{earlier}: "),
        ([new, "--before", earlier / "report.json"], ["wrong-file"], f"{earlier}/report.json: "),
        # The parser of the command line rejects this path.
        ([new, "--before", tmp_path / "nothing"], [], "nothing"),
        ([new, "--before", tmp_path / "other"], ["no-data"], ""),
    ):
        done = report(*arguments, "--out", tmp_path / "out")
        assert (done.returncode, codes(done.stderr)) == (2, code), arguments
        assert value in done.stderr
        assert "Traceback" not in done.stderr
        assert not (tmp_path / "out").exists()


def test_report_of_two_runs_suggests_the_before_option(folders: tuple[Path, Path], tmp_path: Path) -> None:
    done = report(*folders, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "To compare two runs, use: spotball report LATER --before EARLIER --out DIR" in done.stderr
    write_study(tmp_path / "study")
    (tmp_path / "broken.csv").write_text("image,cell\n1,Z99999\n")
    done = report(tmp_path / "study", tmp_path / "broken.csv", "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "To compare" not in done.stderr


@pytest.mark.slow
def test_report_shows_warnings_and_parse_policy_of_the_earlier_run(folders: tuple[Path, Path], tmp_path: Path) -> None:
    _, new = folders
    old = shutil.copytree(new, tmp_path / "old")
    write_responses(rows("gpt", {str(number): [HIT, None] for number in range(20)}), old / "responses.csv")
    write_parse_policy(old / "responses.csv", "lenient")
    out = tmp_path / "out"
    done = report(new, "--before", old, "--out", out)
    assert done.returncode == 0, done.stderr
    assert f"warning: {old}/responses.csv" in done.stderr
    page = (out / "report.html").read_text()
    assert f"Warning about the earlier run: {old}/responses.csv" in page
    said = "The earlier run parsed replies with the policy lenient, the later run with a policy that is not recorded."
    assert said in page
    found = PageReport.model_validate_json((out / "report.json").read_text()).page.changes
    assert found is not None
    (group,) = found.groups
    assert (group.responses_before, group.unparsed_before, group.unparsed_after) == (40, 20, 0)
    assert report(new, "--before", old, "--out", tmp_path / "strict", "--strict").returncode == 2
