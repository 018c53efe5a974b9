"""Which known cause is given for a mismatch, on small copies of the release made for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from spotball_core.replication import replicate
from spotball_core.replication.causes import expected_answers
from spotball_core.replication.material import Material
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
    boxes = [("soccer", f"{image}.jpg", 250.0, 170.0, 330.0, 260.0) for image in IMAGES]
    write_boxes(tmp_path, boxes)
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
def test_what_the_number_of_answers_tells(folder: Path, numbers: tuple[int, ...], cause: str) -> None:
    write_answers(folder, "llama", 0, "soccer", answers(*numbers))
    found = item(folder, where="table 2", quantity=ERROR, **named("llama", "base"))
    assert found.status == "mismatch"
    assert found.note == cause
    assert found.unexplained == (cause == "unexplained")


def test_samples_are_counted_as_the_prompt_asked_for_them(folder: Path) -> None:
    write_answers(folder, "llama", 2, "soccer", answers(20, 20, 20))
    write_answers(folder, "gpt", 2, "soccer", answers(10, 10, 10))
    replication = replicate(folder)
    whole = item(replication, where="section 4.3", **named("llama", "cot"))
    assert (whole.status, whole.reproduced) == ("match", 20.0)
    half = item(replication, where="section 4.3", **named("gpt", "cot"))
    assert (half.status, half.note) == ("mismatch", "fewer samples: 10 answers per image, but the paper states 20")


def test_people_are_expected_to_answer_as_often_as_the_paper_says(folder: Path) -> None:
    write_clicks(folder, "soccer", 4, IMAGES)
    material = Material.read(folder)
    assert expected_answers(material, ("soccer", "human", "base")) == 150
    assert expected_answers(material, ("soccer", "gpt", "cot")) == 20
    assert expected_answers(material, ("soccer", "a stranger", "base")) is None
    error = item(folder, where="table 2", quantity=ERROR, **named("human", "base"))
    assert error.note == "fewer people: 12 answers per image, but the paper states 150"
    guesses = item(folder, where="section 4.4", quantity="guesses an image", **named("human", "base"))
    assert (guesses.status, guesses.reproduced) == ("match", 3.0)


def test_another_run_is_known_by_its_name_and_by_its_number_of_answers(folder: Path) -> None:
    write_answers(folder, "gemini", 2, "soccer", answers(20, 20, 20))
    error = item(folder, where="table 2", quantity=ERROR, **named("gemini", "cot"))
    assert error.note == "another run: the published figure is from an earlier run that was not released"
    write_proximity(folder, ("soccer", "gemini", "2.0", 2355, "0.8649", "0.7910"))
    said = "another run: the published figure is from a run with 2,355 parsed answers, but this run has 60"
    replication = replicate(folder)
    for where, quantity in (("table 2", ERROR), ("figure 5", "near-player rate"), ("figure 5", "overlap rate")):
        assert item(replication, where=where, quantity=quantity, **named("gemini", "cot")).note == said


def test_a_run_of_the_published_size_that_differs_is_unexplained(folder: Path) -> None:
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


def test_a_table_s_mean_over_prompts_names_the_prompts_that_a_cause_fits(folder: Path) -> None:
    for level, n in enumerate((50, 30, 20)):
        write_answers(folder, "qwen", level, "soccer", answers(n, n, n))
    entropy = item(folder, where="table 3", quantity="normalized entropy", **{**named("qwen", "base"), "prompt": None})
    assert entropy.note == "fewer samples: 30 answers per image, but the paper states 50 (soccer/qwen/cue)"


def test_accuracy_is_held_against_the_file_s_own_number_of_answers(folder: Path) -> None:
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


def test_a_condition_without_answers_here_says_no_data(folder: Path) -> None:
    write_accuracy(folder, ("volleyball", "gpt", 1, 2500, "0.008"))
    found = item(folder, where="figure 4", **named("gpt", "cue", "volleyball"))
    assert (found.status, found.published, found.reproduced) == ("no data", "0.008", None)


def test_people_mixed_across_sports(folder: Path) -> None:
    write_boxes(folder, [("soccer", "1.jpg", 250.0, 170.0, 330.0, 260.0), ("volleyball", "2.png", 0.0, 0.0, 9.0, 9.0)])
    # Clicks in D5, where soccer's player stands: of volleyball's image 1, they are taken for soccer's.
    write_clicks(folder, "soccer", 1, ["1"])
    write_proximity(folder, ("soccer", "humans", "", 9, "0.9", "0.9"))
    alone = item(folder, where="figure 5", quantity="near-player rate", **named("human", "base"))
    assert alone.note == "other answers of people: the published figure is from 9 answers, but these data have 3"
    write_clicks(folder, "volleyball", 2, ["1", "2"])
    replication = replicate(folder)
    soccer = item(replication, where="figure 5", quantity="near-player rate", **named("human", "base"))
    assert soccer.reproduced == 1.0
    assert (soccer.note or "").startswith(
        "fewer people: 3 answers per image, but the paper states 150; people mixed across sports"
    )
    volleyball = item(
        replication, where="figure 5", quantity="near-player rate", **named("human", "base", "volleyball")
    )
    assert volleyball.reproduced == 0.0
    assert volleyball.standard == 0.0


def test_boxes_merged_by_file_name_make_the_published_rate(folder: Path) -> None:
    write_boxes(
        folder, [("basketball", "1.png", 250.0, 170.0, 330.0, 260.0), ("volleyball", "1.png", 0.0, 0.0, 9.0, 9.0)]
    )
    write_answers(folder, "gpt", 0, "volleyball", {"1.png": ["D5", "D5", "F10", "A1"], "2.png": ["D5"] * 4})
    write_proximity(folder, ("volleyball", "gpt", 0, 4, "0.75", "0.75"))
    near = item(folder, where="figure 5", quantity="near-player rate", **named("gpt", "base", "volleyball"))
    assert (near.status, near.reproduced, near.standard) == ("match", 0.75, 0.25)
    assert near.note == (
        "boxes merged by file name: the published value also counts players of other sports; the standard value counts "
        "only the players of each image"
    )


def test_the_abstract_and_section_5_1_print_different_accuracies(folder: Path) -> None:
    # 19.2, 26 and 34 % of the answers name the ball's cell.
    for sport, right in (("soccer", 24), ("volleyball", 33), ("basketball", 42)):
        rows = [(1, 1, "1", click, *((1, 1) if click <= right else (6, 10))) for click in range(1, 126)]
        from tests.release_layout import write_csv

        path = folder / f"data/responses/humans/{sport}_clicks.csv"
        write_csv(path, ("id", "order", "image", "click", "row", "col"), rows)
    replication = replicate(folder)
    lowest = {"respondent": "human", "quantity": "lowest accuracy of a sport (%)"}
    assert item(replication, where="section 5.1", **lowest).status == "match"
    abstract = item(replication, where="abstract", **lowest)
    assert (abstract.status, abstract.note) == ("mismatch", "misprint: section 5.1 prints 19")
    highest = {"respondent": "human", "quantity": "highest accuracy of a sport (%)"}
    assert item(replication, where="abstract", **highest).status == "match"
