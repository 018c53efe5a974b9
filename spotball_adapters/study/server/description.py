"""Describe a study for its participants: texts, number of images, duration, pay and the example."""

from __future__ import annotations

from math import ceil
from typing import Any

from spotball_adapters.study.results.bonus import unpaid_rules
from spotball_adapters.study.results.exclusion import exclusion_of
from spotball_adapters.study.server.images import Images
from spotball_adapters.study.setup.design import StudyDesign
from spotball_adapters.study.setup.texts import to_html

SECONDS_PER_IMAGE = 20
"""Average time per image of the participants in the Spot the Ball paper: 17.3 minutes for 52 images (section 4.4)."""


def description(design: StudyDesign, images: Images, *, pilot: bool) -> dict[str, Any]:
    """Return what participants read about a study before they begin, as JSON values.

    Args:
        design: the study's design.
        images: the study's images, from which the addresses of the example images are taken.
        pilot: whether the study runs as a pilot.
    """
    config = design.config
    exclusion = exclusion_of(config.exclusion)
    unpaid = unpaid_rules(exclusion)
    n_images = max(len(study_list.images) + len(study_list.checks) for study_list in config.lists)
    example = None
    if design.example:
        image = design.example[1]
        example = {
            "with_ball": images.address(("", "0"), "example"),
            "without_ball": images.address(("", "1"), "example"),
            "width": image.width,
            "height": image.height,
            "synthetic": config.example is not None and config.example.synthetic,
        }
    return {
        "title": config.title,
        "task": config.task,
        "texts": {name: to_html(getattr(config.texts, name)) for name in ("consent", "instructions", "explanation")},
        "explanation_letters": config.explanation_letters,
        "explanations": config.explanations,
        "pay": {
            "base": config.pay.base,
            "bonus": f"{config.pay.bonus:.2f}",
            "currency": config.pay.currency,
            "min_seconds": exclusion.min_seconds if "fast" in unpaid else None,
            "clock": "clock" in unpaid,
            "checks": any(study_list.checks for study_list in config.lists),
        },
        "min_minutes": ceil(config.completion.min_minutes),
        "pilot": pilot,
        "records": config.record.model_dump(),
        "display": config.display.model_dump(),
        "questionnaires": [questionnaire.public(config.language) for questionnaire in config.questionnaires],
        "quiz": config.quiz and config.quiz.public(config.language),
        "example": example,
        "n_images": n_images,
        "minutes": config.minutes or ceil(n_images * SECONDS_PER_IMAGE / 60),
    }
