"""Test the stage `check`: marks for review, and the second detection on the inpainted image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spotball_gen.items.item import Box, Item
from spotball_gen.items.stage import Context, Device, Failure, Outcome, Reject, StageSettings
from spotball_gen.stages.check_artifacts import Artifacts, ArtifactSettings
from tests.gen.making import context_of, item_of
from tests.gen.quality.pictures import disk, filled, textured

BALL = Box(90, 80, 110, 100, 0.9)


class Bright:
    """Detect the ball if its center is bright. If not, the corner pixel selects a failure, a reject or no detection."""

    Settings = StageSettings
    name, kind, version, batch_size = "detect", "bright", "1", 4
    device: Device = "gpu"

    def __init__(self, settings: Any, context: Context) -> None:
        pass

    def process(self, items: Sequence[Item]) -> Outcome:
        kept, rejects, failures = [], [], []
        for item in items:
            assert item.ball is None
            if item.image[90, 100, 0] > 200:
                kept.append(replace(item, boxes=(BALL, Box(0, 0, 9, 9, 1.0), replace(BALL, label="player", score=1.0))))
            elif item.image[0, 0, 0] == 0:
                failures.append(Failure(item.id, "detect", "dark"))
            elif item.image[0, 0, 0] == 255:
                rejects.append(Reject(item.id, "detect", "no ball"))
            else:
                kept.append(item)
        return Outcome(tuple(kept), tuple(rejects), tuple(failures))


class Blind(Bright):
    sees = False


def painted_item(work: Path, ident: str, *, ball: bool = False, corner: int = 100, stray: bool = False) -> Item:
    image, mask = textured(1).copy(), disk(100, 90, 11)
    image[0, 0] = corner
    painted = filled(image, mask).copy()
    if ball:
        painted[85:95, 95:105] = 255
    if stray:
        painted[3, 3] ^= 1
    context = context_of(work)
    item = item_of(image, work, ident, ball=BALL, boxes=(BALL,))
    return replace(item, painted=context.keep(item, "painted", painted), mask=context.keep(item, "masks", mask))


def check(work: Path, items: Sequence[Item], detector: Any = None, **settings: Any) -> Outcome:
    context = context_of(work, detector=detector and (detector, StageSettings()))
    return Artifacts(ArtifactSettings(**settings), context).process(items)


def test_artifact_check_puts_a_visible_fill_first_in_the_review_unless_below_the_limit(tmp_path: Path) -> None:
    items = [painted_item(tmp_path, name) for name in ("m-000001000", "m-000002000")]
    together = check(tmp_path, items).items
    assert together[0].scores["artifact"] > 0.95
    assert together[0].scores["changed_outside"] == 0
    assert "ball_again" not in together[0].scores
    assert together[0].notes["check"]["review_first"]
    assert together[0].notes["check"]["why"] == ["stands out"]
    (below,) = check(tmp_path, items[:1], limit=1.0).items
    assert not below.notes["check"]["review_first"]
    # The result of an item does not depend on the batch.
    apart = [check(tmp_path, [item]).items[0] for item in items]
    assert [item.record(tmp_path) for item in together] == [item.record(tmp_path) for item in apart]


def test_ball_detected_again_is_scored_and_marked_for_review(tmp_path: Path) -> None:
    corners = {"gone": 100, "rejected": 255, "failing": 0}
    items = [painted_item(tmp_path, "seen", ball=True)]
    items += [painted_item(tmp_path, name, corner=corner) for name, corner in corners.items()]
    outcome = check(tmp_path, items, Bright, limit=1.0)
    assert {item.id: item.scores["ball_again"] for item in outcome.items} == {"seen": 0.9, "gone": 0, "rejected": 0}
    assert outcome.items[0].notes["check"]["why"] == ["ball seen again"]
    assert outcome.failures == (Failure("failing", "check", "detecting again: dark"),)
    # The check changes neither the boxes nor the frame.
    for before, after in zip(items[:3], outcome.items, strict=True):
        assert (after.ball, after.boxes, after.frame) == (before.ball, before.boxes, before.frame)


@pytest.mark.parametrize(("detector", "settings"), [(Blind, {}), (Bright, {"detect_again": False})])
def test_detector_that_ignores_images_or_is_disabled_gives_no_ball_again_score(
    tmp_path: Path, detector: Any, settings: Any
) -> None:
    outcome = check(tmp_path, [painted_item(tmp_path, "seen", ball=True)], detector, **settings)
    assert "ball_again" not in outcome.items[0].scores


def test_pixels_changed_outside_the_mask_are_counted_and_reported(tmp_path: Path) -> None:
    (item,) = check(tmp_path, [painted_item(tmp_path, "stray", stray=True)], limit=1.0).items
    assert item.scores["changed_outside"] == 1
    assert item.notes["check"]["why"] == ["pixels changed outside the mask"]
    # Without a mask, the region is the changed pixels.
    (bare,) = check(tmp_path, [replace(painted_item(tmp_path, "bare"), mask=None)]).items
    assert bare.scores["artifact"] > 0.95
    assert "changed_outside" not in bare.scores


def test_check_artifacts_with_nothing_inpainted_fails_and_with_everything_inpainted_gives_no_score(
    tmp_path: Path,
) -> None:
    bare, item = item_of(textured(0), tmp_path, ball=BALL), painted_item(tmp_path, "all")
    whole = context_of(tmp_path).keep(item, "masks", np.full((180, 320), 255, np.uint8))
    outcome = check(tmp_path, [bare, replace(item, mask=whole)])
    assert [failure.error for failure in outcome.failures] == ["ValueError: nothing was inpainted"]
    (checked,) = outcome.items
    assert "artifact" not in checked.scores
    assert checked.notes["check"]["why"] == ["too few untouched regions to compare"]
