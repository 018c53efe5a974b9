"""Apply a review: remove rejected images and unchecked boxes, add new boxes, and inpaint marked regions."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from spotball_core.errors import InputError, OptionError
from spotball_core.io.dataset import SCENES
from spotball_core.io.scenes import read_scenes, write_scenes
from spotball_core.schema.scene import PlayerBox, Scene
from spotball_core.service.files import file_digest, replacing
from spotball_core.service.json_file import parse_json
from spotball_core.service.paths import confined
from spotball_gen.dataset.finish import CARD, finish
from spotball_gen.dataset.output import FACTS, FUNNEL, put
from spotball_gen.items.item import Item
from spotball_gen.pipeline.folder import IMAGES, LEDGER, WITH_BALL, WORK
from spotball_gen.pipeline.ledger import Ledger
from spotball_gen.review.material import ORIGINAL, original_file
from spotball_gen.review.store import REVIEW, Corners, Decision, Key, ReviewStore
from spotball_gen.stages.check_artifacts import SCORES


@dataclass(frozen=True)
class Applied:
    """Numbers of images and boxes that a review keeps, excludes and adds.

    Attributes:
        kept: number of images left in the dataset.
        rejected: number of images that a reviewer rejected.
        waiting: number of images excluded until they are repainted and accepted.
        undecided: number of images without a verdict. They are kept unless only accepted images are requested.
        boxes: number of boxes in kept images that were removed because a reviewer unchecked them.
        added: number of boxes that reviewers added in kept images.
    """

    kept: int
    rejected: int
    waiting: int
    undecided: int
    boxes: int
    added: int = 0


def apply_review(dataset: Path, *, only_accepted: bool = False) -> Applied:
    """Apply the reviewers' decisions to `scenes.jsonl`, and update the dataset card, split and checksums if they exist.

    An image that any reviewer rejected or wants repainted is excluded, and so is a box that any reviewer unchecked.
    Image files and the original scenes are kept. A later call starts again from the original scenes.

    Args:
        dataset: the dataset's folder.
        only_accepted: also exclude images that no reviewer accepted.

    Raises:
        InputError: if the scenes cannot be read, or if the review leaves no image.
        OptionError: if the dataset has not been reviewed, or if another command that changes the dataset is running.
    """
    if not (dataset / REVIEW).is_file():
        raise OptionError(
            f"{dataset} has not been reviewed. Run `spotball gen review {dataset}` first", code="wrong-folder"
        )
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
            raise InputError.of(
                "no-data",
                original,
                "scenes",
                "no images, because the review excluded all of them",
                "at least one image",
                fix="Accept an image in the review",
            )
        if original.name != ORIGINAL:
            with replacing(confined(dataset, ORIGINAL)) as beside:
                shutil.copyfile(original, beside)
        new = Path(stack.enter_context(TemporaryDirectory(prefix=".review.", dir=dataset)))
        write_scenes(scenes, new / SCENES)
        names = []
        if ledger and (dataset / CARD).is_file():
            review = {"reviewers": len(decisions), "only_accepted": only_accepted, **asdict(applied)}
            names = _finish(new, scenes, ledger, review)
        # Store this first, so that scenes in place are always known to be the result of a review.
        store.applied(file_digest(dataset / ORIGINAL), file_digest(new / SCENES))
        for name in (*names, SCENES):
            (new / name).replace(dataset / name)
    return applied


def _finish(new: Path, scenes: Sequence[Scene], ledger: Ledger, review: Mapping[str, int]) -> list[str]:
    """Write the dataset's files other than scenes.jsonl for the remaining scenes, and return the names of new files.

    The images and the funnel are copied to the folder `new` unchanged, because the checksums include them. Their names
    are not returned.
    """
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
    """Return the scenes that remain after the reviewers' decisions, in their original order, and the counts of changes.

    Args:
        scenes: the original scenes.
        decisions: for each reviewer, the decisions by image.
        only_accepted: exclude images that no reviewer accepted.
        repainted: ids of images that were inpainted again. They are excluded until a reviewer accepts them.
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
    """Return the boxes except those whose intersection over union with an earlier box is above 0.5, because several
    reviewers may add a box for the same player.
    """
    kept: list[Corners] = []
    for box in boxes:
        if all(_overlap(box, other) <= 0.5 for other in kept):
            kept.append(box)
    return kept


