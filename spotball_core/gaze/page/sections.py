"""Write the sections of the report's page: Tables 1 and 2 of the gaze paper, and figures for the available data."""

from __future__ import annotations

from collections.abc import Sequence

from spotball_core.gaze.battery.findings import QUESTIONS, Finding
from spotball_core.gaze.battery.performance import PUBLISHED
from spotball_core.gaze.battery.types import TABLE
from spotball_core.gaze.cells import Cell as Mean
from spotball_core.gaze.data.stimuli import CONDITIONS, VIEWS
from spotball_core.gaze.data.trials import Trials
from spotball_core.gaze.page.browser import browser
from spotball_core.gaze.page.mechanisms import mechanisms, split_cell
from spotball_core.gaze.page.photos import PhotoSource, photo_sheet
from spotball_core.gaze.page.times import times
from spotball_core.gaze.result import GazeReport, RespondentResult
from spotball_core.gaze.tables import CHANCE_NAME, PUBLISHED_NAME, ends, mark, published_accuracy, scaled, sizes, tables
from spotball_core.pages.cards import PhotoSheet
from spotball_core.pages.parts import PagePicture, PageTable, Section, TableCell, TableRows
from spotball_core.plots.dots import Dot, DotChart, DotPanel, ReferenceLine
from spotball_core.plots.theme import FAINT, MODELS, THEME, Look, look_of
from spotball_core.plots.trends import TrendChart, TrendLine, TrendPanel, TrendPoint, trend_alts
from spotball_core.text.numbers import interval, number, quantity, say_p
from spotball_core.text.words import plural, shortened

_ROOM = 24
_VIEW_LOOKS = {"front": ("model-1", "o"), "left": ("model-2", "^"), "right": ("model-3", "s")}
_SIZE_LOOKS = {"3": ("model-1", "o"), "4": ("people", "s")}


def all_sections(
    report: GazeReport, photos: PhotoSource | None = None, trials: Trials | None = None
) -> tuple[Section, ...]:
    """Return the sections in the order of the page, without those for which there are no data.

    Args:
        report: the report.
        photos: photos with their files; None for no photos.
        trials: trials for the photo browser (default: those of `photos`).
    """
    looks = _looks(report)
    trials = trials or (photos.trials if photos else None)
    colors = {name: look.color for name, look in looks.items()}
    sheet = photo_sheet(photos, colors) if photos else None
    conditions = _conditions(report, looks)
    sections = (
        _photos(report, sheet) if sheet else conditions,
        _types(report),
        mechanisms(report),
        _accuracy(report, looks),
        _scene_effects(report),
        conditions if sheet else None,
        _head(report),
        times(report),
        browser(trials, photos, colors) if trials else None,
        _numbers(report),
        _others(report),
    )
    return tuple(section for section in sections if section is not None)


def _looks(report: GazeReport) -> dict[str, Look]:
    people = report.provenance.people
    looks: dict[str, Look] = {}
    for name in (result.respondent for result in report.respondents):
        look = look_of(name, "human" if name == people else "model")
        free = [other for other in MODELS if Look(other) not in looks.values()]
        # Discs on photos have no labels, so that each of the first models needs a color of its own.
        looks[name] = Look(free[0]) if look in looks.values() and free else look
    return looks


def _photos(report: GazeReport, sheet: PhotoSheet) -> Section:
    marks = "The discs near an object show how often each respondent chose it."
    if not sheet.key:
        marks = (
            "The stimuli file does not contain the positions of objects (column `points`), so the photos have no marks."
        )
    n = len(report.respondents)
    more = f" Only the first {n - sheet.more} of {n} respondents are shown." if sheet.more else ""
    return Section("photos", "Eyes, head and choices", (f"{marks}{more}",), short="Photos", photos=sheet)


