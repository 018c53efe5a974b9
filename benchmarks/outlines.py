"""Measure how much players' outlines change near-player and overlap rates, on the published soccer images.

Writes docs/assets/outlines.json, which the documentation shows. The release contains only boxes, so outlines are
computed with OpenCV's GrabCut from each box. They are rough and were not corrected.

    python benchmarks/outlines.py RELEASE [--pictures FOLDER]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from spotball_core import Scene, __version__, import_release, load, score
from spotball_core.geometry import clipped, outline_shares
from spotball_core.metrics.strategy import near_player_mask, overlap_mask
from spotball_core.service.files import replacing

PAGE_DATA = Path(__file__).parents[1] / "docs/assets/outlines.json"
RATES = ("near_player_rate", "overlap_rate")
LEAST_PIXELS, LEAST_SHARE = 40, 0.15
"""A smaller silhouette, in pixels or as a share of its box, counts as a failure, and the box is used."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release", type=Path)
    parser.add_argument("--pictures", type=Path, help="a folder for images with boxes and outlines drawn, to look at")
    parser.add_argument("--out", type=Path, default=PAGE_DATA)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        dataset = Path(folder) / "soccer"
        import_release(options.release).write(dataset)
        data = load(dataset)
        outlined = [with_outlines(scene, dataset, options.pictures) for scene in data.scenes]
        responses = sorted(dataset.glob("responses*"))
        reports = {
            name: score(responses, scenes, bootstrap=0)
            for name, scenes in (("box", data.scenes), ("outline", outlined))
        }
    known = [outline for scene in outlined for outline in scene.player_outlines or () if outline]
    n_players = sum(len(scene.players or ()) for scene in outlined)
    content = {
        "version": str(__version__),
        "images": len(outlined),
        "players": n_players,
        "outlines": len(known),
        "covered": float(np.mean([share_of_box(scene) for scene in outlined if scene.players])),
        "cells": {name: cells(scenes) for name, scenes in (("box", data.scenes), ("outline", outlined))},
        "rates": {
            f"{group.respondent}/{group.prompt}": {
                rate: [reports[name].groups[place].metrics[rate].value for name in ("box", "outline")] for rate in RATES
            }
            for place, group in enumerate(reports["box"].groups)
        },
        "seconds": {name: seconds(scenes) for name, scenes in (("box", data.scenes), ("outline", outlined))},
    }
    with replacing(options.out) as beside:
        beside.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(content, indent=1))


def with_outlines(scene: Scene, dataset: Path, pictures: Path | None) -> Scene:
    """Return the scene with an outline for each player that GrabCut finds in the box."""
    if not scene.players or scene.path is None:
        return scene
    image = cv2.imread(str(dataset / scene.path))
    outlines = [silhouette(image, box.corners) for box in scene.players]
    known = Scene.model_validate({**scene.model_dump(), "player_outlines": outlines})
    if pictures is not None:
        draw(image, known, pictures)
    return known


def silhouette(image: Any, corners: tuple[float, ...]) -> list[Any] | None:
    """Return the largest part of GrabCut's foreground as a polygon, or None if it is too small."""
    height, width = image.shape[:2]
    x1, y1, x2, y2 = (round(edge) for edge in corners)
    x1, x2, y1, y2 = max(x1, 1), min(x2, width - 1), max(y1, 1), min(y2, height - 1)
    if x2 - x1 < 4 or y2 - y1 < 8:
        return None
    mask = np.zeros((height, width), np.uint8)
    cv2.setRNGSeed(0)
    cv2.grabCut(image, mask, (x1, y1, x2 - x1, y2 - y1), np.zeros((1, 65)), np.zeros((1, 65)), 5, cv2.GC_INIT_WITH_RECT)
    inside = np.isin(mask, (cv2.GC_FGD, cv2.GC_PR_FGD)).astype(np.uint8)
    found, _ = cv2.findContours(inside, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    largest = max(found, key=cv2.contourArea, default=None)
    if largest is None or cv2.contourArea(largest) < max(LEAST_PIXELS, LEAST_SHARE * (x2 - x1) * (y2 - y1)):
        return None
    polygons = clipped([[(float(x) + 0.5, float(y) + 0.5) for x, y in largest[:, 0]]], width, height)
    return [list(map(list, polygon)) for polygon in polygons]


def share_of_box(scene: Scene) -> float:
    """Return the mean share of a player's box that the outline covers. A player without an outline counts as 1."""
    outlines = scene.player_outlines or (None,) * len(scene.boxes)
    areas = [
        outline_shares([outline], scene.layout).sum() * scene.layout.cell_width * scene.layout.cell_height
        if outline
        else None
        for outline in outlines
    ]
    sizes = np.prod(scene.boxes[:, 2:] - scene.boxes[:, :2], axis=1)
    return float(np.mean([1.0 if area is None else area / size for area, size in zip(areas, sizes, strict=True)]))


def cells(scenes: Any) -> dict[str, float]:
    """Return the mean share of cells in an image that count as near a player, and as overlapping a player."""
    known = [scene for scene in scenes if scene.players]
    return {
        "near": float(np.mean([near_player_mask(scene, scene.layout)[0].mean() for scene in known])),
        "overlap": float(np.mean([overlap_mask(scene, scene.layout)[0].mean() for scene in known])),
    }


def seconds(scenes: Any, rounds: int = 5) -> float:
    """Return the minimum time for both masks of all scenes."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        cells(scenes)
        times.append(time.perf_counter() - start)
    return min(times)


def draw(image: Any, scene: Scene, folder: Path) -> None:
    """Write an image with boxes in red and outlines in green."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = image.copy()
    for box in scene.players or ():
        x1, y1, x2, y2 = (round(edge) for edge in box.corners)
        cv2.rectangle(drawn, (x1, y1), (x2, y2), (0, 0, 255), 1)
    for outline in scene.player_outlines or ():
        for polygon in outline or ():
            cv2.polylines(drawn, [np.array(polygon, dtype=np.int32)], True, (0, 255, 0), 1)
    cv2.imwrite(str(folder / f"{scene.image}.png"), drawn)


if __name__ == "__main__":
    main()
