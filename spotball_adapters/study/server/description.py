"""Describe a study for its participants (texts, images, duration, pay and the example), and how far each has got."""

from __future__ import annotations

from math import ceil
from typing import Any

from spotball_adapters.study.events import StudyTrial
from spotball_adapters.study.progress import ENDS, ParticipantProgress
from spotball_adapters.study.results.bonus import unpaid_rules
from spotball_adapters.study.results.exclusion import exclusion_of
from spotball_adapters.study.server.images import Images
from spotball_adapters.study.server.sessions import Session, Sessions
from spotball_adapters.study.setup.design import StudyDesign
from spotball_core.errors import MissingExtraError


def to_html(text: str) -> str:
    """Convert Markdown (CommonMark and tables) to HTML. Images are not supported.

    Examples:
        >>> to_html("Thank *you*. <script>alert(1)</script>")
        '<p>Thank <em>you</em>. &lt;script&gt;alert(1)&lt;/script&gt;</p>\\n'
        >>> to_html("[us](https://example.org)")
        '<p><a href="https://example.org" target="_blank" rel="noopener noreferrer">us</a></p>\\n'
        >>> to_html("[us](javascript:alert%281%29)")
        '<p>[us](javascript:alert%281%29)</p>\\n'
    """
    try:
        from markdown_it import MarkdownIt
    except ImportError as error:
        raise MissingExtraError("the human study", "study") from error

    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    tokens = parser.parse(text)
    for token in tokens:
        for child in token.children or ():
            if child.type == "link_open":
                # A link must not navigate the participant away from the study.
                child.attrSet("target", "_blank")
                child.attrSet("rel", "noopener noreferrer")
    html: str = parser.renderer.render(tokens, parser.options, {})
    return html


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


class States:
    """Describe the states of participants as JSON values for the page.

    Args:
        design: the study's design.
        sessions: the sessions, which provide feedback on practice items.
        images: the study's images, which give the addresses of the items' images.
        pilot: whether the study runs as a pilot. Only a pilot's states contain the name of the list.
    """

    def __init__(self, design: StudyDesign, sessions: Sessions, images: Images, *, pilot: bool) -> None:
        self._design, self._sessions, self._images, self._pilot = design, sessions, images, pilot
        self._debriefing = to_html(design.config.texts.debriefing)

    def of(self, session: Session) -> dict[str, Any]:
        """Return the state of a session's participant as JSON values. The caller must hold the session's lock."""
        progress = session.progress
        current, answered = progress.current, progress.answers
        clicks = progress.pending
        if current is not None and current.trial in progress.answered:
            clicks = progress.answered[current.trial].answer.clicks
        items = [self._item(trial, progress) for trial in session.participant.trials]
        ended, quiz = progress.stage in ENDS, self._design.config.quiz
        completion = self._design.config.completion.of(screened=progress.stage == "screened")
        finished = progress.stage == "finished"
        wait = ceil(self._sessions.seconds_left(session.participant)) if finished and completion else 0
        return {
            "participant": session.participant.participant,
            **({"list": session.participant.list} if self._pilot else {}),
            "stage": progress.stage,
            "trials": [item for item in items if item["trial"] >= 0],
            "practice": [item for item in items if item["trial"] < 0],
            "progress": {
                "answered": len(answered),
                "trial": current and current.trial,
                "clicks": [list(click.cell) for click in clicks],
                "explained": [answer.trial.trial for answer in answered if answer.explanation is not None],
            },
            "seq": progress.seq,
            "questionnaire": progress.questionnaire and progress.questionnaire.name,
            "survey": progress.survey,
            "quiz": quiz
            and {
                "attempts": len(progress.quiz),
                "left": progress.attempts_left,
                "passed": any(not attempt.wrong for attempt in progress.quiz),
            },
            "completion": (completion or None) if ended and not wait else None,
            "wait": wait,
            "debriefing": self._debriefing if finished else None,
        }

    def _item(self, trial: StudyTrial, progress: ParticipantProgress) -> dict[str, Any]:
        picture = self._design.pictures[trial.key]
        item = {
            "trial": trial.trial,
            "type": self._design.item_type.name,
            "image": self._images.address(trial.key, "trial" if trial.trial >= 0 else "practice"),
            "width": picture.width,
            "height": picture.height,
            "explain": trial.explain,
            **self._design.item_type.public(trial),
        }
        feedback = self._sessions.feedback(progress, trial.trial)
        return item if feedback is None else {**item, "feedback": feedback}
