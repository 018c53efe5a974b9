"""Test the photos of the report, and the table that lists them by disagreement."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import pytest
from PIL import Image

from spotball_core.gaze.analysis import GazeOptions, analyze
from spotball_core.gaze.data.faces import Box
from spotball_core.gaze.data.stimuli import Stimulus
from spotball_core.gaze.data.trials import Trial, Trials, make_trials
from spotball_core.gaze.page.browser import browser, disagreement
from spotball_core.gaze.page.photos import PhotoSource, photo_sheet
from spotball_core.gaze.page.write import write_gaze_report
from spotball_core.gaze.power.observers import Observer, factorial_design, simulate
from tests.report.markup import parsed

COLORS = {"a": "#111111", "b": "#222222", "c <i>": "#333333"}


def drawn(folder: Path, *stimuli: Stimulus, size: tuple[int, int] = (400, 200)) -> tuple[Stimulus, ...]:
    """Write a photo for each stimulus, whose green value depends on its index, and return the stimuli with paths."""
    found = []
    for number, one in enumerate(stimuli):
        Image.new("RGB", size, (200, 10 * number, 30)).save(folder / f"{number}.png")
        found.append(one.model_copy(update={"image": f"{number}.png"}))
    return tuple(found)


def stimulus(name: str, **more: object) -> Stimulus:
    fields = {"objects": ("cup", "pen", "key"), "view": "front", "proximity": 1, "gaze_target": "pen", **more}
    return Stimulus.model_validate({"stimulus_id": name, **fields})


def answered(answers: list[tuple[str, str, str | None]], *stimuli: Stimulus) -> Trials:
    """Return trials with the given respondents, photos and choices."""
    trials = [
        Trial(respondent=who, stimulus_id=photo, choice=choice, sample=number)
        for number, (who, photo, choice) in enumerate(answers)
    ]
    return make_trials(trials, stimuli)


POINTS = ((0.25, 0.5), (0.5, 0.5), (0.75, 0.98))


def test_photo_sheet_text_and_marks_of_a_photo_equal_a_hand_calculation(tmp_path: Path) -> None:
    (one,) = drawn(tmp_path, stimulus("x", head_target="cup", points=POINTS))
    answers = [("a", "cup")] * 3 + [("a", "key"), ("b", "pen"), ("b", None)]
    trials = answered([(who, "x", what) for who, what in answers], one)
    sheet = photo_sheet(PhotoSource(trials, (one,), tmp_path), COLORS)
    (card,) = sheet.cards
    assert card.title == "x: incongruent, front, proximity 1"
    assert card.lines == (
        "Eyes: pen; head: cup. Objects: cup, pen, key.",
        "a: cup 3, key 1 of 4",
        "b: pen 1, unmatched 1 of 2",
    )
    assert sheet.key == (("a", "#111111"), ("b", "#222222"))
    # At a width of 400 pixels, outlines have a radius of 18. Discs have a radius of at most 9, and are 30.6 below or
    # above the object.
    outlines = {(mark.kind, mark.x, mark.y) for mark in card.marks if not mark.color}
    assert outlines == {("eyes", 200.0, 100.0), ("head", 100.0, 100.0)}
    first, second, third = (mark for mark in card.marks if mark.color)
    assert [mark.color for mark in (first, second, third)] == ["#111111", "#222222", "#111111"]
    assert (first.x, first.y, first.radius) == pytest.approx((91.0, 130.6, 9 * 0.75**0.5))
    assert (second.x, second.y, second.radius) == pytest.approx((209.0, 130.6, 9 * 0.5**0.5))
    assert (third.x, third.y, third.radius) == pytest.approx((291.0, 165.4, 4.5))


@pytest.mark.parametrize(
    ("face", "starts"),
    [
        (None, {"eyes": None, "head": None}),
        ((0.4, 0.0, 0.6, 0.2), {"eyes": (200, 40), "head": (175, 40)}),
        ((0.4, 0.3, 0.6, 0.7), {"eyes": None, "head": (160, 100)}),
    ],
)
def test_lines_start_at_the_edge_of_a_known_face(
    tmp_path: Path, face: Box | None, starts: dict[str, tuple[float, float] | None]
) -> None:
    (one,) = drawn(tmp_path, stimulus("x", head_target="cup", points=POINTS))
    trials = answered([("a", "x", "cup")], one)
    sheet = photo_sheet(PhotoSource(trials, (one,), tmp_path, {"x": face} if face else {}), COLORS)
    assert sheet
    found = {mark.kind: mark.start and pytest.approx(mark.start) for mark in sheet.cards[0].marks if not mark.color}
    assert found == starts


def test_photo_sheet_shows_one_photo_per_condition_and_view_with_varying_proximity(tmp_path: Path) -> None:
    design = factorial_design()
    shown = drawn(tmp_path, *(one for one in design if len(one.objects) == 4 and one.objects[0] == "object a"))
    trials = simulate(Observer("eye"), shown, prompts=1, respondent="a")
    sheet = photo_sheet(PhotoSource(trials, shown, tmp_path), COLORS)
    kinds = [tuple(card.title.split(": ")[1].split(", ")) for card in sheet.cards]
    assert kinds == [
        (condition, view, f"proximity {proximity}")
        for condition in ("incongruent", "congruent", "natural")
        for view, proximity in (("front", 1), ("left", 2), ("right", 3))
    ]
    assert sheet.key == ()
    data = sheet.cards[0].data.removeprefix("data:image/webp;base64,")
    with Image.open(io.BytesIO(base64.b64decode(data))) as image:
        assert image.size == (400, 200)


def test_photo_sheet_skips_missing_and_damaged_photos_and_photos_outside_the_folder(tmp_path: Path) -> None:
    inside = tmp_path / "photos"
    inside.mkdir()
    known = drawn(inside, *(stimulus(name) for name in "abcd"))
    Image.new("RGB", (10, 10)).save(tmp_path / "secret.png")
    known = (known[0].model_copy(update={"image": "../secret.png"}), *known[1:])
    (inside / "1.png").write_bytes(b"no image")
    (inside / "2.png").unlink()
    trials = simulate(Observer("eye"), known, prompts=1, respondent="a")
    sheet = photo_sheet(PhotoSource(trials, known, inside), COLORS)
    assert [card.title for card in sheet.cards] == ["d: natural, front, proximity 1"]
    assert photo_sheet(PhotoSource(trials, known, tmp_path / "elsewhere"), COLORS) is None
    bare = tuple(one.model_copy(update={"image": None}) for one in known)
    assert photo_sheet(PhotoSource(trials, bare, inside), COLORS) is None


@pytest.mark.slow
def test_report_page_has_a_photo_section_only_if_image_files_exist(tmp_path: Path) -> None:
    kinds = [{}, {"head_target": "pen"}, {"head_target": "cup"}]
    named = [stimulus(f"{n} <b>", points=POINTS, **kinds[n % 3]) for n in range(9)]
    shown = drawn(tmp_path, *named)
    trials = simulate(Observer("head"), shown, prompts=2, respondent="c <i>")
    report = analyze(trials, GazeOptions(bootstrap=0))
    write_gaze_report(report, tmp_path / "out", photos=PhotoSource(trials, shown, tmp_path))
    text = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    page = parsed(text)
    assert ">Eyes, head and choices <a " in text
    # The page shows one photo per condition, and all nine sorted by disagreement.
    assert len(page.all("article")) == 3 + 9
    assert "<b>" not in text
    assert text.count("data:image/webp") == 3 + 9
    assert "chosen by c &lt;i&gt;" in text
    # Without the files, only the photo section is missing.
    write_gaze_report(report, tmp_path / "out", photos=PhotoSource(trials, shown, tmp_path / "none"))
    text = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert ">Photos <a " not in text
    assert ">Every test <a " in text


Answered = tuple[Trials, tuple[Stimulus, ...]]


@pytest.fixture(scope="module")
def disputed() -> Answered:
    """Return trials of two respondents; on the photo `disputed`, mean shares of the objects are 1/3, 1/6 and 1/2."""
    heads = {"calm": "pen", "disputed": "cup", "free": None}
    stimuli = tuple(stimulus(name, head_target=head, image=f"{name}.png") for name, head in heads.items())
    choices = {
        "calm": [("a", "pen"), ("b", "pen")],
        "disputed": [("a", "cup"), ("a", "cup"), ("a", "pen"), ("b", "key")],
        "free": [("a", "cup"), ("b", "cup"), ("b", None), ("a", "pen")],
    }
    answers = [(who, photo, choice) for photo, answers in choices.items() for who, choice in answers]
    return answered(answers, *stimuli), stimuli


def test_disagreement_equals_a_hand_calculation(disputed: Answered) -> None:
    found = disagreement(disputed[0])
    assert found["stimulus_id"].to_list() == ["disputed", "free", "calm"]
    # On `free`, respondent a chooses the cup half of the time and b always: the shares are 3/4 and 1/4.
    expected = [1 - (1 / 9 + 1 / 36 + 1 / 4), 1 - (9 / 16 + 1 / 16), 0]
    assert found["disagreement"].to_list() == pytest.approx(expected)


def test_photo_browser_has_a_row_for_each_photo_with_its_targets_and_choices(
    disputed: Answered, tmp_path: Path
) -> None:
    trials, stimuli = disputed
    section = browser(trials, None, COLORS)
    assert section.photos is None
    (group,) = section.tables[0].groups
    assert [[cell.text for cell in row] for row in group.rows] == [
        ["disputed", "incongruent", "front", "1", "pen", "cup", "61", "cup 2, pen 1", "key 1"],
        ["free", "natural", "front", "1", "pen", "free", "38", "cup 1, pen 1", "? 1, cup 1"],
        ["calm", "congruent", "front", "1", "pen", "pen", "0", "pen 1", "pen 1"],
    ]
    for name in ("calm", "disputed"):
        Image.new("RGB", (40, 20)).save(tmp_path / f"{name}.png")
    with_files = browser(trials, PhotoSource(trials, stimuli, tmp_path), COLORS)
    assert [card.title.split(":")[0] for card in with_files.photos.cards] == ["disputed", "calm"]
