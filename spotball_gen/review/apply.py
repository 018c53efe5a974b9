"""What comes of a review: scenes without what was rejected, and without the boxes that were unchecked."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence, Set
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from spotball_core.errors import InputError, OptionError, Problem
from spotball_core.io.dataset import SCENES
from spotball_core.io.scenes import read_scenes, write_scenes
from spotball_core.schema.scene import PlayerBox, Scene
from spotball_core.service.files import replacing
from spotball_core.service.json_file import parse_json
from spotball_core.service.paths import confined
from spotball_gen.dataset.finish import CARD, finish
from spotball_gen.dataset.output import FACTS, FUNNEL, put
from spotball_gen.pipeline.folder import IMAGES, LEDGER, WITH_BALL, WORK
from spotball_gen.pipeline.ledger import Ledger
from spotball_gen.review.material import ORIGINAL, digest, original_file
from spotball_gen.review.store import REVIEW, Corners, Decision, Key, ReviewStore


@dataclass(frozen=True)
class Applied:
    """What took effect.

    Attributes:
        kept: how many images the dataset has now.
        rejected: how many a reviewer rejected.
        waiting: how many are left out until they are repainted and accepted.
        undecided: how many of those kept nobody decided on; left out where only accepted ones are wanted.
        boxes: how many boxes of those kept were unchecked.
        added: how many boxes were added to those kept.
    """

    kept: int
    rejected: int
    waiting: int
    undecided: int
    boxes: int
    added: int = 0


def apply_review(dataset: Path, *, only_accepted: bool = False) -> Applied:
    """Let decisions take effect in `scenes.jsonl`, and in card, split and checksums where the dataset has them.

    An image that any reviewer rejected is left out, one that any wants repainted, too; a box that any unchecked goes.
    Images and the scenes as they were made stay, so that nothing is lost: applied again after more decisions, or
    fewer, it starts from those.

    Args:
        only_accepted: leave out what nobody decided on.

    Raises:
        InputError: for scenes that cannot be read, or if none is left.
        OptionError: if nobody has reviewed the dataset, or a run has it.
    """
    if not (dataset / REVIEW).is_file():
        raise OptionError(f"{dataset} has not been reviewed. Run `spotball gen review {dataset}` first")
    with ExitStack() as stack:
        ledger = stack.enter_context(Ledger(dataset)) if (dataset / WORK / LEDGER).exists() else None
        store = stack.enter_context(ReviewStore(dataset))
        original, decisions = original_file(dataset, store), store.decisions()
        scenes, applied = with_decisions(
            read_scenes(original),
            list(decisions.values()),
            only_accepted=only_accepted,
            repainted=ledger.repainted() if ledger else frozenset(),
        )
        if not scenes:
            raise InputError([Problem(str(original), None, "scenes", "none that the review left", "at least one")])
        if original.name != ORIGINAL:
            with replacing(confined(dataset, ORIGINAL)) as beside:
                shutil.copyfile(original, beside)
        new = Path(stack.enter_context(TemporaryDirectory(prefix=".review.", dir=dataset)))
        write_scenes(scenes, new / SCENES)
        names = []
        if ledger and (dataset / CARD).is_file():
            review = {"reviewers": len(decisions), "only_accepted": only_accepted, **asdict(applied)}
            names = _finish(new, scenes, ledger, review)
        # Noted first: scenes that are in place must be known to have come of a review.
        store.applied(digest(dataset / ORIGINAL), digest(new / SCENES))
        for name in (*names, SCENES):
            (new / name).replace(dataset / name)
    return applied


def _finish(new: Path, scenes: Sequence[Scene], ledger: Ledger, review: Mapping[str, int]) -> list[str]:
    """Write what a dataset has beside its scenes and images; returns the names of these files."""
    card = parse_json((ledger.dataset / CARD).read_text(encoding="utf-8"))
    for path in sorted(ledger.dataset.iterdir()):
        if path.name in (IMAGES, WITH_BALL):
            shutil.copytree(path, new / path.name, copy_function=_put)
        elif path.stem == FUNNEL:
            put(path, new / path.name)
    existing = {path.name for path in new.iterdir()}
    facts = {name: card[name] for name in FACTS}
    items = (ledger.item(scene.image) for scene in scenes)
    finish(new, items, {**facts, "review": dict(review)}, seed=card["run"]["seed"], shots=ledger.shots())
    return sorted(path.name for path in new.iterdir() if path.name not in existing)


def _put(file: str, place: str) -> None:
    put(Path(file), Path(place))


def with_decisions(
    scenes: Sequence[Scene],
    decisions: Sequence[Mapping[Key, Decision]],
    *,
    only_accepted: bool = False,
    repainted: Set[str] = frozenset(),
) -> tuple[list[Scene], Applied]:
    """The scenes that decisions leave, in their order.

    Args:
        decisions: of each reviewer.
        only_accepted: leave out what nobody decided on.
        repainted: images that were painted again, and wait for somebody to accept them.
    """
    remaining: list[Scene] = []
    rejected = waiting = undecided = boxes = n_added = 0
    for scene in scenes:
        scene_decisions = [of[scene.key] for of in decisions if scene.key in of]
        verdicts = {decision.verdict for decision in scene_decisions}
        if "reject" in verdicts:
            rejected += 1
        elif "repaint" in verdicts or (scene.image in repainted and "accept" not in verdicts):
            waiting += 1
        else:
            undecided += "accept" not in verdicts
            if only_accepted and "accept" not in verdicts:
                continue
            unchecked = {box for decision in scene_decisions for box in decision.unchecked}
            left = [place for place, box in enumerate(scene.players or ()) if box.corners not in unchecked]
            boxes += len(scene.players or ()) - len(left)
            added = _distinct([box for decision in scene_decisions for box in decision.added])
            n_added += len(added)
            remaining.append(_with_players(scene, left, added))
    return remaining, Applied(len(remaining), rejected, waiting, undecided, boxes, n_added)


def _distinct(boxes: Sequence[Corners]) -> list[Corners]:
    """The boxes without those that overlap an earlier one by more than half: several reviewers add the same player."""
    kept: list[Corners] = []
    for box in boxes:
        if all(_overlap(box, other) <= 0.5 for other in kept):
            kept.append(box)
    return kept


def _overlap(one: Corners, other: Corners) -> float:
    """Intersection over union."""
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    shared = max(wide, 0.0) * max(high, 0.0)
    return shared / (sum((x2 - x1) * (y2 - y1) for x1, y1, x2, y2 in (one, other)) - shared)


def _with_players(scene: Scene, left: Sequence[int], added: Sequence[Corners]) -> Scene:
    """Return the scene with these of its players, their outlines and keypoints, and with added ones that have none."""
    if scene.players is None and not added:
        return scene
    none = (None,) * len(added)
    new = tuple(PlayerBox.model_validate(box) for box in added)
    players = (*((scene.players or ())[place] for place in left), *new)
    outlines = scene.player_outlines and (*(scene.player_outlines[place] for place in left), *none)
    poses = scene.player_keypoints and (*(scene.player_keypoints[place] for place in left), *none)
    update = {"players": players, "player_outlines": outlines or None, "player_keypoints": poses or None}
    return scene.model_copy(update=update)
