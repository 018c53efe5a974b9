"""Test the causes that `replicate` states for mismatches, on small copies of the release."""

from __future__ import annotations

from pathlib import Path

import pytest

from spotball_core.replication import replicate
from spotball_core.replication.causes import expected_answers
from spotball_core.replication.material import Material
from tests.release_layout import write_csv
from tests.replication.small import (
    item,
    write_accuracy,
    write_answers,
    write_boxes,
    write_clicks,
    write_proximity,
    write_truth,
)

IMAGES = ("1", "2", "3")
ERROR = "mean error (px)"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for sport in ("soccer", "basketball", "volleyball"):
        write_truth(tmp_path, sport, dict.fromkeys(IMAGES, (10, 10, 20, 20, "A1")))
    write_boxes(tmp_path, [("soccer", f"{image}.jpg", 250.0, 170.0, 330.0, 260.0) for image in IMAGES])
    return tmp_path


def named(model: str, prompt: str, sport: str = "soccer") -> dict[str, str]:
    return {"sport": sport, "respondent": model, "prompt": prompt}


def answers(*numbers: int, ending: str = ".jpg") -> dict[str, list[str]]:
    return {f"{image}{ending}": ["D5"] * n for image, n in zip(IMAGES, numbers, strict=True)}


@pytest.mark.parametrize(
    ("numbers", "cause"),
    [
        ((50, 50, 50), "unexplained"),
        ((75, 75, 50), "more samples: up to 75 answers per image, but the paper states 50"),
        ((10, 10, 10), "fewer samples: 10 answers per image, but the paper states 50"),
        ((50, 49, 48), "a short run: 2 of 3 images have fewer than the 50 answers that the paper states"),
    ],
)
def test_cause_of_a_mismatch_follows_from_the_number_of_answers_per_image(
    folder: Path, numbers: tuple[int, ...], cause: str
) -> None:
    write_answers(folder, "llama", 0, "soccer", answers(*numbers))
    found = item(folder, where="table 2", quantity=ERROR, **named("llama", "base"))
    assert (found.status, found.note, found.unexplained) == ("mismatch", cause, cause == "unexplained")


def test_chain_of_thought_answers_match_with_20_samples_per_image_and_mismatch_with_10(folder: Path) -> None:
    write_answers(folder, "llama", 2, "soccer", answers(20, 20, 20))
    write_answers(folder, "gpt", 2, "soccer", answers(10, 10, 10))
    replication = replicate(folder)
    whole = item(replication, where="section 4.3", **named("llama", "cot"))
    assert (whole.status, whole.reproduced) == ("match", 20.0)
    half = item(replication, where="section 4.3", **named("gpt", "cot"))
    assert (half.status, half.note) == ("mismatch", "fewer samples: 10 answers per image, but the paper states 20")


def test_expected_answers_are_150_per_image_for_people_and_20_for_chain_of_thought(folder: Path) -> None:
    write_clicks(folder, "soccer", 4, IMAGES)
    material = Material.read(folder)
    assert expected_answers(material, ("soccer", "human", "base")) == 150
    assert expected_answers(material, ("soccer", "gpt", "cot")) == 20
    assert expected_answers(material, ("soccer", "a stranger", "base")) is None
    error = item(folder, where="table 2", quantity=ERROR, **named("human", "base"))
    assert error.note == "fewer people: 12 answers per image, but the paper states 150"
    guesses = item(folder, where="section 4.4", quantity="guesses an image", **named("human", "base"))
    assert (guesses.status, guesses.reproduced) == ("match", 3.0)


def test_cause_of_a_mismatch_is_another_run_if_the_published_number_of_answers_differs(folder: Path) -> None:
    write_answers(folder, "gemini", 2, "soccer", answers(20, 20, 20))
    error = item(folder, where="table 2", quantity=ERROR, **named("gemini", "cot"))
    assert error.note == "another run: the published figure is from an earlier run that was not released"
    write_proximity(folder, ("soccer", "gemini", "2.0", 2355, "0.8649", "0.7910"))
    said = "another run: the published figure is from a run with 2,355 parsed answers, but this run has 60"
    replication = replicate(folder)
    for where, quantity in (("table 2", ERROR), ("figure 5", "near-player rate"), ("figure 5", "overlap rate")):
        assert item(replication, where=where, quantity=quantity, **named("gemini", "cot")).note == said


def test_mismatch_with_the_published_number_of_answers_is_unexplained(folder: Path) -> None:
    write_answers(folder, "qwen", 0, "soccer", answers(50, 50, 50))
    write_proximity(folder, ("soccer", "qwen", 0, 150, "0.5", "1.0"))
    replication = replicate(folder)
    near = item(replication, where="figure 5", quantity="near-player rate", **named("qwen", "base"))
    assert (near.reproduced, near.note) == (1.0, "unexplained")
    overlap = item(replication, where="figure 5", quantity="overlap rate", **named("qwen", "base"))
    assert (overlap.status, overlap.note) == ("match", None)
    write_proximity(folder, ("soccer", "qwen", 0, 149, "0.5", "1.0"))
    near = item(folder, where="figure 5", quantity="near-player rate", **named("qwen", "base"))
    assert near.note == "another run: the published figure is from a run with 149 parsed answers, but this run has 150"


