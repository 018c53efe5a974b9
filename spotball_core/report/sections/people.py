"""Write the sections that compare respondents with people: noise ceiling, heat maps of guesses, and mixtures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from spotball_core.pages.maps import MapFigure
from spotball_core.pages.parts import PagePicture, PageTable, Section, TableCell, TableRows
from spotball_core.plots.canvas import (
    LABEL,
    SMALL,
    FigureFrame,
    PanelBox,
    columns,
    headline,
    mark,
    panels,
    quiet_axes,
    segments,
    text_width,
)
from spotball_core.plots.dots import Dot, DotChart, DotPanel, ReferenceLine
from spotball_core.plots.heat_maps import HeatMapChart
from spotball_core.plots.theme import FAINT, INK, PAPER
from spotball_core.report.maps import sport_maps
from spotball_core.report.sections.scores import INTERVALS, NO_REFERENCE, described, no_ceiling
from spotball_core.report.sections.tables import names
from spotball_core.report.view import PageView
from spotball_core.schema.report import Ceiling, Mixture, sport_prefix
from spotball_core.text.numbers import interval, number, quantity, ranged, told, unit_of
from spotball_core.text.words import listed, plural, span

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_PART, _ROW, _GAP = 1.0, 0.21, 0.08  # maximum width of a part's column; height of a row; space

Weight = tuple[float, tuple[float, float] | None]


@dataclass(frozen=True, slots=True)
class Mix:
    """One row: a respondent, a prompt, and the weight of each mixture component with its interval."""

    respondent: str
    prompt: str
    color: str
    marker: str
    weights: dict[str, Weight]


@dataclass(frozen=True, slots=True)
class MixPanel:
    """The rows of one sport."""

    title: str
    under: str
    mixes: tuple[Mix, ...]


@dataclass(frozen=True)
class MixtureChart:
    """Chart of weights from 0 to 100%, with one panel per sport and one column per mixture component.

    Attributes:
        panels: the panels; at least one.
        parts: names of the mixture components, in column order; a row may lack some of them.
    """

    panels: tuple[MixPanel, ...]
    parts: tuple[str, ...]

    wide: ClassVar[bool] = True

    @property
    def names(self) -> tuple[str, ...]:
        """The title of each panel."""
        return tuple(panel.title for panel in self.panels)

    def draw(self, places: Sequence[int], frame: FigureFrame | None = None) -> Figure:
        """Draw the panels with the given indices; if `frame` is given, add its title, notes and margins."""
        chosen = [self.panels[place] for place in places]
        rows = max(len(panel.mixes) for panel in chosen)
        mixes = [mix for panel in self.panels for mix in panel.mixes]
        names = max(text_width(mix.respondent, LABEL) for mix in mixes)
        prompts = max(text_width(mix.prompt, SMALL) for mix in mixes)
        left = names + (prompts + _GAP if prompts else 0.0) + 2 * _GAP
        wide = min(_PART * len(self.parts), columns(2) - left - 0.1)
        box = PanelBox(wide, _ROW * rows, left, columns(2) - left - wide, 0.66, 0.3)
        figure, axes = panels(len(chosen), box, frame)
        for panel_axes, panel in zip(axes, chosen, strict=True):
            self._draw(panel_axes, panel, rows, box)
        return figure

    def _draw(self, axes: Axes, panel: MixPanel, rows: int, box: PanelBox) -> None:
        quiet_axes(axes)
        # The columns are side by side on one axis; each has width 1 plus a gap.
        axes.set_xlim(0, len(self.parts))
        axes.set_ylim(rows - 0.5, -0.5)
        axes.set_yticks([])
        inner = (0.06, 0.80)

        def at(column: int, weight: float) -> float:
            return column + inner[0] + (inner[1] - inner[0]) * weight

        ticks = []
        for column, part in enumerate(self.parts):
            for weight, name in ((0.0, "0"), (0.5, ""), (1.0, "100%")):
                ticks.append((at(column, weight), name))
            look: dict[str, Any] = {
                "xycoords": ("data", "axes fraction"),
                "textcoords": "offset points",
                "annotation_clip": False,
            }
            axes.annotate(part, (at(column, 0), 1), (0, 4), fontsize=SMALL, color=INK, va="bottom", **look)
        axes.set_xticks([x for x, _ in ticks], [name for _, name in ticks])
        axes.tick_params(labelsize=SMALL)
        intervals = [
            ((at(column, ends[0]), y), (at(column, ends[1]), y), mix.color)
            for y, mix in enumerate(panel.mixes)
            for column, part in enumerate(self.parts)
            if (ends := mix.weights.get(part, (0.0, None))[1])
        ]
        segments(axes, [(start, end) for start, end, _ in intervals], [color for *_, color in intervals])
        before = None
        look = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center_baseline"}
        for y, mix in enumerate(panel.mixes):
            if mix.respondent != before:
                place = (-72 * (box.left - 0.06), 0)
                axes.annotate(mix.respondent, (0, y), place, ha="left", fontsize=LABEL, color=INK, **look)
            axes.annotate(mix.prompt, (0, y), (-72 * _GAP, 0), ha="right", fontsize=SMALL, color=FAINT, **look)
            before = mix.respondent
            for column, part in enumerate(self.parts):
                if part in mix.weights:
                    weight, ends = mix.weights[part]
                    dot: dict[str, Any] = {
                        "markeredgecolor": PAPER,
                        "markeredgewidth": 0.6,
                        "clip_on": False,
                        "zorder": 3,
                    }
                    axes.plot([at(column, weight)], [y], mix.marker, color=mix.color, markersize=5.5, **dot)
                    name = f"{mix.respondent} {mix.prompt}".rstrip()
                    mark(axes, f"{name}: {part} {quantity(weight, 'share')} {interval(ends, 'share')}".rstrip())
        headline(axes, panel.title, panel.under, box)


MAPS = "guess-maps"

_LISTED = 6
"""Maximum number of respondents and prompts that a sentence lists."""


def ceiling(view: PageView) -> Section:
    """Return the section on the noise ceiling, and on how close each respondent's guesses are to the reference's."""
    title = f"How close to {view.reference_words or 'the reference'} can a respondent get?"
    if not view.reference:
        return Section("ceiling", title, missing=NO_REFERENCE, short="Closeness")
    if not view.ceilings:
        why = f"The noise ceiling is missing, because {no_ceiling(view)}"
        return Section("ceiling", title, missing=why, short="Closeness")
    unit = unit_of("wasserstein", view.policy)
    lead = (
        (
            f"The closeness of a respondent is 0 for uniform guessing, and 1 for answers like those of "
            f"{view.reference_words}. It uses the matched distance, which does not depend on the number of responses."
        ),
        (
            "Participants differ from each other, so the distance between two samples of participants is not 0. The "
            "noise ceiling is the distance between two random halves of the participants."
        ),
    )
    panels, alts, points = [], [], []
    for sport, of_sport in view.ceilings.items():
        dots = tuple(
            Dot(
                *view.labels(g),
                view.color(g),
                view.marker(g),
                of_sport.score[g.name].value,
                of_sport.score[g.name].ci95,
            )
            for g in view.of_sport(sport)
            if g.name in of_sport.score
        )
        rules = (
            ReferenceLine(0.0, "uniform guessing"),
            ReferenceLine(1.0, view.reference_label, view.looks[view.reference].color),
        )
        under = f"{plural(of_sport.n_participants, 'participant')}, {plural(of_sport.n_images, 'image')}"
        points.append(_ceiling_words(of_sport, unit, view))
        if dots:
            panels.append(DotPanel(sport, under, dots, rules))
            alts.append(points[-1])
    pictures = []
    if panels:
        chart = DotChart(tuple(panels), f"closeness: 0 = uniform guessing, 1 = {view.reference_label}", "score")
        parts = ["Each dot shows the closeness of one respondent and prompt"]
        if view.policy.bootstrap:
            parts.append(INTERVALS)
        parts += described(rules)
        caption = ". ".join(parts) + "."
        heading = f"Closeness to {view.reference_words}"
        pictures.append(PagePicture("ceiling", heading, caption, chart, tuple(alts)))
    by_name: dict[str, list[float]] = {}
    for sport, of_sport in view.ceilings.items():
        for group in view.compared:
            score = of_sport.score.get(group.name) if group.sport == sport else None
            if score and score.value is not None:
                by_name.setdefault(view.name(group), []).append(score.value)
    best = max(by_name, key=lambda name: max(by_name[name]), default="")
    closest = ranged(by_name[best], "score") if best else ""
    says = (f"{best} has the highest closeness to {view.reference_words}: {closest}.",) if best else ()
    tables = (_ceiling_table(view, unit),)
    return Section(
        *("ceiling", title, lead, says),
        short="Closeness",
        details=tuple(points),
        pictures=tuple(pictures),
        tables=tables,
    )


def _ceiling_words(one: Ceiling, unit: str, view: PageView) -> str:
    words = (
        f"{sport_prefix(one.sport)}without matching, the distance between two halves of {one.n_participants} "
        f"participants is {told(one.split_half, unit)}, and the distance of uniform guessing from all "
        f"participants is {quantity(one.uniform, unit)}. A participant finds the ball in "
        f"{told(one.participant_accuracy, 'share')} of guesses. The cell that the other participants name most often "
        f"contains the ball in {told(one.leave_one_out_accuracy, 'share')} of cases"
    )
    return f"{words}."


def _ceiling_table(view: PageView, unit: str) -> PageTable:
    heads = ("Respondent", "Prompt", f"Wasserstein distance ({unit})", f"Sampling floor ({unit})", "Closeness")
    groups = []
    for sport, of_sport in view.ceilings.items():
        rows = []
        for group in view.of_sport(sport):
            value = group.metrics["wasserstein"]
            if group.name in of_sport.score and value.value is not None:
                distance = TableCell(number(value.value, unit), interval(value.ci95, unit))
                floor = TableCell(number(of_sport.sampling_floor[group.name], unit))
                score = of_sport.score[group.name]
                words = "–" if score.value is None else number(score.value, "score")
                rows.append((*names(group, view), distance, floor, TableCell(words, interval(score.ci95, "score"))))
        groups.append(TableRows(sport, tuple(rows)))
    caption = (
        f"Distances from {view.reference_words}. The Wasserstein distance depends on the number of responses. The "
        "sampling floor is the distance that the same number of responses would have if they were drawn at random from "
        f"the guesses of {view.reference_words}. The closeness does not depend on the number of responses."
    )
    return PageTable("floors", caption, heads, 2, tuple(groups), "Table of distances, sampling floors and closeness")


# Where guesses fall ------------------------------------------------------------------------------------------


def where(view: PageView) -> Section:
    """Return the section with heat maps of guesses, pooled over images, next to the ball's heat map."""
    sports = tuple(
        sport_maps(sport, numbers.ball, [(view.name(g), g.cells) for g in view.answers_of(sport)], view.grid)
        for sport, numbers in view.by_sport.items()
    )
    lead = (
        (
            "These maps pool guesses over images, so they show where a respondent looks for the ball in all images. "
            "All maps have the same color scale."
        ),
    )
    names = {view.name(answers) for sport in sports for answers in view.answers_of(sport.title)}
    points = (f"Where the ball is, and where {plural(len(names), 'respondent')} guess, over all images of a sport.",)
    chart = HeatMapChart(sports, view.grid, view.page.window)
    figure = MapFigure(MAPS, "Where respondents guess", chart.caption, chart)
    return Section("where", "Where do respondents guess?", lead, points, short="Maps", maps=figure)


