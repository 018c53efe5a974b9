"""Create score reports for tests, from small synthetic answers or from given numbers."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spotball_core import ScorePolicy, ScoreReport, score
from spotball_core.leaderboard.rankings import Leaderboard, make_leaderboard
from spotball_core.leaderboard.reports import Collection, SourceReport
from spotball_core.schema import GroupScore, MetricValue, Scene, Signature
from spotball_core.schema.report import ImageSet, Interval
from tests.builders import frame, scene

SPORTS = ("soccer", "volleyball")
LABELS = [f"{row}{col}" for row in "ABCDEF" for col in range(1, 11)]


def known(sports: Sequence[str] = SPORTS, images: int = 12) -> list[Scene]:
    """Return scenes with two ball cells and one player each."""
    rng = random.Random(5)
    return [
        scene(str(number), sport, ball_cells=rng.sample(LABELS, 2), players=[[100, 100, 200, 300]])
        for sport in sports
        for number in range(images)
    ]


def answers(
    respondent: str, scenes: Sequence[Scene], *, hits: float, kind: str = "model", prompt: str = "base", seed: int = 0
) -> list[dict[str, Any]]:
    """Return five answers per image. Each names a ball cell with probability `hits`, otherwise a random cell."""
    rng = random.Random(f"{respondent} {seed}")
    return [
        {
            "sport": one.sport,
            "image": one.image,
            "respondent": respondent,
            "kind": kind,
            "prompt": prompt,
            "cell": rng.choice(list(one.ball_cells or ())) if rng.random() < hits else rng.choice(LABELS),
        }
        for one in scenes
        for _ in range(5)
    ]


def scored(*respondents: str, scenes: Sequence[Scene] | None = None, people: int = 0, **options: Any) -> ScoreReport:
    """Return a report of models, of which later ones are more accurate, with people as the reference."""
    scenes = known() if scenes is None else scenes
    rows = answers("human", scenes, hits=0.6, kind="human", seed=people)
    for place, name in enumerate(respondents):
        rows += answers(name, scenes, hits=0.1 + 0.8 * place / max(len(respondents) - 1, 1))
    return score(frame(rows), scenes, **{"reference": "human", "bootstrap": 50, **options})


def write(report: ScoreReport, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(report.model_dump_json(indent=1), encoding="utf-8")
    return path


def given(
    scores: Mapping[str, tuple[float, Interval | None]],
    *,
    sport: str | None = "soccer",
    metric: str = "accuracy",
    scenes: str = "s",
    kinds: Mapping[str, str] | None = None,
    reference: str | None = None,
    version: str = "1",
    data: str = "d",
    n_images: int = 50,
    **choices: Any,
) -> ScoreReport:
    """Return a report with the given values and intervals of one metric."""
    policy = ScorePolicy.standard(reference=reference, **choices)
    provenance = Signature(
        version=version, data=data, grid="6x10@640x360", policy=policy, n_images=n_images, dropped={}, parse_policies=()
    )
    groups = tuple(
        GroupScore.model_validate(
            {
                "sport": sport,
                "respondent": name,
                "kind": (kinds or {}).get(name, "model"),
                "prompt": "base",
                "n_images": n_images,
                "n_responses": 5 * n_images,
                "n_unparsed": 0,
                "metrics": {metric: MetricValue(value=value, ci95=ci95)},
            }
        )
        for name, (value, ci95) in scores.items()
    )
    images = ImageSet(
        groups=tuple(range(len(groups))),
        scenes=scenes,
        reference=None if reference is None else "r",
        uniform={metric: 0.04},
    )
    return ScoreReport(
        signature=str(provenance), provenance=provenance, policy=policy, groups=groups, image_sets=(images,)
    )


def board_of(*reports: ScoreReport, **options: Any) -> Leaderboard:
    sources = tuple(SourceReport(f"reports/{number}.json", report) for number, report in enumerate(reports, start=1))
    return make_leaderboard(Collection(sources, ()), **options)


def names(board: Leaderboard) -> list[set[str]]:
    """Return the respondents of each ranking."""
    return [{entry.respondent for entry in ranking.entries} for ranking in board.rankings]
