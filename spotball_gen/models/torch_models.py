"""Locate, load and identify models of the Hugging Face libraries, and select the device that runs them."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from spotball_core.errors import MissingExtraError, OptionError
from spotball_core.service.files import folder_digest
from spotball_core.service.hugging_face import disable_progress_bars, one_line
from spotball_gen.items.stage import StageSettings


class TorchSettings(StageSettings):
    """Settings of a stage that runs a model of the Hugging Face libraries.

    Attributes:
        model: a folder relative to the configuration's folder, or a name on the Hugging Face Hub.
        revision: branch, tag or commit on the Hub.
        device: `auto` is `cuda` if PyTorch supports it on this machine, otherwise `cpu`.
        dtype: number format for computation. The stage defines the meaning of `auto`.
        batch_size: images per batch.
    """

    model: str
    revision: str | None = None
    device: Literal["auto", "cpu", "cuda"] = "auto"
    dtype: Literal["auto", "float32", "float16", "bfloat16"] = "auto"
    batch_size: int = Field(ge=1, le=1024)


def require(purpose: str, *modules: str) -> None:
    """Check that libraries are installed.

    Raises:
        MissingExtraError: if at least one of the modules is not installed.
    """
    if any(importlib.util.find_spec(module) is None for module in modules):
        raise MissingExtraError(purpose, "local")


def picked_device(setting: str, stage: str) -> Literal["cpu", "cuda"]:
    """Return the device that a setting (`auto`, `cpu` or `cuda`) selects.

    Raises:
        OptionError: if the setting is `cuda` and PyTorch does not support it on this machine.
    """
    import torch

    available = torch.cuda.is_available()
    if setting == "cuda" and not available:
        raise OptionError(
            f'{stage}: device: PyTorch finds no CUDA device on this machine. Set `device` to "auto" or "cpu"',
            code="unsupported-device",
        )
    return "cuda" if available and setting != "cpu" else "cpu"


def source_of(model: str, folder: Path, stage: str) -> str:
    """Return where to load a model from: an existing folder, otherwise a name on the Hub.

    Args:
        model: the setting.
        folder: the folder that the path of a model is relative to.
        stage: name of the stage, for the error message.

    Raises:
        OptionError: if the setting can only be the path of a folder, and the folder does not exist.
    """
    path = folder / Path(model).expanduser()
    if path.is_dir():
        return str(path)
    if Path(model).is_absolute() or model.startswith((".", "~")) or model.count("/") > 1:
        raise OptionError(f"{stage}: model: the folder {path} does not exist. Correct the path", code="missing-file")
    return model


def loaded(load: Callable[[], Any], source: str, stage: str) -> Any:
    """Return the result of a function that loads a model.

    Raises:
        OptionError: if the model cannot be loaded.
    """
    if not sys.stderr.isatty():
        disable_progress_bars()
    try:
        return load()
    except (OSError, ValueError, ImportError, KeyError) as error:
        raise OptionError(f"{stage}: {source}: cannot be loaded: {one_line(error)}", code="unusable-model") from error


def weights_name(source: str, commit: str | None) -> str:
    """Return a text that identifies the weights of a model.

    Args:
        source: the folder or the name on the Hub.
        commit: the commit on the Hub, or None if it is unknown.

    Returns:
        `NAME@COMMIT`, or `NAME` without a commit; for a folder, its name and the start of the digest of all its files.
    """
    folder = Path(source)
    if not folder.is_dir():
        return f"{source}@{commit}" if commit else source
    return f"{folder.name}@{folder_digest(folder)[:12]}"