# What explains a respondent ----------------------------------------------------------------------------------


def mixture(view: PageView) -> Section:
    """Return the section on the mixture of simple guessers and people that explains each respondent's guesses."""
    title = "Which strategies explain the guesses?"
    if not view.page.mixtures:
        why = "; ".join(view.page.unexplained)
        return Section("mixture", title, missing=f"No mixture could be fitted: {why}.", short="Strategies")
    people = (
        (
            f"Another part, `people`, is the distribution of the guesses of {view.reference_words}; the mixture of "
            f"{view.reference_words} does not contain it."
        ),
    )
    lead = (
        (
            "A mixture of simple strategies describes the guesses of each respondent. It is fitted by maximum "
            "likelihood. The weight of a part is the probability that a guess came from this part."
        ),
        (
            "The parts are uniform guessing (`uniform`), the image's center (`center`), the nearest player "
            "(`nearest-player`), the position of the ball in the sport's other images (`prior`), and the ball itself "
            "(`truth`)."
        ),
        *(people if view.reference else ()),
        "If parts are similar on the images, the data cannot separate their weights, and the intervals are wide.",
    )
    notes = sorted({note for mix in view.page.mixtures for note in mix.notes} | set(view.page.unexplained))
    parts = tuple(dict.fromkeys(part for mix in view.page.mixtures for part in mix.weights))
    panels, points, tables = [], [], []
    for sport in view.sports:
        explained_groups = [(g, mix) for g in view.of_sport(sport) if (mix := view.mixture(g))]
        if not explained_groups:
            continue
        mixes = tuple(
            Mix(
                *view.labels(group),
                view.color(group),
                view.marker(group),
                {part: (w.value, w.ci95) for part, w in mix.weights.items() if w.value is not None},
            )
            for group, mix in explained_groups
        )
        panels.append(MixPanel(sport, f"{span([mix.n_images for _, mix in explained_groups], 'image')} each", mixes))
        points.append(f"{sport_prefix(sport)}{_largest({view.name(group): mix for group, mix in explained_groups})}.")
        rows = tuple((*names(group, view), *_weights(mix, parts)) for group, mix in explained_groups)
        tables.append(TableRows(sport, rows))
    lines = (
        f" Lines show 95% bootstrap intervals ({view.page.mixture_resamples} resamples of images)."
        if view.policy.bootstrap
        else ""
    )
    caption = f"Weight of each part in each respondent's guesses, from 0 to 100%.{lines}"
    chart = MixtureChart(tuple(panels), parts)
    picture = PagePicture("mixture", "Mixture weights of each respondent", caption, chart, tuple(points))
    table = PageTable(
        "weights",
        "Weight of each part in %, with its 95% interval. Italics show the part's share of the gain in log likelihood "
        "over uniform guessing (Shapley value).",
        ("Respondent", "Prompt", *parts),
        2,
        tuple(tables),
        "Table of weights, intervals and shares of the log likelihood",
    )
    note_words = tuple(f"{note[0].upper()}{note[1:]}." for note in notes)
    largest = Counter(map(_largest_part, view.page.mixtures)).most_common()
    most = ", ".join(f"{part} for {n}" for part, n in largest)
    return Section(
        *("mixture", title, (*lead, *note_words)),
        points=(f"The part with the largest weight, by number of mixtures: {most} of {len(view.page.mixtures)}.",),
        short="Strategies",
        details=tuple(points),
        pictures=(picture,),
        tables=(table,),
    )


