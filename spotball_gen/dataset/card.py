"""Write the card of a dataset: its contents, how it was made, and tests of whether the inpainting is visible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spotball_core.schema.scene import Scene
from spotball_core.service.safe_text import markdown_row
from spotball_core.text.words import plural
from spotball_gen.dataset.statistics import TABLE_1, difficulty, table_1
from spotball_gen.items.item import Item
from spotball_gen.pipeline.difficulty import MEASURES
from spotball_gen.quality.decoys import DECOYS
from spotball_gen.quality.leak import leak_test
from spotball_gen.quality.leak_result import verdict
from spotball_gen.quality.splits import BY_SHOT, TEST, TRAIN, WITHOUT_TEST, video_of

PERMUTATIONS, LOOKED_AT = 200, 1000
"""Number of permutations and maximum number of images of the leak test in each dataset's card."""

_ROWS = {
    "cells": "number of cells with the ball",
    "ball_area": "area of the ball's box (px²)",
    "center_distance": "distance of the ball from the image's center (px)",
    "players": "number of players in the image",
    "player_area": "area of a player's box (px²)",
}


def card(
    folder: Path,
    items: Iterable[Item],
    scenes: Sequence[Scene],
    splits: Mapping[str, Any],
    facts: Mapping[str, Any],
    *,
    seed: int,
) -> dict[str, Any]:
    """Return the card of a dataset as JSON values.

    Args:
        folder: the folder with the scenes and images, for the leak test.
        items: the items of the dataset. They are read one at a time, because they may not fit into memory.
        scenes: the scenes of the same items.
        splits: the result of `spotball_gen.quality.splits.split`.
        facts: how the dataset was made, with the keys `spotball_gen.dataset.output.FACTS`.
        seed: seed of the leak test.
    """
    by_sport = group(scenes)
    artifacts, per_video = _Artifacts(), Counter[str]()
    for item in items:
        artifacts.add(item)
        per_video[item.source.video] += 1
    sources = [{**source, "items": per_video[source["video"]]} for source in facts["sources"]]
    return {
        "items": {sport: len(of) for sport, of in by_sport.items()},
        "table_1": {sport: table_1(of) for sport, of in by_sport.items()},
        "difficulty": {sport: difficulty(of) for sport, of in by_sport.items()},
        "splits": {part: {name: len(of) for name, of in splits[part].items()} for part in (TRAIN, TEST)},
        "by_shot": splits[BY_SHOT],
        "without_test": splits[WITHOUT_TEST],
        "artifacts": artifacts.record(),
        "leak_test": _leak(folder, scenes, seed),
        **facts,
        "sources": sources,
    }


def group(scenes: Sequence[Scene]) -> dict[str, list[Scene]]:
    """Group scenes by sport. Sports are sorted by name, and scenes keep their order within a sport."""
    by_sport: dict[str, list[Scene]] = {}
    for scene in scenes:
        by_sport.setdefault(scene.sport, []).append(scene)
    return dict(sorted(by_sport.items()))


class _Artifacts:
    """Collect the results of the stage `check` item by item, and summarize them."""

    def __init__(self) -> None:
        self._scores: list[float] = []
        self._why: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()

    def add(self, item: Item) -> None:
        """Add the results of the stage `check` for an item."""
        check, scores = item.notes.get("check", {}), item.scores
        self._scores += [scores["artifact"]] if "artifact" in scores else []
        self._why.update(check.get("why", ()))
        self._counts["review_first"] += bool(check.get("review_first"))
        for name in ("ball_again", "changed_outside"):
            self._counts[f"asked {name}"] += name in scores
            self._counts[name] += scores.get(name, 0) > 0

    def record(self) -> dict[str, Any]:
        """Return the summary as JSON values."""
        quartiles = [round(float(value), 3) for value in np.percentile(self._scores or [0.0], [25, 50, 75])]
        counts = self._counts
        return {
            "scored": len(self._scores),
            "quartiles": quartiles if self._scores else None,
            "review_first": counts["review_first"],
            "why": dict(sorted(self._why.items())),
            "detected_again": {"asked": counts["asked ball_again"], "seen": counts["ball_again"]},
            "outside_the_mask": {"compared": counts["asked changed_outside"], "changed": counts["changed_outside"]},
        }


def _leak(folder: Path, scenes: Sequence[Scene], seed: int) -> dict[str, Any]:
    if len({video_of(scene) for scene in scenes}) < 2:
        return {"not_done": "it needs images of at least two videos"}
    return leak_test(folder, seed=seed, permutations=PERMUTATIONS, most=LOOKED_AT).record()


def markdown(of: Mapping[str, Any]) -> str:
    """Return the card in Markdown."""
    parts = [_head(of), _like(of), _gone(of), _made(of), _sources(of)]
    return "\n".join(line for part in parts for line in part)


def _head(of: Mapping[str, Any]) -> Iterator[str]:
    total = sum(of["items"].values())
    yield from ("# Dataset card", "")
    yield f"{plural(total, 'item')}: " + ", ".join(f"{count:,} {sport}" for sport, count in of["items"].items()) + "."
    run = of["run"]
    yield f"Each image has {run['width']} x {run['height']} pixels and a grid of {run['rows']} x {run['cols']} cells."
    splits = of["splits"]
    parts = (
        f"{plural(splits[part]['images'], 'image')} of {splits[part]['videos']:,} videos ({part})"
        for part in (TRAIN, TEST)
    )
    yield f"Split by video: {' and '.join(parts)}. The file `checksums.sha256` contains the checksums of all files."
    for sport in of["by_shot"]:
        yield f"The training and test images of {sport} show the same match, because they are from one video."
    for sport in of["without_test"]:
        yield f"There are no test images of {sport}, because all images of this sport are from one shot of one video."
    yield ""


