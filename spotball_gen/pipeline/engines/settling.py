"""Apply stages that need all items before they decide, for all engines."""

from __future__ import annotations

from typing import Any

from spotball_gen.pipeline.config import StageChoice
from spotball_gen.pipeline.engines.taking import drop_pictures
from spotball_gen.pipeline.engines.tally import GenerationTally
from spotball_gen.pipeline.ledger import Ledger, State


def settle(
    ledger: Ledger, stage: Any, choice: StageChoice, after: State, tally: GenerationTally, *, keep_pictures: bool
) -> list[str]:
    """Let a stage decide on all items that wait for its decision, and return the ids of the items that continue.

    Args:
        after: the new state of the items that continue.
        keep_pictures: whether to keep the images of rejected items.
    """
    held = ledger.held(choice.stage)
    if not held:
        return []
    items = {name: ledger.item(name) for name in held}
    rejects = stage.settle(held, {name: item.sport for name, item in items.items()})
    ledger.settle(choice.stage, rejects, after)
    rejected = {reject.item for reject in rejects}
    if not keep_pictures:
        drop_pictures(items[name] for name in rejected)
    tally.count(choice.stage, 0, -len(rejects), 0)
    return [name for name in held if name not in rejected]
