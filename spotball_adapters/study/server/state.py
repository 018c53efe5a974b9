"""Describe the state of a participant for the page: stage, items, progress, and completion code or address."""

from __future__ import annotations

from math import ceil
from typing import Any

from spotball_adapters.study.events import StudyTrial
from spotball_adapters.study.progress import ENDS, ParticipantProgress
from spotball_adapters.study.server.images import Images
from spotball_adapters.study.server.sessions import Session, Sessions
from spotball_adapters.study.setup.design import StudyDesign
from spotball_adapters.study.setup.texts import to_html


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
