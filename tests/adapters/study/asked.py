"""Sample questionnaires and a quiz for a study.toml, with answers to them."""

from __future__ import annotations

from pathlib import Path

from spotball_adapters.study.setup.config import CONFIG

QUESTIONNAIRES = """
[[questionnaires]]
name = "background"
title = { en = "About you", de = "Über Sie" }
text = "Please answer a few questions."

[[questionnaires.questions]]
name = "plays"
type = "choice"
text = { en = "Do you play a ball sport?", de = "Spielen Sie einen Ballsport?" }
options = [{ value = "yes", text = { en = "Yes", de = "Ja" } }, { value = "no", text = { en = "No", de = "Nein" } }]

[[questionnaires.questions]]
name = "sports"
type = "choices"
text = "Which?"
options = ["soccer", "tennis", "other"]
show_if = { question = "plays", equals = "yes" }

[[questionnaires.questions]]
name = "years"
type = "number"
text = "For how many years?"
min = 0
max = 90
show_if = { question = "plays", equals = "yes" }

[[questionnaires.questions]]
name = "how"
type = "text"
text = "How did you learn it?"
required = false
max_length = 60
show_if = { question = "years", at_least = 10 }

[[questionnaires]]
name = "effort"
when = "after"
title = "At the end"

[[questionnaires.questions]]
name = "hard"
type = "scale"
text = "How hard was it?"
min = 1
max = 5
low = "very easy"
high = "very hard"

[[questionnaires.questions]]
name = "why"
type = "text"
text = "What made it hard?"
show_if = { question = "hard", at_least = 4 }
"""

QUIZ = """
[quiz]
attempts = 2
failure = "screened-out"

[[quiz.questions]]
name = "task"
type = "choice"
text = "What do you look for?"
options = ["the ball", "the referee"]
right = "the ball"

[[quiz.questions]]
name = "cells"
type = "choices"
text = "Which of these is true?"
options = ["three cells are chosen", "a cell may be chosen again", "there is a time limit"]
right = ["three cells are chosen", "a cell may be chosen again"]
"""

PLAYER = {"plays": "yes", "sports": ["soccer", "other"], "years": 12.5, "how": 'Às a child, "at" home'}
RIGHT = {"task": "the ball", "cells": ["three cells are chosen", "a cell may be chosen again"]}
WRONG = {"task": "the referee", "cells": ["there is a time limit"]}


def add(study: Path, *tables: str) -> Path:
    """Append tables to a study.toml, and return the study's folder."""
    path = study / CONFIG
    path.write_text(path.read_text(encoding="utf-8") + "".join(tables), encoding="utf-8")
    return study