def _like(of: Mapping[str, Any]) -> Iterator[str]:
    yield from (
        "## Properties of the images",
        "",
        "This table shows means over images, like Table 1 of the Spot the Ball paper:",
        "",
    )
    sports = list(of["items"])
    yield from _table(
        ["", *sports], [[_ROWS[row], *(_number(of["table_1"][sport][row]) for sport in sports)] for row in TABLE_1]
    )
    yield from ("", "![Positions of balls and players](positions.svg)", "")
    yield "The next table shows the quartiles of each measure of difficulty over images, with lengths in pixels."
    yield "The row `in_center` is the share of balls in the center window of the paper."
    yield ""
    difficulties = of["difficulty"]
    rows = [[name, *(_quartiles(difficulties[sport][name]) for sport in sports)] for name in MEASURES]
    yield from _table(
        ["", *sports], [*rows, ["in_center", *(_number(difficulties[sport]["in_center"]) for sport in sports)]]
    )
    for line in of["targets"]["starving"]:
        yield f"\n{line}."
    yield ""


def _gone(of: Mapping[str, Any]) -> Iterator[str]:
    yield from ("## Checks of the inpainting", "")
    artifacts = of["artifacts"]
    again, outside = artifacts["detected_again"], artifacts["outside_the_mask"]
    if artifacts["scored"]:
        yield (
            "The artifact score of an image is the share of its untouched regions that differ less from their "
            "surroundings than the inpainted region does."
        )
        yield f"Its quartiles over {artifacts['scored']:,} items are {_quartiles(artifacts['quartiles'])}."
        yield f"{plural(artifacts['review_first'], 'item')} should be reviewed first{_because(artifacts['why'])}."
    else:
        yield "There are no artifact scores, because the run had no stage `check`."
    if again["asked"]:
        share = f"{again['seen']:,} of {again['asked']:,} images"
        yield f"After inpainting, the detector still found a ball in the same place in {share}."
    if outside["compared"]:
        yield f"Pixels outside the mask changed in {outside['changed']:,} of {outside['compared']:,} images."
    yield ""
    leak = of["leak_test"]
    if "not_done" in leak:
        yield verdict(leak)
        yield ""
        return
    yield f"The leak test uses {plural(leak['images'], 'image')} of {leak['videos']:,} videos."
    yield "A simple classifier predicts the inpainted cell from the noise, blur and edges of each cell."
    yield "The classifier is trained on other videos."
    yield ""
    tests = {"all cells": leak, **({"decoys": leak["decoys"]} if "decoys" in leak else {})}
    rows = [
        [
            f"{among}: {name}",
            f"{m['value']:.3f}",
            _range(m["interval"]),
            f"{m['chance']:.3f}",
            _range(m["chance_range"]),
            f"{m['p']:.4f}",
        ]
        for among, of in tests.items()
        for name, m in (("accuracy (share of correct first choices)", of["accuracy"]), ("AUC", of["auc"]))
    ]
    yield from _table(["", "value", "95% interval", "chance", "95% range of chance", "p"], rows)
    yield ""
    yield f"Cells that contained the ball {_distinguished(leak)} from other cells{_together(leak)}."
    yield "The chance level was computed by exchanging the balls' positions between images of the same sport."
    yield ""
    if "decoys" in leak:
        yield (
            f"The decoys of a ball are {DECOYS} untouched cells of its image, at a similar height in the image and a "
            "similar distance to players."
        )
        yield f"Inpainted cells {_distinguished(leak['decoys'])} from the decoys{_together(leak['decoys'])}."
        yield ""
    yield f"**{verdict(leak)}**"
    yield ""


def _distinguished(test: Mapping[str, Any]) -> str:
    return "can be distinguished" if test["distinguished"] else "were not distinguished"


def _together(test: Mapping[str, Any]) -> str:
    return f" (p = {test['p']:.3f} for accuracy and AUC together)"


def _made(of: Mapping[str, Any]) -> Iterator[str]:
    yield from ("## How the dataset was made", "", f"The seed is {of['run']['seed']}.", "")
    rows = [[stage["stage"], stage["kind"], stage["version"], _settings(stage["settings"])] for stage in of["stages"]]
    yield from _table(["stage", "kind", "version", "settings"], rows)
    yield from ("", "![Items left after each stage](funnel.svg)", "")
    yield "Versions: " + ", ".join(f"{name} {version}" for name, version in of["packages"].items()) + "."
    yield ""


def _sources(of: Mapping[str, Any]) -> Iterator[str]:
    yield from ("## Sources", "")
    rows = [
        [source["video"], source["sport"], source["license"] or "not known", source["origin"], f"{source['items']:,}"]
        for source in of["sources"]
    ]
    yield from _table(["video", "sport", "license", "from", "items"], rows)
    yield ""


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield markdown_row(head)
    yield f"|{' --- |' * len(head)}"
    yield from map(markdown_row, rows)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.2f}"


def _quartiles(values: Sequence[float] | None) -> str:
    return "-" if values is None else " / ".join(f"{value:,.4g}" for value in values)


def _range(ends: Sequence[float] | None) -> str:
    return "-" if ends is None else f"{ends[0]:.3f} to {ends[1]:.3f}"


def _because(why: Mapping[str, int]) -> str:
    return f" ({', '.join(f'{reason}: {count:,}' for reason, count in why.items())})" if why else ""


def _settings(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in settings.items())
