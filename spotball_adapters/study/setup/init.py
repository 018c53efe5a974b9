"""Create a study.toml for a dataset, which the researcher then edits.

If participants choose objects, the photos are divided into lists. Apart from attention checks, no photo is in two
lists, so all photos are shown about equally often.
"""

from __future__ import annotations

import json
import math
import os
import tomllib
from collections import defaultdict
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Literal

from spotball_adapters.study.setup.config import CONFIG, ExampleConfig, ListConfig, StudyConfig, read_config
from spotball_adapters.study.setup.example import copy_example, draw_example, find_example, has_originals
from spotball_core.errors import InputError, OptionError, unknown_name
from spotball_core.gaze.data.stimuli import Stimulus, read_stimuli
from spotball_core.io.dataset import SCENES
from spotball_core.io.scenes import read_scenes
from spotball_core.random import generator_for
from spotball_core.schema.scene import Scene
from spotball_core.service.files import replacing

PER_LIST = 45
"""Default maximum number of photos per list, as in the gaze paper."""

PRACTICE = 3
"""Number of practice photos, as in the gaze paper. They are attention checks, which appear again later."""


def lists_of_stimuli(stimuli: Sequence[Stimulus], *, per_list: int | None = None, seed: int = 0) -> list[ListConfig]:
    """Return the lists of photos. Each list contains all attention checks; the first three of them are also its
    practice items.

    Args:
        stimuli: stimuli, including attention checks if there are any.
        per_list: maximum number of photos per list. If it is None, the `list_id` of the stimuli is used, and photos
            without a `list_id` are excluded; if no photo has a `list_id`, the maximum is 45.
        seed: seed for distributing photos to lists.
    """
    checks = tuple(stimulus.stimulus_id for stimulus in stimuli if stimulus.attention_check)
    photos = [stimulus for stimulus in stimuli if not stimulus.attention_check]
    if per_list is None and any(stimulus.list_id is not None for stimulus in photos):
        by_list: defaultdict[int, list[str]] = defaultdict(list)
        for stimulus in photos:
            if stimulus.list_id is not None:
                by_list[stimulus.list_id].append(stimulus.stimulus_id)
        lists = dict(sorted(by_list.items()))
    else:
        lists = dict(enumerate(dealt(photos, per_list or PER_LIST, seed)))
    return [
        ListConfig(name=f"list-{number}", images=tuple(images), checks=checks, practice=checks[:PRACTICE])
        for number, images in lists.items()
    ]


def dealt(photos: Sequence[Stimulus], per_list: int, seed: int = 0) -> list[list[str]]:
    """Distribute photos to as few lists as possible, like cards: photos are sorted by kind, shuffled within each kind,
    and dealt to one list after the other.

    The sizes of two lists therefore differ by at most one, in total and for each kind. Photos are of the same kind if
    they have the same condition, number of objects, proximity and view.

    Args:
        photos: stimuli without attention checks.
        per_list: maximum number of photos per list.
        seed: seed of the shuffling.

    Returns:
        For each list, the ids of its stimuli.
    """
    kinds: defaultdict[tuple[str, int, int, str], list[str]] = defaultdict(list)
    for stimulus in photos:
        kinds[stimulus.condition, len(stimulus.objects), stimulus.proximity, stimulus.view].append(stimulus.stimulus_id)
    rng = generator_for(seed, "lists")
    cards = [names[i] for _, names in sorted(kinds.items()) for i in rng.permutation(len(names))]
    n = math.ceil(len(cards) / per_list)
    return [cards[number::n] for number in range(n)]


EXPLANATIONS = 10
"""Number of images for which participants in the Spot the Ball paper were asked to explain their answers."""

TO_FILL_IN = "NAME, INSTITUTION, EMAIL"
"""Placeholders in the texts that the researcher must replace."""