def _types(report: GazeReport) -> Section:
    heads = ("Respondent", *(f"Test {key}" if key[0].isdigit() else key.capitalize() for key in QUESTIONS), "Type")
    rows = tuple(
        (
            TableCell(result.respondent),
            *(TableCell(mark(finding)) for finding in result.tests.values()),
            TableCell(result.type),
        )
        for result in report.respondents
    )
    caption = (
        "Result of each test, and type of each respondent (Table 2 of the paper). The sign + means yes, - means "
        "no, and ? means that the trials do not allow an answer."
    )
    table = PageTable("types", caption, heads, 1, (TableRows("", rows),))
    points = tuple(f"{result.respondent}: {result.summary}" for result in report.respondents)
    lead = (
        "Each test answers a question about a respondent. The answers together determine the respondent's type. The "
        "column of Test 4 shows the type that this test supports."
    )
    return Section("types", "Types", points=points, details=(lead,), tables=(table,))


def _accuracy(report: GazeReport, looks: dict[str, Look]) -> Section:
    columns = sizes(report)
    panels = []
    for n in columns:
        dots = [
            Dot(
                shortened(result.respondent, _ROOM),
                "",
                looks[result.respondent].color,
                "o",
                result.accuracy[n],
                result.accuracy_ci95[n],
            )
            for result in report.respondents
            if n in result.accuracy
        ]
        rules = [ReferenceLine(1 / int(n), CHANCE_NAME)]
        if int(n) in PUBLISHED and report.provenance.people is None:
            rules.append(ReferenceLine(PUBLISHED[int(n)], "people", THEME["people"][0]))
        panels.append(DotPanel(f"{n} objects", _n_photos(report, n), tuple(dots), tuple(rules)))
    chart = DotChart(tuple(panels), "accuracy", "share", end=1.0)
    drawn_over = ", with 95% bootstrap intervals over photos" if report.provenance.bootstrap else ""
    caption = f"Share of correct choices in the natural condition{drawn_over}. Unmatched choices count as wrong."
    picture = PagePicture("gaze-accuracy", "Accuracy by number of objects", caption, chart, _dot_alts(panels))
    heads = ("Respondent", "Unmatched", *(head for n in columns for head in (f"{n} objects (%)", "Of trials")))
    rows = [
        (
            TableCell(result.respondent),
            TableCell(f"{result.n_unmatched:,}"),
            *(cell for n in columns for cell in _accuracy_cells(result, n)),
        )
        for result in report.respondents
    ]
    published = (TableCell(text) for n in columns for text in published_accuracy(n))
    chance = (TableCell(text) for n in columns for text in (f"{100 / int(n):.1f}", ""))
    rows.append((TableCell(PUBLISHED_NAME), TableCell(""), *published))
    rows.append((TableCell(CHANCE_NAME), TableCell(""), *chance))
    table = PageTable(
        "accuracy", "Accuracy in the natural condition (Table 1).", heads, 1, (TableRows("", tuple(rows)),)
    )
    return Section("accuracy", "Accuracy", pictures=(picture,), tables=(table,))


def _accuracy_cells(result: RespondentResult, n: str) -> tuple[TableCell, TableCell]:
    if n not in result.accuracy:
        return TableCell("–"), TableCell("0")
    value = TableCell(number(result.accuracy[n], "share"), interval(result.accuracy_ci95[n], "share"))
    return value, TableCell(f"{result.accuracy_trials[n]:,}")


def _n_photos(report: GazeReport, n_objects: str) -> str:
    n = report.n_stimuli.get("natural", {}).get(n_objects, 0)
    return plural(n, "photo") if n else ""


def _dot_alts(panels: Sequence[DotPanel]) -> tuple[str, ...]:
    def told(dot: Dot) -> str:
        return f"{dot.respondent} {quantity(dot.value or 0.0, 'share')} {interval(dot.ends, 'share')}".rstrip()

    return tuple(f"{panel.title}: {', '.join(map(told, panel.dots))}." for panel in panels)


