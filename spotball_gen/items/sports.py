"""What is known of a sport: what is searched for, asked for and looked for. A new one is an entry, not code."""

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
        queries: what videos are searched for by, where a source names none.
        prompts: what a frame should be a picture of (the filter `clip`).
        ball_class: the detector's name for the ball.
        player_class: the detector's name for a player.
        bounds: settings of the stage `plausibility` that are others for this sport.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    queries: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    ball_class: str = "sports ball"
    player_class: str = "person"
    bounds: Mapping[str, Any] = {}


@cache
def known_sports() -> Mapping[str, Sport]:
    """The sports of the paper, which need no entry; one given in the configuration replaces it."""
    text = files("spotball_gen.items").joinpath("sports.toml").read_text(encoding="utf-8")
    return {name: Sport.model_validate(entry) for name, entry in tomllib.loads(text).items()}