def init_study(
    dataset: Path,
    out: Path,
    *,
    sports: Sequence[str] = (),
    images: int | None = None,
    seed: int = 0,
    task: Literal["clicks", "choice"] = "clicks",
    originals: Path | None = None,
    language: Literal["en", "de"] = "en",
) -> StudyConfig:
    """Write OUT/study.toml for a dataset, and return the configuration.

    If participants click cells, there is one list per sport. Its test images are images with a hidden ball. One more
    image with a hidden ball is shown for practice, unless `images` selects all of them. Images with a visible ball
    (controls) are the attention checks, at most as many as test images. If participants choose objects,
    `choice_lists.lists_of_stimuli` creates the lists.

    Args:
        dataset: the dataset's folder. If participants choose objects, the folder with the file of stimuli, or the file
            itself.
        out: the study's folder.
        sports: the sports to include; all sports if empty. Applies only if participants click cells.
        images: number of random images per sport; None for all images except those reserved for practice and for the
            example. If participants choose objects, the maximum number of photos per list.
        seed: seed for selecting images, which is also written into study.toml as the study's seed.
        task: whether participants click cells or choose objects.
        originals: a folder with the images from before the ball was removed, for the example; see
            `example.copy_example`.
        language: language of the texts for participants.

    Raises:
        OptionError: if the study already exists, if a sport does not exist, if there are too few images, or if an
            option does not apply to the task.
        InputError: if the dataset's scenes or stimuli are missing or invalid.
    """
    if (out / CONFIG).exists():
        raise OptionError(f"{out / CONFIG} already exists. Use another folder with --out", code="output-exists")
    words = _words(language, task)
    if task == "clicks":
        needs_example = find_example(dataset) is None
        lists, spare = _lists_of_scenes(dataset, sports, images, seed, originals, needs_example=needs_example)
        words |= _CLICKS
        if originals is not None and not has_originals(dataset, spare, originals):
            raise OptionError(
                "--originals: the example of the instructions must be an image that participants do not see, but "
                f"{originals} contains none of these {len(spare)} images. Give its files the names of the images in "
                "the dataset, or use fewer --images"
            )
        example = find_example(dataset) or copy_example(dataset, spare, originals, out) or draw_example(out)
    else:
        if sports or originals:
            raise OptionError(
                "--sport and --originals have no effect with --task choice. Remove them", code="conflicting-options"
            )
        example = None
        path, stimuli = _stimuli_of(dataset)
        asked = _CHOICE.format(stimuli=json.dumps(path.name), question=words["question"])
        dataset, words = path.parent, {**words, **_CHOICES, "asked": asked}
        lists = _lists_of_choices(path, stimuli, images, seed)
    explanations = min(EXPLANATIONS, *(len(study_list.images) for study_list in lists)) if task == "clicks" else 0
    n_shown = max(len(study_list.images) + len(study_list.checks) for study_list in lists)
    text = files("spotball_adapters.study.setup").joinpath("study.toml.in").read_text(encoding="utf-8")
    for name, value in {
        "dataset": json.dumps(Path(os.path.relpath(dataset, out)).as_posix()),
        "task": json.dumps(task),
        "language": json.dumps(language),
        "seed": str(seed),
        "explanations": str(explanations),
        **words,
        "lists": "\n".join(map(_list_text, lists)),
        "example": _example_text(example) if example else "",
        "shown": str(n_shown),
        "to_fill_in": TO_FILL_IN,
    }.items():
        text = text.replace(f"@{name}@", value)
    with replacing(out / CONFIG) as beside:
        beside.write_text(text, encoding="utf-8", newline="\n")
    return read_config(out)


def _lists_of_scenes(
    dataset: Path,
    sports: Sequence[str],
    images: int | None,
    seed: int,
    originals: Path | None,
    *,
    needs_example: bool,
) -> tuple[list[ListConfig], list[Scene]]:
    """Return one list per sport, and the scenes that are in no list.

    If `images` is None, one image of each sport is reserved for practice, and one more of the first sport with original
    images for the example.
    """
    by_sport: defaultdict[str, list[Scene]] = defaultdict(list)
    for scene in read_scenes(dataset / SCENES):
        if scene.path is not None:
            by_sport[scene.sport].append(scene)
    if missing := [sport for sport in sports if sport not in by_sport]:
        raise OptionError(unknown_name("sport", missing[0], sorted(by_sport)), code="unknown-name", field="--sport")
    if not by_sport:
        expected = "scenes with images"
        raise InputError.of("missing-value", dataset / SCENES, "path", "no image path", expected)
    lists: list[ListConfig] = []
    spare: list[Scene] = []
    for sport in sports or sorted(by_sport):
        keeps = 2 if needs_example and not spare and has_originals(dataset, by_sport[sport], originals) else 1
        study_list, rest = _list_of(sport, by_sport[sport], images, seed, keeps=keeps)
        lists.append(study_list)
        spare += rest
    return lists, spare