def _largest_part(mix: Mixture) -> str:
    """Return the part of a mixture with the largest weight."""
    return max(mix.weights, key=lambda part: mix.weights[part].value or 0.0)


def _largest(mixtures: Mapping[str, Mixture]) -> str:
    """Describe the largest part of each respondent's mixture, with the range of this part's weights."""
    by_part: dict[str, dict[str, float]] = {}
    for name, mix in mixtures.items():
        part = _largest_part(mix)
        by_part.setdefault(part, {})[name] = mix.weights[part].value or 0.0
    phrases = []
    for part, weights in sorted(by_part.items(), key=lambda item: -len(item[1])):
        some = f"{len(weights)} of {len(mixtures)} respondents and prompts"
        who = listed(list(weights)) if len(weights) <= _LISTED else some
        phrases.append(f"{part} has the largest weight for {who} ({ranged(list(weights.values()), 'share')})")
    return "; ".join(phrases)


def _weights(one: Mixture, parts: tuple[str, ...]) -> list[TableCell]:
    cells = []
    for part in parts:
        if part not in one.weights:
            cells.append(TableCell("–"))
            continue
        weight = one.weights[part]
        share = f"{round(100 * one.explained[part])}%" if part in one.explained else ""
        cells.append(TableCell(number(weight.value or 0.0, "share"), interval(weight.ci95, "share"), share))
    return cells
