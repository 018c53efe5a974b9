"""List this package's file formats that are published as JSON Schemas; see `spotball_core.schema.published`."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from spotball_core.schema.published import FileFormat
from spotball_gen.hub.manifest import HubManifest
from spotball_gen.items.item import Sport
from spotball_gen.items.stage import ORDER
from spotball_gen.pipeline.config import DEFAULT_KINDS, GROUP, RunSettings, SourceSettings
from spotball_gen.pipeline.quotas import Targets
from spotball_gen.poses.report import PosesReport


def _stage(stage: str) -> Any:
    """Return the union type of the settings of a stage's built-in kinds. The field `kind` identifies each of them."""
    union: Any = None
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        of, kind = entry.name.split(".", 1)
        if of == stage and entry.dist is not None and entry.dist.name == "spotball-core":
            settings = entry.load().Settings
            default = kind if DEFAULT_KINDS.get(stage) == kind else ...
            field: Any = (Literal[kind], default)
            variant = create_model(settings.__name__, __base__=settings, kind=field)
            union = variant if union is None else union | variant
    return union


def _configuration() -> type[BaseModel]:
    tables: dict[str, Any] = {
        "run": (RunSettings, RunSettings.model_validate({})),
        "sources": (tuple[SourceSettings, ...], Field(min_length=1)),
        "sports": (dict[str, Sport], {}),
        "targets": (Targets, Targets.model_validate({})),
    }
    for stage in ("frames", *ORDER):
        tables[stage] = (_stage(stage), None if stage in DEFAULT_KINDS else ...)
    text = "A configuration of `spotball gen run`, with the kinds of stages that spotball-core provides."
    return create_model("Configuration", __config__=ConfigDict(extra="forbid"), __doc__=text, **tables)


GENERATION = FileFormat("A configuration of `spotball gen run` (TOML).", _configuration())
POSES = FileFormat(
    "The numbers of players with and without a pose, from `spotball cues poses` (poses.json).", PosesReport
)
HUB_MANIFEST = FileFormat("The manifest that `spotball push` uploads (spotball.json).", HubManifest)
