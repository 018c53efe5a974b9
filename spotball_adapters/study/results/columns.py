"""Define the columns of the exported tables, with descriptions for exported metadata and the documentation."""

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
"""Type and description of each column of a table, by column name."""

PARTICIPANTS: Columns = MappingProxyType(
    {
        "participant": ("text", "the participant's label"),
        "list": ("text", "the list of images that the participant saw"),
        "finished": ("true or false", "whether the participant finished the study"),
        "minutes": ("number", "minutes from consent to the last answer; empty for participants who did not finish"),
        "answers": ("whole number", "number of answered images, including attention checks"),
        "median_seconds": (
            "number",
            "median time that an image was on the screen before the answer, in seconds by the browser's clock",
        ),
        "server_seconds": (
            "number",
            "mean seconds per image by the server's clock, from consent (or the end of the quiz) to the last answer",
        ),
        "accuracy": ("number", "share of correct clicks (or choices) on test images"),
        "clicks_off_checks": (
            "whole number",
            "number of clicks outside the ball's cells, or of wrong choices, on attention checks",
        ),
        "excluded": (
            "text",
            "the rules that exclude the participant, or `unfinished` or `screened-out`; empty if not excluded",
        ),
        "times_away": (
            "whole number",
            "how often the page was hidden or not in focus; empty if not recorded",
        ),
        "seconds_away": ("number", "total seconds for which the page was hidden or not in focus"),
        "viewport_width": ("number", "width of the browser's window at the first image, in CSS pixels"),
        "viewport_height": ("number", "height of the browser's window at the first image, in CSS pixels"),
        "pixel_ratio": ("number", "device pixels per CSS pixel"),
        "device": (
            "text",
            "computer, tablet, phone or other; empty if the study does not record devices",
        ),
        "browser": ("text", "the browser and its major version; empty if the study does not record devices"),
        "system": ("text", "the operating system; empty if the study does not record devices"),
        "language": ("text", "the browser's language; empty if the study does not record devices"),
        "repeated_share": ("number", "share of test images in the largest group of near-identical answers"),
        "pattern_share": (
            "number",
            "share of test images whose answers follow the most frequent pattern, such as A1, A2, A3",
        ),
        "explanations": ("whole number", "number of explanations"),
        "poor_explanations": (
            "whole number",
            "number of explanations that are too short, random, or copied from the question",
        ),
        "duplicated_explanations": (
            "whole number",
            "number of explanations that the participant repeated, or that equal those of another participant",
        ),
        "quiz_attempts": ("whole number", "number of attempts at the comprehension quiz; empty without a quiz"),
        "screened_out": ("true or false", "whether the participation ended because of a failed quiz"),
        "times_left_fullscreen": (
            "whole number",
            "how often the participant left full screen before the end; empty if full screen is not required",
        ),
        "small_windows": ("whole number", "number of images answered in a window that was smaller than required"),
        **{
            f"flag_{name.replace('-', '_')}": (
                "true or false",
                f"whether the participant breaks the rule `{name}`, even if the study does not use it",
            )
            for name in RULES
        },
    }
)
CLICKS: Columns = MappingProxyType(
    {
        "participant": ("text", "the participant's label"),
        "order": ("whole number", "position of the image among those that the participant saw, from 1"),
        "sport": ("text", "the image's sport"),
        "image": ("text", "the image's id"),
        "check": ("true or false", "whether the image is an attention check"),
        "click": ("whole number", "number of the click on the image, from 1"),
        "row": ("whole number", "row of the cell, from 1"),
        "col": ("whole number", "column of the cell, from 1"),
        "x": ("number", "horizontal position as a fraction of the image's width"),
        "y": ("number", "vertical position as a fraction of the image's height"),
        "by": ("text", "input device: mouse, touch, pen or keyboard"),
        "seconds": ("number", "seconds since the image was shown, by the browser's clock"),
        "answer_seconds": ("number", "seconds that the image was on the screen before the clicks were confirmed"),
        "server_answer_seconds": (
            "number",
            "`answer_seconds` as measured by the server; shorter if events arrived together after a network failure",
        ),
    }
)
TRIALS: Columns = MappingProxyType(
    {
        "respondent": ("text", "`human`"),
        "stimulus_id": ("text", "the photo's id"),
        "prompt_id": ("text", "`base`: people answer only one prompt"),
        "condition": (
            "text",
            "the head: natural (free), congruent (points to `gaze_target`) or incongruent (points to another object)",
        ),
        "view": ("text", "the camera's position: front, left or right"),
        "proximity": ("whole number", "how close the objects are to each other, from 1 (farthest) to 3 (closest)"),
        "objects": ("text", "the objects in their order on the table, joined by +"),
        "gaze_target": ("text", "the correct object"),
        "head_target": ("text", "the object that the head points to; empty in the natural condition"),
        "choice": ("text", "the chosen object"),
        "participant": ("text", "the participant's label"),
        "response_time": ("number", "seconds that the photo was on the screen before the choice"),
        "actor": ("text", "the person in the photo, if known"),
        "scene": ("text", "the place where the photo was taken, if known"),
        "attention_check": (
            "true or false",
            "whether the photo is an attention check; analyses exclude attention checks and report their number",
        ),
        "order": ("whole number", "position of the photo among those that the participant saw, from 1"),
        "explanation": ("text", "the participant's explanation"),
        "server_response_time": (
            "number",
            "`response_time` as measured by the server; shorter if events arrived together after a network failure",
        ),
    }
)


