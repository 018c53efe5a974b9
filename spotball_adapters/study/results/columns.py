"""The columns of the tables that an export writes beside responses, and what they mean: for files and documentation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from spotball_adapters.study.questions import worded
from spotball_adapters.study.results.exclusion import RULES
from spotball_adapters.study.surveys import PARTICIPANT, Questionnaire

if TYPE_CHECKING:
    import polars as pl

Columns = Mapping[str, tuple[Literal["text", "whole number", "number", "true or false"], str]]
"""Of each column, its type and its meaning."""

PARTICIPANTS: Columns = MappingProxyType(
    {
        "participant": ("text", "their label"),
        "list": ("text", "the list they saw"),
        "finished": ("true or false", "whether they came to the end"),
        "minutes": ("number", "from consent to the last answer; empty for who did not finish"),
        "answers": ("whole number", "images answered, checks among them"),
        "median_seconds": (
            "number",
            "how long an image was on the screen until it was answered, by the browser's clock, the median",
        ),
        "server_seconds": (
            "number",
            "seconds per image by the server's clock, from consent (or the end of the quiz) to the last answer",
        ),
        "accuracy": ("number", "share of clicks (or choices) on test images that are right"),
        "clicks_off_checks": ("whole number", "clicks on attention checks outside the ball's cells, or wrong choices"),
        "excluded": (
            "text",
            "the rules by which they are excluded, or `unfinished` or `screened-out`; empty for who is kept",
        ),
        "times_away": ("whole number", "how often the page was out of sight; empty if the study does not record it"),
        "seconds_away": ("number", "for how long in all"),
        "viewport_width": ("number", "of the browser's window at the first image, in CSS pixels"),
        "viewport_height": ("number", "of the browser's window at the first image, in CSS pixels"),
        "pixel_ratio": ("number", "device pixels per CSS pixel"),
        "device": (
            "text",
            "computer, tablet, phone or other; this and the next three are empty if not recorded",
        ),
        "browser": ("text", "the browser and its main version"),
        "system": ("text", "the operating system"),
        "language": ("text", "the browser's"),
        "repeated_share": ("number", "the largest share of test images with near-identical answers"),
        "pattern_share": ("number", "the largest share of test images whose answers follow a pattern"),
        "explanations": ("whole number", "explanations that were written"),
        "poor_explanations": ("whole number", "how many are of low quality"),
        "duplicated_explanations": ("whole number", "how many are duplicates"),
        "quiz_attempts": ("whole number", "attempts at the comprehension quiz; empty without a quiz"),
        "screened_out": ("true or false", "whether the participation ended because the quiz was failed"),
        "times_left_fullscreen": (
            "whole number",
            "how often they left full screen before the end; empty if the study does not require it",
        ),
        "small_windows": ("whole number", "images answered in a window smaller than the study requires"),
        **{
            f"flag_{name.replace('-', '_')}": (
                "true or false",
                f"the rule `{name}` applies, even if it is not in force",
            )
            for name in RULES
        },
    }
)
CLICKS: Columns = MappingProxyType(
    {
        "participant": ("text", "their label"),
        "order": ("whole number", "the image's place among those they saw, from 1"),
        "sport": ("text", "the image's sport"),
        "image": ("text", "the image's id"),
        "check": ("true or false", "it was an attention check"),
        "click": ("whole number", "the click's number on the image, from 1"),
        "row": ("whole number", "the cell's, from 1"),
        "col": ("whole number", "the cell's, from 1"),
        "x": ("number", "where in the image, as a share of its width"),
        "y": ("number", "the same of its height"),
        "by": ("text", "mouse, touch, pen or keyboard"),
        "seconds": ("number", "since the image was shown, by the browser's clock"),
        "answer_seconds": ("number", "that the image was on the screen until its clicks were confirmed"),
        "server_answer_seconds": (
            "number",
            "the same by the server's clock; shorter where the network was lost and all came at once",
        ),
    }
)
TRIALS: Columns = MappingProxyType(
    {
        "respondent": ("text", "`human`"),
        "stimulus_id": ("text", "the photo's id"),
        "prompt_id": ("text", "`base`: people are asked in one way"),
        "condition": ("text", "natural, congruent or incongruent"),
        "view": ("text", "front, left or right"),
        "proximity": ("whole number", "1 to 3"),
        "objects": ("text", "in their order along the table, joined by +"),
        "gaze_target": ("text", "the right one"),
        "head_target": ("text", "the one that the head points to; empty in the natural condition"),
        "choice": ("text", "the one that was chosen"),
        "participant": ("text", "their label"),
        "response_time": ("number", "seconds that the photo was on the screen until then"),
        "actor": ("text", "who is looking, where that is known"),
        "scene": ("text", "where the photo was taken, where that is known"),
        "attention_check": ("true or false", "it was an attention check, which an analysis leaves out and counts"),
        "order": ("whole number", "its place among those they saw, from 1"),
        "explanation": ("text", "in the participant's words"),
        "server_response_time": (
            "number",
            "seconds by the server's clock; shorter where the network was lost and all came at once",
        ),
    }
)


RESPONSES: Columns = MappingProxyType(
    {
        "sport": ("text", "the image's sport"),
        "image": ("text", "the image's id"),
        "respondent": ("text", "what the participants are called together"),
        "kind": ("text", "`human`"),
        "prompt": ("text", "`base`: people are asked in one way"),
        "sample": ("whole number", "the click's number on the image, from 1"),
        "participant": ("text", "their label"),
        "cell": ("text", "the cell that was clicked, such as D5: row letter from the top, column number from the left"),
        "reasoning": ("text", "the explanation of the answer, with its first click"),
    }
)
QUIZ: Columns = MappingProxyType(
    {
        "participant": ("text", "their label"),
        "attempt": ("whole number", "from 1"),
        "question": ("text", "the question's name"),
        "answer": ("text", "the values of the options that were chosen, joined by ` | `"),
        "right": ("true or false", "whether the answer is right"),
    }
)
MOUSE: Columns = MappingProxyType(
    {
        "participant": ("text", "their label"),
        "order": ("whole number", "the image's place among those they saw, from 1"),
        "sport": ("text", "the image's sport"),
        "image": ("text", "the image's id"),
        "path": (
            "whole number",
            "which of their paths over this image, from 1; another begins after a reload",
        ),
        "milliseconds": ("whole number", "since the image was shown, by the browser's clock"),
        "x": ("number", "where in the image, as a share of its width; below 0 or above 1 next to it"),
        "y": ("number", "the same of its height"),
    }
)


def survey_columns(questionnaires: Sequence[Questionnaire], language: str) -> Columns:
    """Return the columns of questionnaires.csv, which follow from study.toml: one for each question, by its name."""
    types: Mapping[str, Literal["text", "whole number", "number"]] = {"scale": "whole number", "number": "number"}
    return {
        PARTICIPANT: ("text", "their label"),
        **{
            question.name: (types.get(question.type, "text"), worded(question.text, language))
            for questionnaire in questionnaires
            for question in questionnaire.questions
        },
    }


def frame(columns: Columns, rows: Sequence[tuple[object, ...]]) -> pl.DataFrame:
    """Rows as a frame with these columns, none empty of its type even where there are no rows."""
    import polars as pl

    types = {"text": pl.String, "whole number": pl.Int64, "number": pl.Float64, "true or false": pl.Boolean}
    return pl.DataFrame(rows, schema={name: types[kind] for name, (kind, _) in columns.items()}, orient="row")
