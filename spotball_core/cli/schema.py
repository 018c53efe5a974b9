"""`spotball schema`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from spotball_core.cli.console import Out, deliver, teller
from spotball_core.cli.options import Debug, Quiet


def schema(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Name of the format. Default: list the names.")
    ] = None,
    out: Out = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Print the JSON Schema of a file format, or list the formats.

    Example: `spotball schema scene --out scene.schema.json`

    Use it for completion in editors, and to validate files in other programs.
    """
    from spotball_core.schema.published import formats, json_schema
    from spotball_core.text.tables import beside

    if name is None:
        all_formats = formats()
        width = max(map(len, all_formats))
        text = "".join(beside(f"{key:{width}}  ", format.about) + "\n" for key, format in all_formats.items())
    else:
        text = json.dumps(json_schema(name), indent=1, ensure_ascii=False) + "\n"
    deliver(text, out, teller(quiet))
