"""Return items to the inpainting stage, with the regions that reviewers marked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from spotball_core.errors import OptionError
from spotball_core.service.paths import confined
from spotball_gen.items.item import Item
from spotball_gen.pipeline.ledger import Ledger
from spotball_gen.review.store import REVIEW, Corners, Decision, Key, ReviewStore
from spotball_gen.stages.check_artifacts import SCORES

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