def test_cause_of_a_mean_over_prompts_names_the_affected_prompts(folder: Path) -> None:
    for level, n in enumerate((50, 30, 20)):
        write_answers(folder, "qwen", level, "soccer", answers(n, n, n))
    entropy = item(folder, where="table 3", quantity="normalized entropy", **{**named("qwen", "base"), "prompt": None})
    assert entropy.note == "fewer samples: 30 answers per image, but the paper states 50 (soccer/qwen/cue)"


def test_accuracy_mismatch_is_unexplained_unless_the_accuracy_file_has_another_number_of_answers(folder: Path) -> None:
    write_answers(folder, "qwen", 0, "soccer", answers(50, 50, 50))
    found = []
    for n, accuracy in ((150, "0.0"), (150, "0.25"), (140, "0.25")):
        write_accuracy(folder, ("soccer", "qwen", 0, n, accuracy))
        found.append(item(folder, where="figure 4", quantity="accuracy", **named("qwen", "base")))
    assert [(i.status, i.note) for i in found] == [
        ("match", None),
        ("mismatch", "unexplained"),
        ("mismatch", "another run: the published figure is from 140 answers, but these data have 150"),
    ]
    # This condition has no answers.
    write_accuracy(folder, ("volleyball", "gpt", 1, 2500, "0.008"))
    without = item(folder, where="figure 4", **named("gpt", "cue", "volleyball"))
    assert (without.status, without.published, without.reproduced) == ("no data", "0.008", None)


def test_near_player_rate_of_clicks_counted_for_the_wrong_sport_notes_people_mixed_across_sports(folder: Path) -> None:
    write_boxes(folder, [("soccer", "1.jpg", 250, 170, 330, 260), ("volleyball", "2.png", 0, 0, 9, 9)])
    # All clicks are in D5, which is on the player of the soccer image but not of the volleyball image. If sports are
    # mixed up, clicks on image 1 of volleyball are counted for image 1 of soccer.
    write_clicks(folder, "soccer", 1, ["1"])
    write_proximity(folder, ("soccer", "humans", "", 9, "0.9", "0.9"))
    alone = item(folder, where="figure 5", quantity="near-player rate", **named("human", "base"))
    assert alone.note == "other answers of people: the published figure is from 9 answers, but these data have 3"
    write_clicks(folder, "volleyball", 2, ["1", "2"])
    replication = replicate(folder)
    soccer = item(replication, where="figure 5", quantity="near-player rate", **named("human", "base"))
    assert soccer.reproduced == 1.0
    note = "fewer people: 3 answers per image, but the paper states 150; people mixed across sports"
    assert (soccer.note or "").startswith(note)
    name = named("human", "base", "volleyball")
    volleyball = item(replication, where="figure 5", quantity="near-player rate", **name)
    assert (volleyball.reproduced, volleyball.standard) == (0.0, 0.0)


def test_near_player_rate_with_boxes_merged_by_file_name_matches_and_has_a_note(folder: Path) -> None:
    write_boxes(folder, [("basketball", "1.png", 250, 170, 330, 260), ("volleyball", "1.png", 0, 0, 9, 9)])
    write_answers(folder, "gpt", 0, "volleyball", {"1.png": ["D5", "D5", "F10", "A1"], "2.png": ["D5"] * 4})
    write_proximity(folder, ("volleyball", "gpt", 0, 4, "0.75", "0.75"))
    near = item(folder, where="figure 5", quantity="near-player rate", **named("gpt", "base", "volleyball"))
    assert (near.status, near.reproduced, near.standard) == ("match", 0.75, 0.25)
    assert near.note == (
        "boxes merged by file name: the published value also counts players of other sports; the standard value counts "
        "only the players of each image"
    )


def test_lowest_accuracy_in_the_abstract_has_the_note_that_it_is_a_misprint_of_section_5_1(folder: Path) -> None:
    # The accuracies are 19.2% in soccer, 26.4% in volleyball and 33.6% in basketball.
    for sport, right in (("soccer", 24), ("volleyball", 33), ("basketball", 42)):
        rows = [(1, 1, "1", click, *((1, 1) if click <= right else (6, 10))) for click in range(1, 126)]
        path = folder / f"data/responses/humans/{sport}_clicks.csv"
        write_csv(path, ("id", "order", "image", "click", "row", "col"), rows)
    replication = replicate(folder)
    lowest, highest = "lowest accuracy of a sport (%)", "highest accuracy of a sport (%)"
    assert item(replication, where="section 5.1", respondent="human", quantity=lowest).status == "match"
    abstract = item(replication, where="abstract", respondent="human", quantity=lowest)
    assert (abstract.status, abstract.note) == ("mismatch", "misprint: section 5.1 prints 19")
    assert item(replication, where="abstract", respondent="human", quantity=highest).status == "match"
