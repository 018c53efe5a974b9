"""Read, check and name the files of a run whose requests are exported in batches.

The run's folder contains:

RUN/run.sqlite            every imported reply; see spotball_adapters.runs.store
RUN/scenes.jsonl          the scenes of the requests
RUN/pictures/             the images with their grids, each named by the SHA-256 of its file
RUN/batch-1/              requests*.jsonl, the requests; asked.jsonl, what each request asks; manifest.json
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, NonNegativeInt, PositiveInt

from spotball_adapters.prompts.prompt import Prompt
from spotball_adapters.providers.protocol import Settings
from spotball_adapters.runs.plan import Ask, SamplePlan
from spotball_adapters.runs.store_schema import LATER_SETTINGS, PROMPT
from spotball_core.errors import OptionError
from spotball_core.schema.faults import record_of_json
from spotball_core.schema.record import Identifier, Name, Record
from spotball_core.schema.scene import Scene

PICTURES, ASKED, MANIFEST = "pictures", "asked.jsonl", "manifest.json"

FormName = Literal["messages", "openai"]
"""Request formats: this package's format, or the format of OpenAI's Batch API."""

_RESTORE = "Restore the file, or export the batch again"

_BATCH = re.compile(r"batch-([1-9][0-9]*)")


class AskedPrompt(Record):
    """A prompt as it was sent, with its number of samples."""

    version: str
    digest: str
    text: str
    questions: tuple[str, ...]
    samples: PositiveInt

    @classmethod
    def of(cls, prompt: Prompt, samples: int) -> AskedPrompt:
        """Create the record from a prompt and its number of samples."""
        return cls(
            version=prompt.version,
            digest=prompt.digest,
            text=prompt.text,
            questions=prompt.questions,
            samples=samples,
        )


class Manifest(Record):
    """The contents of a batch and the settings of its run.

    Attributes:
        spotball_core: the version of spotball-core that wrote the batch.
        identity: the run's identity without the respondent: the values that must be the same in all batches.
        settings: the sampling settings.
        prompts: the prompts by name.
        requests: the number of requests.
        replies: the number of requested replies.
        waiting: the number of final questions that belong to a later batch, because the answers to the earlier
            questions of their prompts are still missing.
        files: the names of the files with the requests.
    """

    schema_version: Literal[1] = 1
    spotball_core: str
    identity: dict[str, Any]
    format: FormName
    model: str | None
    settings: dict[str, Any]
    prompts: dict[str, AskedPrompt]
    requests: NonNegativeInt
    replies: NonNegativeInt
    waiting: NonNegativeInt
    files: tuple[str, ...]


class BatchRequest(Record):
    """What a request asks: one step (question) of a prompt about an image, for the given samples."""

    custom_id: str
    sport: Identifier
    image: Identifier
    prompt: Name
    step: NonNegativeInt
    samples: Annotated[tuple[PositiveInt, ...], Field(min_length=1)]
    picture: str


def batches(run: Path) -> list[Path]:
    """Return the folders of a run's batches, in the order of their numbers."""
    numbered = [(int(match[1]), path) for path in run.iterdir() if (match := _BATCH.fullmatch(path.name))]
    return [path for _, path in sorted(numbered)]


def next_batch(run: Path) -> tuple[int, Path]:
    """Return the number and the folder of a run's next batch."""
    number = 1 + max((int(path.name.removeprefix("batch-")) for path in batches(run)), default=0)
    return number, run / f"batch-{number}"


def read_manifest(batch: Path) -> Manifest:
    """Read the manifest of a batch.

    Raises:
        InputError: if the file is not a valid manifest.
    """
    path = batch / MANIFEST
    return record_of_json(Manifest, path.read_bytes(), str(path), fix=_RESTORE)


def read_asked(batch: Path) -> Iterator[BatchRequest]:
    """Yield what each request of a batch asks, from its file asked.jsonl.

    Raises:
        InputError: if a line is invalid.
    """
    path = batch / ASKED
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            yield record_of_json(BatchRequest, line, str(path), number, fix=_RESTORE)


def custom_id(batch: int, number: int, ask: Ask[Scene]) -> str:
    """Return the ID of a request, which has at most 64 ASCII characters, as services require, even for long image
    names.

    The hexadecimal digits at the end distinguish requests with the same number in different folders.

    Examples:
        >>> from spotball_adapters.prompts.prompt import load_prompt
        >>> from spotball_core.synthetic.scenes import synthetic_scenes
        >>> custom_id(1, 7, Ask(synthetic_scenes(1)[0], load_prompt("base"), 0, (1, 2)))
        'b1-7-...'
    """
    about = "\x1f".join((*ask.item.key, ask.prompt.name, ask.prompt.digest, str(ask.step), *map(str, ask.samples)))
    return f"b{batch}-{number}-{hashlib.sha256(about.encode()).hexdigest()[:8]}"


def identity(
    scenes: tuple[Scene, ...], plan: SamplePlan[Scene], settings: Settings, model: str | None
) -> dict[str, Any]:
    """Return the run's identity: the values, by name, that must be the same for all answers of the run.

    The first import adds the respondent.
    """
    prompts = {
        f"{PROMPT}{prompt.name}": {
            "version": prompt.version,
            "digest": prompt.digest,
            "questions": len(prompt.questions),
        }
        for prompt, _ in plan.prompts
    }
    texts = sorted(scene.model_dump_json(exclude={"player_keypoints"}) for scene in scenes)
    digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()
    return {"provider": "batch", "model": model, **asdict(settings), "scenes": digest, **prompts}


def check_same(run: Path, run_identity: dict[str, Any]) -> None:
    """Check that the run's earlier batches have the same identity as the new one.

    Raises:
        OptionError: if a value differs. The message lists the old and new values.
    """
    for batch in batches(run):
        earlier = {**LATER_SETTINGS, **read_manifest(batch).identity}
        if differing := [name for name, value in run_identity.items() if earlier.get(name, value) != value]:
            differences = ", ".join(
                f"{name} {_shown(earlier[name])} -> {_shown(run_identity[name])}" for name in differing
            )
            raise OptionError(
                f"{batch} was written with other settings ({differences}). Use another folder",
                code="different-settings",
                field="--out",
            )


def _shown(value: object) -> str:
    return "not set" if value is None else json.dumps(value, ensure_ascii=False)
