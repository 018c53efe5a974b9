"""Write the sections on players: how close guesses are to players, how many players there are, and thresholds."""

from __future__ import annotations

from collections.abc import Sequence

from spotball_core.pages.parts import PagePicture, PageTable, Section, TableCell
from spotball_core.report.charts.proximity import ProximityChart, ProximityPanel, ProximityPoint, Strip, StripChart
from spotball_core.report.charts.thresholds import SurfaceChart
from spotball_core.report.sections.tables import by_sport, cell, head, names
from spotball_core.report.view import PageView
from spotball_core.schema.report import GroupScore, MetricValue, sport_prefix
from spotball_core.text.numbers import quantity, ranged, told
from spotball_core.text.words import listed, plural

NO_PLAYERS = "None of the scored images has player boxes."
KEYS = ("near_player_rate", "overlap_rate")


def proximity(view: PageView) -> Section:
    """Return the section on near-player and overlap rates of guesses and of the ball (Spot the Ball, Figure 5)."""
    title = "How close to players are the guesses?"
    if not view.has_players:
        return Section("players", title, missing=NO_PLAYERS, short="Players")
    policy = view.policy
    lead = (
        (
            "A guess is near a player if the distance from the cell's center to a player's box is at most "
            f"{100 * policy.tau:g}% of the image's diagonal. A guess overlaps a player if a box covers at least "
            f"{100 * policy.theta:g}% of the cell."
        ),
        (
            "The star shows the ball's cells, with equal weight for all images. A respondent above and to the right "
            "of the star guesses near players more often than the ball is near players."
        ),
    )
    panels, points = [], []
    for sport in view.sports:
        truth = truth_point(view, sport)
        points_of_sport = _points(view, sport)
        if not points_of_sport:
            continue
        n = view.by_sport[sport].n_with_players
        panels.append(ProximityPanel(sport, f"{plural(n, 'image')} with players", points_of_sport, truth))
        points.append(_words(view, sport, truth))
    lines = " Thin lines show 95% bootstrap intervals over images." if policy.bootstrap else ""
    caption = (
        "Near-player rate (horizontal axis) and overlap rate (vertical axis) of each respondent and prompt."
        f"{lines} The star shows the ball."
    )
    chart = ProximityChart(tuple(panels))
    picture = PagePicture("proximity", "Near-player and overlap rates", caption, chart, tuple(points))

    def cells(score: GroupScore) -> tuple[TableCell, ...]:
        return (*names(score, view), *(cell(key, score, view) for key in KEYS))

    heads = ("Respondent", "Prompt", *(head(key, view) for key in KEYS))
    rows = by_sport(view, cells)
    table = PageTable(
        "rates", "Near-player and overlap rates, with 95% intervals.", heads, 2, rows, "Table of the rates"
    )
    balls = [near for n in view.by_sport.values() if (near := n.ball_near_player) is not None]
    guesses = [value for score in view.compared if (value := score.metrics[KEYS[0]].value) is not None]
    parts = [f"the ball {ranged(balls, 'share')}"] if balls else []
    parts += [f"guesses {ranged(guesses, 'share')}"] if guesses else []
    several = len(view.sports) > 1
    return Section(
        *("players", title, lead),
        points=(f"Near a player: {', '.join(parts)}.",) if several else tuple(points),
        short="Players",
        details=tuple(points) if several else (),
        pictures=(picture,),
        tables=(table,),
    )


def truth_point(view: PageView, sport: str) -> tuple[float, float] | None:
    """Return the shares of the ball's cells that are near a player and that overlap a player; None if unknown."""
    near, overlap = view.by_sport[sport].ball_near_player, view.by_sport[sport].ball_on_player
    return None if near is None or overlap is None else (near, overlap)


def _points(view: PageView, sport: str) -> tuple[ProximityPoint, ...]:
    out = []
    for score in view.of_sport(sport):
        near, overlap = (score.metrics[key] for key in KEYS)
        if near.value is not None and overlap.value is not None:
            looks = (view.color(score), view.marker(score))
            ends = (near.ci95, overlap.ci95)
            out.append(ProximityPoint(*view.labels(score), *looks, near.value, overlap.value, *ends))
    return tuple(out)