def _scene_effects(report: GazeReport) -> Section | None:
    observed = [
        TrendPanel(shortened(result.respondent, _ROOM), "", _by_view(cells))
        for result in report.respondents
        if (cells := [cell for cell in result.cells if cell.measure == "wrongness" and "proximity" in cell.by])
    ]
    if not observed:
        return None
    caption = (
        "Mean wrongness in the natural and the congruent condition, by proximity and view, with 95% intervals over "
        "photos. Wrongness is the distance from the chosen object to the gaze target, as a share of the largest "
        "possible distance. At proximity 3, the objects are closest together. The dashed line shows random guessing on "
        "the same photos."
    )
    pictures = [
        PagePicture(
            "gaze-wrongness",
            "Wrongness by proximity and view (Figure 5)",
            caption,
            TrendChart(tuple(observed), "proximity", "wrongness", percent=True, start=0.0),
            trend_alts(observed, percent=True),
        )
    ]
    modeled = [
        TrendPanel(shortened(result.respondent, _ROOM), "", _by_view_modeled(means))
        for result in report.respondents
        if (means := result.tests["proximity"].numbers.get("means")) and "view" in means[0]
    ]
    if modeled:
        caption = (
            "Marginal means of the mixed model for wrongness, with 95% Wald intervals. The means are "
            "computed on the logit scale, for the mean number of objects."
        )
        chart = TrendChart(tuple(modeled), "proximity", "log odds of wrongness")
        alts = trend_alts(modeled, percent=False)
        pictures.append(
            PagePicture("gaze-log-odds", "The model's log odds of wrongness (Figure 14)", caption, chart, alts)
        )
    return Section("scene", "Proximity and view", short="Proximity", pictures=tuple(pictures))


def _by_view(cells: Sequence[Mean]) -> tuple[TrendLine, ...]:
    lines = []
    for view in VIEWS:
        own_cells = sorted(
            (cell for cell in cells if cell.by.get("view") == view), key=lambda cell: cell.by["proximity"]
        )
        if own_cells:
            color, marker = _VIEW_LOOKS[view]
            points = tuple(TrendPoint(float(cell.by["proximity"]), cell.value, cell.ci95) for cell in own_cells)
            lines.append(TrendLine(view, THEME[color][0], marker, points))
    of_all = sorted((cell for cell in cells if "view" not in cell.by), key=lambda cell: cell.by["proximity"])
    chance = tuple(TrendPoint(float(cell.by["proximity"]), cell.chance) for cell in of_all)
    return (*lines, TrendLine(CHANCE_NAME, FAINT, "", chance, dashed=True))


def _by_view_modeled(means: Sequence[dict[str, float | str]]) -> tuple[TrendLine, ...]:
    lines = []
    for view in VIEWS:
        own_rows = sorted((row for row in means if row["view"] == view), key=lambda row: float(row["proximity"]))
        points = tuple(
            TrendPoint(float(row["proximity"]), float(row["estimate"]), (float(row["low"]), float(row["high"])))
            for row in own_rows
        )
        if points:
            color, marker = _VIEW_LOOKS[view]
            lines.append(TrendLine(view, THEME[color][0], marker, points))
    return tuple(lines)


def _conditions(report: GazeReport, looks: dict[str, Look]) -> Section | None:
    panels = []
    for condition in CONDITIONS:
        cells = [
            (result.respondent, cell)
            for result in report.respondents
            for cell in result.cells
            if cell.measure == "accuracy" and cell.by == {"condition": condition}
        ]
        if cells:
            dots = tuple(
                Dot(shortened(name, _ROOM), "", looks[name].color, "o", cell.value, cell.ci95) for name, cell in cells
            )
            rule = ReferenceLine(report.chance[condition], CHANCE_NAME)
            n = sum(report.n_stimuli.get(condition, {}).values())
            panels.append(DotPanel(condition, plural(n, "photo"), dots, (rule,)))
    if len(panels) < 2:
        return None
    chart = DotChart(tuple(panels), "accuracy", "share", end=1.0)
    caption = (
        "Share of correct choices by condition. In the natural condition, the direction of the head was not "
        "prescribed. In the congruent condition, the head points to the gaze target, and in the incongruent condition "
        "to another object. If the respondents are checkpoints of one training run, read the chart from top to bottom."
    )
    picture = PagePicture("gaze-conditions", "Accuracy by condition", caption, chart, _dot_alts(panels))
    return Section("conditions", "Do choices follow the head?", short="Conditions", pictures=(picture,))


