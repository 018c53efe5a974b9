"""Load the design of a study: its configuration, its items with ground truth, and its image files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from spotball_adapters.study.events import StudyTrial
from spotball_adapters.study.items import Clicks, ItemType, Key, ObjectChoice
from spotball_adapters.study.metadata import without_metadata
from spotball_adapters.study.setup.assignment import draw_trials
from spotball_adapters.study.setup.catalogs import catalog
from spotball_adapters.study.setup.config import CONFIG, ListConfig, StudyConfig, read_config
from spotball_adapters.study.surveys import Surveys, faults
from spotball_core.errors import InputError, MissingExtraError, Problem
from spotball_core.gaze.data.stimuli import Stimulus, read_stimuli
from spotball_core.io.dataset import SCENES
from spotball_core.io.scenes import read_scenes
from spotball_core.schema.scene import Scene
from spotball_core.service.images import open_image
from spotball_core.service.paths import data_file

FORMATS = {"JPEG": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp"}
"""Media types of the image formats that every browser can show, by the name of the format in Pillow."""

ORIENTATION = 0x0112
"""Number of the EXIF field with an image's orientation."""


@dataclass(frozen=True, slots=True)
class StudyImage:
    """An image file that participants see.

    Attributes:
        path: path of the file.
        media_type: media type such as image/png.
        width: width in pixels, after the EXIF orientation is applied.
        height: height in pixels, after the EXIF orientation is applied.
        digest: SHA-256 of the file in hexadecimal.
        orientation: the EXIF orientation, from 1 (upright) to 8.
    """

    path: Path
    media_type: str
    width: int
    height: int
    digest: str
    orientation: int = 1


@dataclass(frozen=True)
class StudyDesign:
    """A study's configuration with the items and files that it refers to.

    Attributes:
        folder: the study's folder.
        config: the configuration in study.toml.
        scenes: scenes by (sport, image); empty for the task `choice`.
        stimuli: stimuli by (sport, image); empty for the task `clicks`.
        pictures: the images of all lists by (sport, image).
        example: the example images with and without the ball, or None if the study has no example.
    """

    folder: Path
    config: StudyConfig
    scenes: Mapping[Key, Scene]
    stimuli: Mapping[Key, Stimulus]
    pictures: Mapping[Key, StudyImage]
    example: tuple[StudyImage, StudyImage] | None

    @cached_property
    def item_type(self) -> ItemType:
        """Return the item type of the study: clicks on an image, or a choice among objects."""
        choice = self.config.choice
        if choice is not None and self.config.task == "choice":
            return ObjectChoice(self.stimuli, choice.question, feedback=choice.feedback)
        return Clicks(self.scenes, self.config.clicks.per_image)

    @cached_property
    def surveys(self) -> Surveys:
        """Return the questionnaires and the quiz."""
        return Surveys(self.config.questionnaires, self.config.quiz)

    def list_named(self, name: str) -> ListConfig:
        """Return the list with this name. Raise KeyError if it does not exist."""
        return {study_list.name: study_list for study_list in self.config.lists}[name]

    def trials(self, name: str, seed: int) -> tuple[StudyTrial, ...]:
        """Return the trials of a participant with this seed who sees the list `name`; see `assignment.draw_trials`."""

        def options(key: Key) -> tuple[str, ...]:
            return self.stimuli[key].objects if self.stimuli else ()

        return draw_trials(self.list_named(name), seed, explanations=self.config.explanations, options=options)

    @property
    def parts(self) -> dict[str, Any]:
        """Return the fixed parts of the study: settings and data that may not change after the first participant began.

        They are returned as JSON values by name.
        """
        config = self.config
        surveys: dict[str, Any] = {}
        # Only if there are any, so that a study of an earlier version stays the same.
        if config.questionnaires:
            surveys["questionnaires"] = [
                questionnaire.model_dump(mode="json") for questionnaire in config.questionnaires
            ]
        if config.quiz:
            surveys["quiz"] = config.quiz.model_dump(mode="json")
        return {
            **surveys,
            "task": config.task,
            "seed": config.seed,
            "explanations": config.explanations,
            "clicks": config.clicks.model_dump(mode="json"),
            "choice": config.choice and config.choice.model_dump(mode="json", exclude={"stimuli"}),
            "lists": [study_list.model_dump(mode="json") for study_list in config.lists],
            "texts.instructions": config.texts.instructions,
            "texts.explanation": config.texts.explanation,
            "example": self.example and [picture.digest for picture in self.example],
            "the dataset's scenes": _digest(
                [
                    self.scenes[key].model_dump_json(exclude={"path", "players", "player_outlines", "player_keypoints"})
                    for key in sorted(self.scenes)
                ]
            ),
            "the stimuli": _digest([f"{key} {self.stimuli[key].model_dump_json()}" for key in sorted(self.stimuli)]),
            "the images": _digest([f"{key} {self.pictures[key].digest}" for key in sorted(self.pictures)]),
        }


