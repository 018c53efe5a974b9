"""Check a study before it starts, and list its problems."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from spotball_adapters.study.setup.config import CONFIG, ListConfig
from spotball_adapters.study.setup.design import StudyDesign, load
from spotball_core.errors import InputError, listed_values
from spotball_core.text.words import plural

FEWEST_IMAGES = 10
"""Minimum number of images per list. With fewer images, a participant's accuracy is too imprecise."""

PLACEHOLDERS = ("NAME", "INSTITUTION", "EMAIL", "AMOUNT", "XXXXXXXX")
"""Placeholders in a new study.toml that the researcher must replace."""

_PLACEHOLDER = re.compile(rf"\b({'|'.join(PLACEHOLDERS)})\b")


def check(folder: Path) -> list[str]:
    """Return all reasons why a study should not start yet, or an empty list if it may start.

    Args:
        folder: the study's folder.

    Raises:
        MissingExtraError: if Pillow is not installed.
    """
    try:
        design = load(folder)
    except InputError as error:
        return str(error).splitlines()
    return [f"{folder / CONFIG}: {problem}" for problem in problems(design)]


def problems(design: StudyDesign) -> Iterator[str]:
    """Yield a message for each problem of a loaded study: the field, what is wrong, and what to do."""
    config = design.config
    fields = {f"texts.{name}": text for name, text in config.texts.model_dump().items()}
    fields |= {"title": config.title, "pay.base": config.pay.base, "completion.url": config.completion.url or ""}
    fields |= {"completion.screened_url": config.completion.screened_url or ""}
    fields |= {"serve.prolific_studies": " ".join(config.serve.prolific_studies)}
    fields |= {
        f"questionnaires.{number} ({questionnaire.name})": questionnaire.model_dump_json()
        for number, questionnaire in enumerate(config.questionnaires, start=1)
    }
    fields |= {"quiz": config.quiz.model_dump_json()} if config.quiz else {}
    for field, text in fields.items():
        if words := list(dict.fromkeys(_PLACEHOLDER.findall(text))):
            yield f"{field}: the text still contains placeholders: {', '.join(words)}. Replace them with your own text"
    if "base" not in config.pay.model_fields_set:
        yield 'pay.base: the payment is missing. Add it, or write `base = "nothing"`'
    if config.completion.url is None and config.completion.code is None:
        yield (
            "completion: there is no `url` or `code`, so participants cannot prove that they finished. Add one of them"
        )
    if config.quiz and config.quiz.failure == "screened-out" and not config.completion.of(screened=True):
        yield (
            "completion: there is no `screened_url` or `screened_code`, so participants who fail the quiz cannot prove "
            "that they took part. Add one of them"
        )
    if config.database and config.database.has_password:
        yield (
            "database.url: the address contains a password. Move the password to the environment variable PGPASSWORD "
            "or to the file ~/.pgpass"
        )
    if config.task == "clicks" and design.example is None:
        yield "example: the instructions have no example images. Add `with_ball` and `without_ball`"
    for number, study_list in enumerate(config.lists, start=1):
        for problem in _problems_of_list(study_list, design):
            yield f"lists.{number} ({study_list.name}): {problem}"


def _problems_of_list(study_list: ListConfig, design: StudyDesign) -> Iterator[str]:
    if len(study_list.images) < FEWEST_IMAGES:
        yield f"found {len(study_list.images)} images, expected at least {FEWEST_IMAGES}. Add images"
    if not study_list.checks:
        suitable = "photos with an obvious answer" if design.config.task == "choice" else "images with a visible ball"
        yield f"there is no attention check. Add {suitable} to `checks`"
    if not study_list.practice:
        yield "there is no practice image. Move one of the images to `practice`"
    if design.config.task == "choice":
        return
    for image in study_list.practice:
        if image in study_list.checks:
            yield f"practice image {image} is also an attention check, but practice shows the answer. Use another image"
        elif image in study_list.images:
            yield f"practice image {image} is shown again later, but practice shows the answer. Use another image"
        elif design.scenes[study_list.sport, image].control:
            yield f"the ball is visible in practice image {image}. Use another image"
    unknown = [image for image in study_list.images if not design.scenes[study_list.sport, image].ball_cells]
    if unknown and design.config.pay.bonus:
        yield (
            f"{plural(len(unknown), 'image')} without ball cells in scenes.jsonl cannot earn a bonus: "
            f"{listed_values(unknown)}. Remove these images"
        )
