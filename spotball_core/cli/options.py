"""Options that commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but results and errors.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