def load(folder: Path) -> StudyDesign:
    """Load a study's configuration with the items and files that it refers to.

    Raises:
        InputError: if study.toml is invalid, or if an item, an image or a catalog that it names is missing or invalid.
            The error lists all problems that were found.
        MissingExtraError: if Pillow is not installed.
    """
    config = read_config(folder)
    dataset = folder / config.dataset
    if config.task == "clicks":
        scenes, stimuli = {scene.key: scene for scene in read_scenes(dataset / SCENES)}, {}
    else:
        scenes, stimuli = {}, _stimuli(folder, config)
    problems = [
        Problem("invalid-value", str(folder / CONFIG), None, field, actual, expected)
        for field, actual, expected in _faults(config, scenes, stimuli)
    ]
    try:
        catalog(config.language, messages_file(folder, config))
    except InputError as error:
        problems.extend(error.problems)
    if problems:
        raise InputError(problems)
    keys = list(dict.fromkeys((study_list.sport, image) for study_list in config.lists for image in _all(study_list)))
    pictures: dict[Key, StudyImage] = {}
    for key in keys:
        size = (scenes[key].width, scenes[key].height) if scenes else None
        try:
            pictures[key] = _picture(dataset, scenes[key].path if scenes else stimuli[key].image, size)
        except InputError as error:
            problems.extend(error.problems)
    example = []
    for path in (config.example.with_ball, config.example.without_ball) if config.example else ():
        try:
            example.append(_picture(folder if (folder / path).is_file() else dataset, path, None))
        except InputError as error:
            problems.extend(error.problems)
    if problems:
        raise InputError(problems)
    return StudyDesign(
        folder,
        config,
        {key: scenes[key] for key in keys if scenes},
        {key: stimuli[key] for key in keys if stimuli},
        pictures,
        (example[0], example[1]) if example else None,
    )


def messages_file(folder: Path, config: StudyConfig) -> Path | None:
    """Return the path of the researcher's catalog of the page's texts, or None if study.toml does not name one.

    Raises:
        InputError: if study.toml names a catalog that is not a file within the study's folder.
    """
    if config.messages is None:
        return None
    return data_file(folder, config.messages, field="messages", description="a gettext catalog (.mo)")


def _all(study_list: ListConfig) -> tuple[str, ...]:
    return (*study_list.images, *study_list.checks, *study_list.practice)


def _faults(
    config: StudyConfig, scenes: Mapping[Key, Scene], stimuli: Mapping[Key, Stimulus]
) -> Iterator[tuple[str, str, str]]:
    """Yield each problem with the study's lists and questions as (field, value found, value expected)."""
    if config.task == "choice" and config.choice is None:
        yield "choice", "nothing", 'the table [choice], which `task = "choice"` requires'
        return
    yield from faults(Surveys(config.questionnaires, config.quiz), config.language)
    names = [study_list.name for study_list in config.lists]
    for name in dict.fromkeys(name for name in names if names.count(name) > 1):
        yield "lists", f"{name!r} twice", "a different name for each list"
    for number, study_list in enumerate(config.lists, start=1):
        place = f"lists.{number}"
        scored = (*study_list.images, *study_list.checks)
        for image in dict.fromkeys(image for image in scored if scored.count(image) > 1):
            yield place, f"{study_list.sport}/{image} twice", "each image at most once in `images` and `checks`"
        if len(study_list.checks) > len(study_list.images):
            yield (
                f"{place}.checks",
                str(len(study_list.checks)),
                f"at most {len(study_list.images)}, the number of images",
            )
        if config.explanations > len(study_list.images):
            yield (
                "explanations",
                str(config.explanations),
                f"at most {len(study_list.images)}, the number of images in list {number}",
            )
        for field in ("images", "checks", "practice"):
            for image in getattr(study_list, field):
                key = (study_list.sport, image)
                is_known = key in scenes or key in stimuli
                if not is_known:
                    yield f"{place}.{field}", f"{study_list.sport}/{image}", "an image in the dataset"
                elif key in stimuli and stimuli[key].image is None:
                    yield (
                        f"{place}.{field}",
                        f"{study_list.sport}/{image} without an image path",
                        "an image with a path",
                    )
                elif field != "images" and key in scenes and not scenes[key].ball_cells:
                    yield (
                        f"{place}.{field}",
                        f"{study_list.sport}/{image} without ball cells",
                        "an image with ball cells",
                    )


def _stimuli(folder: Path, config: StudyConfig) -> dict[Key, Stimulus]:
    """Return the stimuli of a study by (sport, stimulus id) for the task `choice`, or an empty dictionary for the task
    `clicks`. Each stimulus is returned for each sport that a list names.
    """
    if config.choice is None:
        return {}
    sports = {study_list.sport for study_list in config.lists}
    file = data_file(folder / config.dataset, config.choice.stimuli, field="stimuli", description="a stimuli file")
    all_stimuli = read_stimuli(file)
    return {(sport, stimulus.stimulus_id): stimulus for stimulus in all_stimuli for sport in sports}


def _picture(dataset: Path, path: str | None, size: tuple[int, int] | None) -> StudyImage:
    """Return the description of an image file. Raise InputError if browsers cannot show the file, or if its width and
    height differ from `size`."""
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingExtraError("the human study", "study") from error

    file = data_file(dataset, path)
    try:
        with open_image(file, tuple(FORMATS)) as image:
            orientation = int(image.getexif().get(ORIENTATION, 1))
            width, height = image.size[::-1] if orientation in (5, 6, 7, 8) else image.size
            media_type = FORMATS[image.format or ""]
        data = file.read_bytes()
        orientation = orientation if 1 <= orientation <= 8 else 1
        without_metadata(data, media_type, orientation)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        expected = f"an image ({', '.join(FORMATS)})"
        raise InputError.of("unreadable-file", file, "image", f"an unreadable file ({error})", expected) from error
    if size is not None and size != (width, height):
        actual, expected = f"{width} x {height} pixels", f"{size[0]} x {size[1]}, the size in scenes.jsonl"
        raise InputError.of("invalid-value", file, "image", actual, expected)
    return StudyImage(file, media_type, width, height, hashlib.sha256(data).hexdigest(), orientation)


def _digest(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
