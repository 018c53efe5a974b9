"""Present a mixture as text, HTML and rows of a data frame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from spotball_core.schema.report import Mixture
from spotball_core.schema.result import Forms
from spotball_core.text.first_screen import FirstScreen
from spotball_core.text.numbers import interval, number, told
from spotball_core.text.words import plural

COLUMNS: Mapping[str, type] = {
    **dict.fromkeys(("sport", "respondent", "prompt"), str),
    "n_images": int,
    "n_answers": float,
    "part": str,
    **dict.fromkeys(("weight", "ci95_low", "ci95_high", "explained"), float),
    "signature": str,
}
"""Name and type of each column of a mixture's rows."""

_ABOUT = (
    "Weight: share of the guesses that came from the part. Explained: the part's share of the gain in log likelihood "
    "over the uniform distribution."
)


def to_text(mixture: Mixture) -> str:
    """Return the largest part in a sentence, and a table with a row per part."""
    return _screen(mixture).text()


def _html(mixture: Mixture) -> str:
    return _screen(mixture).html(f"Parts of the mixture for {mixture.group}")


def _screen(mixture: Mixture) -> FirstScreen:
    largest = max(mixture.weights, key=lambda part: mixture.weights[part].value or 0.0)
    return FirstScreen(
        f"{mixture.group}: the largest part of the guesses is {largest}, "
        f"{told(mixture.weights[largest], 'share')} ({plural(mixture.n_images, 'image')}, "
        f"{plural(mixture.n_answers, 'answer')}).",
        ["part", "weight\n(%)", "explained\n(%)"],
        [
            [
                part,
                f"{number(weight.value or 0.0, 'share')} {interval(weight.ci95, 'share')}".rstrip(),
                number(mixture.explained[part], "share") if part in mixture.explained else "-",
            ]
            for part, weight in mixture.weights.items()
        ],
        n_names=1,
        notes=[_ABOUT, *(f"Note: {note}." for note in mixture.notes)],
        signature=mixture.signature,
    )


def _frame_rows(mixture: Mixture) -> Iterator[tuple[object, ...]]:
    """Yield one row per part."""
    about = (mixture.sport, mixture.respondent, mixture.prompt, mixture.n_images, mixture.n_answers)
    for part, weight in mixture.weights.items():
        low, high = weight.ci95 or (None, None)
        yield (*about, part, weight.value, low, high, mixture.explained.get(part), mixture.signature)


FORMS = Forms(text=to_text, html=_html, columns=COLUMNS, rows=_frame_rows)
