"""Define the settings of sports: search queries, prompts and detector classes.

To add a sport, add an entry to the configuration. No code is needed.
"""

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
    """Return the settings of the paper's sports by name. A sport's entry in the configuration replaces its settings."""
    text = files("spotball_gen.items").joinpath("sports.toml").read_text(encoding="utf-8")
    return {name: Sport.model_validate(entry) for name, entry in tomllib.loads(text).items()}
