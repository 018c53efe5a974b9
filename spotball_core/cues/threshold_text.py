"""Present a threshold surface as text, HTML and rows of a data frame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from spotball_core.cues.thresholds import PLATEAU, ThresholdSurface
from spotball_core.schema.result import Forms
from spotball_core.text.first_screen import IN_PYTHON, FirstScreen
from spotball_core.text.numbers import number, quantity
from spotball_core.text.words import plural

COLUMNS: Mapping[str, type] = {
    **dict.fromkeys(("tau", "theta", "near", "overlap", "objective"), float),
    "plateau": bool,
    "signature": str,
}
"""Name and type of each column of a threshold surface's rows."""

_CAUTION = (
    "For any guesses, the mean is largest at the largest tau and the smallest theta, so the maximum does not show "
    "which thresholds are right."
)


def to_text(surface: ThresholdSurface) -> str:
    """Return the maximum in a sentence, and a table with a row per tau."""
    return _screen(surface).text()


def _html(surface: ThresholdSurface) -> str:
    return _screen(surface).html("Rates by threshold tau")


def _screen(surface: ThresholdSurface) -> FirstScreen:
    tau, theta = surface.best
    n_pairs, n_plateau = surface.plateau.size, int(surface.plateau.sum())
    plateau = (
        f"The plateau contains {n_plateau} of {n_pairs} pairs of thresholds, whose mean is at most {PLATEAU:.0%} below "
        "the maximum."
    )
    return FirstScreen(
        f"The mean of near-player and overlap rate is largest, {quantity(float(surface.objective.max()), 'share')}, at "
        f"tau {tau:g} and theta {theta:g} ({plural(surface.n_responses, 'response')}).",
        ["tau", "near-player\nrate (%)", "largest\nmean (%)", "theta in\nplateau"],
        [
            [
                f"{surface.taus[i]:g}",
                number(float(surface.near[i]), "share"),
                number(float(surface.objective[i].max()), "share"),
                _range([float(value) for value in surface.thetas[surface.plateau[i]]]),
            ]
            for i in range(len(surface.taus))
        ],
        n_names=1,
        notes=[plateau, _CAUTION, IN_PYTHON],
        signature=surface.signature,
    )


def _range(values: list[float]) -> str:
    if not values:
        return "-"
    return f"{values[0]:g}" if len(values) == 1 else f"{values[0]:g}–{values[-1]:g}"


def _frame_rows(surface: ThresholdSurface) -> Iterator[tuple[object, ...]]:
    """Yield one row per pair of tau and theta."""
    for i, tau in enumerate(surface.taus.tolist()):
        for j, theta in enumerate(surface.thetas.tolist()):
            rates = (float(surface.near[i]), float(surface.overlap[j]), float(surface.objective[i, j]))
            yield (tau, theta, *rates, bool(surface.plateau[i, j]), surface.signature)


FORMS = Forms(text=to_text, html=_html, columns=COLUMNS, rows=_frame_rows)