def _words(view: PageView, sport: str, truth: tuple[float, float] | None) -> str:
    """Describe a sport's rates in words: the ball's, the reference's, and the range of the others'."""
    score = view.of_reference(sport)
    others = [other for other in view.compared if other.sport == sport]
    phrases = []
    for place, (key, title) in enumerate(zip(KEYS, ("near a player", "overlapping a player"), strict=True)):
        parts = [f"the ball {quantity(truth[place], 'share')}"] if truth else []
        if score and score.metrics[key].value is not None:
            parts.append(f"{view.reference_words} {told(score.metrics[key], 'share')}")
        values = [value for s in others if (value := s.metrics[key].value) is not None]
        if values:
            parts.append(f"{'others' if score else 'guesses'} {ranged(values, 'share')}")
        phrases.append(f"{title}: {', '.join(parts)}")
    return f"{sport_prefix(sport)}{'; '.join(phrases)}."


def density(view: PageView) -> Section:
    """Return the section on the number of players and the share of the image they cover (Spot the Ball, Figure 3)."""
    title = "Appendix: how crowded are the images?"
    if not view.has_players:
        return Section("density", title, missing=NO_PLAYERS, short="Crowds")
    policy = view.policy
    strips: tuple[list[Strip], list[Strip]] = ([], [])
    points = []
    for sport in view.sports:
        crowd = view.by_sport[sport].crowd
        if crowd is None:
            continue
        n = [image.n_players for image in crowd.images]
        both = (
            _strip(sport, n, crowd.n_players),
            _strip(sport, [image.covered for image in crowd.images], crowd.covered),
        )
        for of_measure, strip in zip(strips, both, strict=True):
            of_measure.append(strip)
        points.append(
            f"{sport_prefix(sport)}on average over {plural(len(n), 'image')}, an image has {both[0].mean:.2f} players "
            f"({min(n)} to {max(n)}), which cover {quantity(both[1].mean, 'share')} of it."
        )
    lead = (
        "If an image contains many players, most cells are near a player, and so are many uniform guesses. Do not "
        "compare the rates of sports with different numbers of players."
    )
    of_n, of_area = (tuple(strip) for strip in strips)
    chart = StripChart((("Players per image", of_n, False), ("Share of the image covered", of_area, True)))
    caption = "Dots show images. Diamonds show means" + (" with 95% bootstrap intervals." if policy.bootstrap else ".")
    caption += " An area that two players cover counts once."
    alts = tuple(
        f"{name}: {listed([f'{strip.name} mean {_said(strip.mean, percent)}' for strip in some])}."
        for name, some, percent in chart.measures
    )
    picture = PagePicture("density", "Number of players, and share of the image that they cover", caption, chart, alts)
    return Section("density", title, (lead,), tuple(points), short="Crowds", pictures=(picture,))


def _said(value: float, percent: bool) -> str:
    return quantity(value, "share") if percent else f"{value:.2f}"


def _strip(name: str, values: Sequence[float], mean: MetricValue) -> Strip:
    return Strip(name, tuple(values), mean.value or 0.0, mean.ci95)


def thresholds(view: PageView) -> Section:
    """Return the section on the fit of the thresholds tau and theta (Spot the Ball, Figure 10)."""
    title = "Appendix: how were the thresholds chosen?"
    fit = view.page.thresholds
    if fit is None:
        return Section("thresholds", title, missing=NO_PLAYERS, short="Thresholds")
    policy = view.policy
    tau, theta = fit.best
    lead = (
        "The paper chose the τ and θ that maximize the mean of near-player rate and overlap rate over all responses. "
        "For any guesses, this mean can only increase with τ and decrease with θ. Its maximum is therefore at the edge "
        "of the searched range, and does not show which thresholds are right."
    )
    at_chosen, most = quantity(fit.at_policy, "share"), quantity(fit.largest, "share")
    point = (
        f"Over {plural(fit.n_responses, 'response')}, this mean is largest ({most}) at τ = {tau:g}, θ = {theta:g}. "
        f"It is {at_chosen} at this report's τ = {policy.tau:g}, θ = {policy.theta:g}. {fit.n_near_largest} of "
        f"{fit.n_pairs} pairs of thresholds are within 1% of the largest value."
    )
    caption = (
        "Colors show the mean of near-player rate and overlap rate for each pair of thresholds, over all scored "
        "responses to images with players. The star marks the largest value, the cross marks the thresholds of this "
        "report, and the outline contains the pairs within 1% of the largest value."
    )
    chart = SurfaceChart(fit, (policy.tau, policy.theta))
    picture = PagePicture(
        "thresholds", "Mean of near-player rate and overlap rate by threshold", caption, chart, (point,)
    )
    return Section("thresholds", title, (lead,), (point,), short="Thresholds", pictures=(picture,))