def _list_of(
    sport: str, all_scenes: Sequence[Scene], images: int | None, seed: int, *, keeps: int
) -> tuple[ListConfig, list[Scene]]:
    checks = [scene.image for scene in all_scenes if scene.control and scene.ball_cells]
    tests = [scene for scene in all_scenes if not scene.control]
    if not tests:
        raise OptionError(
            f"{sport}: all images are controls (the ball is visible). Use another sport with --sport", code="no-data"
        )
    if images is not None and not 1 <= images <= len(tests):
        raise OptionError(
            f"found {images}, expected 1 to {len(tests)}, the number of images of {sport} with a hidden ball",
            field="--images",
        )
    order = generator_for(seed, "images", sport).permutation(len(tests)).tolist()
    if images is None:
        # The only image is shown, so none is left for practice.
        outside = [i for i in order if tests[i].ball_cells][-min(keeps, len(tests) - 1) :] if len(tests) > 1 else []
        chosen = sorted(set(order) - set(outside))
    else:
        chosen = sorted(order[:images])
        outside = [i for i in order[images:] if tests[i].ball_cells]
    listed = [tests[i].image for i in chosen]
    practice = [tests[i].image for i in outside[:1]]
    study_list = ListConfig(
        name=sport, sport=sport, images=tuple(listed), checks=tuple(checks[: len(listed)]), practice=tuple(practice)
    )
    return study_list, [tests[i] for i in outside[1:]]


def _stimuli_of(dataset: Path) -> tuple[Path, tuple[Stimulus, ...]]:
    """Return the path of the stimuli file, and the stimuli in it. `dataset` is this file or its folder."""
    if dataset.is_file():
        return dataset, read_stimuli(dataset)
    paths = sorted(dataset.glob("stimuli*.csv"))
    if not paths:
        raise InputError.of(
            "wrong-folder", dataset, "folder", "no stimuli*.csv", "a stimuli file, which --task choice requires"
        )
    if len(paths) > 1:
        raise OptionError(
            f"{dataset} contains several stimuli files: {', '.join(path.name for path in paths)}. Name "
            "one of them instead of the folder",
            code="ambiguous-name",
        )
    return paths[0], read_stimuli(paths[0])


def _lists_of_choices(path: Path, stimuli: Sequence[Stimulus], per_list: int | None, seed: int) -> list[ListConfig]:
    lists = lists_of_stimuli(stimuli, per_list=per_list, seed=seed)
    if not lists:
        raise InputError.of(
            "no-data", path, "attention_check", "true in all rows", "at least one photo that is not an attention check"
        )
    for study_list in lists:
        if len(study_list.checks) > len(study_list.images):
            raise OptionError(
                f"{study_list.name}: found {len(study_list.checks)} attention checks, expected at most "
                f"{len(study_list.images)}, the number of photos. Mark fewer photos as `attention_check`, or use more "
                "--images",
                code="invalid-value",
            )
    return lists


def _list_text(study_list: ListConfig) -> str:
    fields = {
        "name": study_list.name,
        "sport": study_list.sport,
        "images": study_list.images,
        "checks": study_list.checks,
    }
    fields["practice"] = study_list.practice
    lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items()]
    return "\n".join(["[[lists]]", *lines, ""])


def _example_text(example: ExampleConfig) -> str:
    lines = [
        "# The instructions show this image before and after its ball was removed. The paths are relative to this",
        "# folder or to the dataset's folder. With synthetic = true, the page says that the example is a drawing.",
        "[example]",
        f"with_ball = {json.dumps(example.with_ball)}",
        f"without_ball = {json.dumps(example.without_ball)}",
        f"synthetic = {json.dumps(example.synthetic)}",
    ]
    return "\n".join([*lines, ""])


_CHOICE = """\
[choice]
# The file of the stimuli, in the dataset's folder.
stimuli = {stimuli}
question = {question}
# Whether practice items show the correct answer.
feedback = true
"""

_CLICKS = {
    "bonus": "1.00",
    "asked": """\
[clicks]
# The number of cells to choose on each image.
per_image = 3
""",
    "missed": "one click outside the ball's cells on a check excludes the participant, as in the paper",
}
"""Texts of study.toml for the task `clicks`; `_CHOICES` has the texts for the task `choice`."""

_CHOICES = {"bonus": "0.00", "missed": "one wrong choice on a check excludes the participant"}


def _words(language: str, task: str) -> dict[str, str]:
    """Return the texts for participants in a language, by placeholder in the template of study.toml."""
    file = files("spotball_adapters.study.setup").joinpath(f"words/{language}.toml")
    words = tomllib.loads(file.read_text(encoding="utf-8"))
    words |= words[task]
    texts = {name: words[name].strip() for name in ("consent", "instructions", "debriefing")}
    return (
        texts
        | {name: json.dumps(words[name], ensure_ascii=False) for name in ("title", "explanation")}
        | {"question": json.dumps(words.get("question", ""), ensure_ascii=False)}
    )