def _head(report: GazeReport) -> Section | None:
    panels = []
    for result in report.respondents:
        cells = [
            cell
            for cell in result.cells
            if cell.measure == "head" and "dist_eye_head" in cell.by and cell.by["n_objects"] in _SIZE_LOOKS
        ]
        lines = []
        for n, (color, marker) in _SIZE_LOOKS.items():
            own_cells = sorted(
                (cell for cell in cells if cell.by["n_objects"] == n), key=lambda cell: cell.by["dist_eye_head"]
            )
            points = tuple(TrendPoint(float(cell.by["dist_eye_head"]), cell.value, cell.ci95) for cell in own_cells)
            if points:
                chance = tuple(TrendPoint(point.step, 1 / int(n)) for point in points)
                lines += [
                    TrendLine(f"{n} objects", THEME[color][0], marker, points),
                    TrendLine(f"{CHANCE_NAME}, {n}", FAINT, "", chance, dashed=True),
                ]
        if lines:
            panels.append(TrendPanel(shortened(result.respondent, _ROOM), "", tuple(lines)))
    if not panels:
        return None
    caption = (
        "Share of choices of the head target (the object that the head points to), by its distance from the gaze "
        "target, with 95% intervals over photos (Test 4). Distances are counted in objects. If a respondent chooses "
        "between eyes and head at random, the share falls between distances 0 and 1 and then stays constant. If the "
        "head dominates, the share falls with every step. If the respondent follows only the head, the share is "
        "constant."
    )
    chart = TrendChart(tuple(panels), "distance between the targets", "head target", percent=True, start=0.0)
    picture = PagePicture("gaze-head", "Choices of the head target", caption, chart, trend_alts(panels, percent=True))
    return Section("head", "Head and eyes", short="Head", pictures=(picture,))


def _numbers(report: GazeReport) -> Section:
    heads = ("Test", "Verdict", "Estimate", "Quantity", "p", "Method", "Trials", "Photos")
    rows = tuple(
        TableRows(result.respondent, tuple(_row(key, finding) for key, finding in result.tests.items()))
        for result in report.respondents
    )
    caption = (
        "Estimate of every test, with its 95% interval. The file report.json also contains the fitted models, the "
        "rejected models, and all means."
    )
    table = PageTable("tests", caption, heads, 1, rows)
    lead = tuple(f"Test {key}: {question}" for key, question in QUESTIONS.items())
    rules = PageTable(
        "decision",
        "How the verdicts of the tests determine the type. An empty field means that any verdict is possible.",
        ("Type", "Test 1", "At least 3 of Tests 2.1 to 2.4", "Test 3", "Type that Test 4 supports"),
        1,
        (
            TableRows(
                "",
                tuple(
                    (
                        TableCell(rule.type),
                        *(_fact(fact) for fact in (rule.gap, rule.bias, rule.responsive)),
                        TableCell(rule.supports or ""),
                    )
                    for rule in TABLE
                ),
            ),
        ),
        fold="The decision table",
    )
    return Section("tests", "Every test", lead, short="Tests", tables=(table, rules))


def _fact(fact: bool | None) -> TableCell:
    return TableCell({True: "yes", False: "no", None: ""}[fact])


def _row(key: str, finding: Finding) -> tuple[TableCell, ...]:
    estimate = TableCell("–") if finding.estimate is None else TableCell(scaled(finding.estimate), ends(finding.ci95))
    p = "–" if finding.p is None else say_p(finding.p).removeprefix("= ")
    if finding.p_adjusted is not None:
        p += f" (adjusted {say_p(finding.p_adjusted).removeprefix('= ')})"
    counts = (TableCell(f"{finding.n_trials:,}"), TableCell(f"{finding.n_stimuli:,}"))
    label = finding.scale or finding.reason
    return (
        TableCell(key),
        TableCell(mark(finding)),
        estimate,
        TableCell(label),
        TableCell(p),
        TableCell(finding.method or "–"),
        *counts,
    )


def _others(report: GazeReport) -> Section | None:
    page_tables: list[PageTable] = []
    for title, names, heads, rows in tables(report):
        if title.startswith(("Table ", "Cue model", "Every test")):
            continue
        body = tuple(tuple(split_cell(cell) for cell in row) for row in rows)
        name = f"more-{len(page_tables)}"
        page_tables.append(
            PageTable(name, f"{title}.", tuple(head.capitalize() for head in heads), names, (TableRows("", body),))
        )
    return Section("more", "Other checks", short="Checks", tables=tuple(page_tables)) if page_tables else None
