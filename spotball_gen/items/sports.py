"""Sports: search queries, prompts and detector classes. A new sport needs an entry in the configuration, no code."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import BaseModel, ConfigDict


class Sport(BaseModel):
    """An entry `[sports.NAME]` of the configuration.

    Attributes:
        queries: search queries for videos, if a source names none.
        prompts: descriptions of suitable frames, for the filter `clip`.
        ball_class: the detector's name for the ball.
        player_class: the detector's name for a player.
        bounds: settings of the stage `plausibility` that differ for this sport.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    queries: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    ball_class: str = "sports ball"
    player_class: str = "person"
    bounds: Mapping[str, Any] = {}


@cache
def known_sports() -> Mapping[str, Sport]:
    """Return the sports of the paper, which need no entry. An entry in the configuration replaces them."""
    text = files("spotball_gen.items").joinpath("sports.toml").read_text(encoding="utf-8")
    return {name: Sport.model_validate(entry) for name, entry in tomllib.loads(text).items()}