RESPONSES: Columns = MappingProxyType(
    {
        "sport": ("text", "the image's sport"),
        "image": ("text", "the image's id"),
        "respondent": ("text", "name of the participants as a group; the same in every row"),
        "kind": ("text", "`human`"),
        "prompt": ("text", "`base`: people answer only one prompt"),
        "sample": ("whole number", "number of the click on the image, from 1"),
        "participant": ("text", "the participant's label"),
        "cell": ("text", "the cell that was clicked, such as D5: row letter from the top, column number from the left"),
        "reasoning": ("text", "the explanation of the answer, in the row of its first click"),
    }
)
QUIZ: Columns = MappingProxyType(
    {
        "participant": ("text", "the participant's label"),
        "attempt": ("whole number", "number of the attempt, from 1"),
        "question": ("text", "the question's name"),
        "answer": ("text", "the values of the chosen options, joined by ` | `"),
        "right": ("true or false", "whether the answer is correct"),
    }
)
MOUSE: Columns = MappingProxyType(
    {
        "participant": ("text", "the participant's label"),
        "order": ("whole number", "position of the image among those that the participant saw, from 1"),
        "sport": ("text", "the image's sport"),
        "image": ("text", "the image's id"),
        "path": (
            "whole number",
            "number of the path over this image, from 1; a new path begins after a reload",
        ),
        "milliseconds": ("whole number", "milliseconds since the image was shown, by the browser's clock"),
        "x": ("number", "horizontal position as a fraction of the image's width; below 0 or above 1 outside the image"),
        "y": ("number", "vertical position as a fraction of the image's height"),
    }
)


def survey_columns(questionnaires: Sequence[Questionnaire], language: str) -> Columns:
    """Return the columns of questionnaires.csv: the participant, then one column per question in study.toml."""
    types: Mapping[str, Literal["text", "whole number", "number"]] = {"scale": "whole number", "number": "number"}
    return {
        PARTICIPANT: ("text", "the participant's label"),
        **{
            question.name: (types.get(question.type, "text"), worded(question.text, language))
            for questionnaire in questionnaires
            for question in questionnaire.questions
        },
    }


def frame(columns: Columns, rows: Sequence[tuple[object, ...]]) -> pl.DataFrame:
    """Return a data frame with these columns and rows. The columns have the right types even if there are no rows."""
    import polars as pl

    types = {"text": pl.String, "whole number": pl.Int64, "number": pl.Float64, "true or false": pl.Boolean}
    return pl.DataFrame(rows, schema={name: types[kind] for name, (kind, _) in columns.items()}, orient="row")