def _overlap(first: Corners, second: Corners) -> float:
    """Return the intersection over union of two boxes."""
    wide = min(first[2], second[2]) - max(first[0], second[0])
    high = min(first[3], second[3]) - max(first[1], second[1])
    shared = max(wide, 0.0) * max(high, 0.0)
    return shared / (sum((x2 - x1) * (y2 - y1) for x1, y1, x2, y2 in (first, second)) - shared)


def _with_players(scene: Scene, left: Sequence[int], added: Sequence[Corners]) -> Scene:
    """Return the scene with the players at the indices `left` and with added players, who have no outlines or
    keypoints."""
    if scene.players is None and not added:
        return scene
    none = (None,) * len(added)
    new = tuple(PlayerBox.model_validate(box) for box in added)
    players = (*((scene.players or ())[place] for place in left), *new)
    outlines = scene.player_outlines and (*(scene.player_outlines[place] for place in left), *none)
    poses = scene.player_keypoints and (*(scene.player_keypoints[place] for place in left), *none)
    update = {"players": players, "player_outlines": outlines or None, "player_keypoints": poses or None}
    return scene.model_copy(update=update)


_ANEW = ("check", "label")
"""Stages whose results depend on the inpainting."""


def marked(decisions: Mapping[str, Mapping[Key, Decision]]) -> dict[Key, tuple[Corners, ...]]:
    """Return the regions to repaint of each image that a reviewer wants repainted and no reviewer rejects.

    Args:
        decisions: decisions by reviewer and image.

    Returns:
        The regions that all reviewers marked, by (sport, image).

    Examples:
        >>> anna = {("soccer", "1"): Decision("repaint", regions=((0, 0, 9, 9),)), ("soccer", "2"): Decision("accept")}
        >>> marked({"anna": anna})
        {('soccer', '1'): ((0, 0, 9, 9),)}
    """
    regions_by_key: dict[Key, tuple[Corners, ...]] = {}
    rejected: set[Key] = set()
    for of in decisions.values():
        rejected.update(key for key, decision in of.items() if decision.verdict == "reject")
        for key, decision in of.items():
            if decision.verdict == "repaint":
                regions_by_key[key] = (*regions_by_key.get(key, ()), *decision.regions)
    return {key: regions for key, regions in sorted(regions_by_key.items()) if key not in rejected}


def send_back(ledger: Ledger) -> tuple[tuple[Key, ...], int]:
    """Send the items that reviewers want repainted back to the inpainting stage.

    Returns:
        All images to repaint, and the number of items that this call sent back. Earlier calls sent back the others.

    Raises:
        OptionError: if the dataset has not been reviewed.
    """
    if not (ledger.dataset / REVIEW).is_file():
        raise OptionError(
            f"{ledger.dataset} has not been reviewed. Run `spotball gen review {ledger.dataset}` first",
            code="wrong-folder",
        )
    with ReviewStore(ledger.dataset) as store:
        to_repaint = marked(store.decisions())
    passed = set(ledger.ids("passed"))
    items = [(ledger.item(image), regions) for (_, image), regions in to_repaint.items() if image in passed]
    sent_back = [(item, repainted) for item, regions in items if (repainted := _again(item, regions))]
    ledger.go_again((again for _, again in sent_back), "inpaint")
    for before, _ in sent_back:
        for picture in (before.mask, before.painted):
            if picture:
                confined(ledger.work, picture.within(ledger.work)).unlink(missing_ok=True)
    return tuple(to_repaint), len(sent_back)


def _again(item: Item, regions: Iterable[Corners]) -> Item | None:
    """Return the item in its state before inpainting, with the new regions added to the earlier ones. Return None if
    all regions were inpainted before.
    """
    note = item.notes["inpaint"]
    earlier = note.get("regions", [])
    new = [list(region) for region in regions if list(region) not in earlier]
    if not new:
        return None
    notes = {stage: of for stage, of in item.notes.items() if stage not in _ANEW}
    scores = {name: score for name, score in item.scores.items() if name not in SCORES}
    bare = replace(item, notes=notes, scores=scores, mask=None, painted=None, cells=())
    return bare.noted("inpaint", regions=[*earlier, *new], repainted=note.get("repainted", 0) + 1)


def put_back(ledger: Ledger, painted: Iterable[Key]) -> None:
    """Reopen repainted images for review: earlier verdicts on them no longer count."""
    with ReviewStore(ledger.dataset) as store:
        for key in painted:
            store.reopen(key)
