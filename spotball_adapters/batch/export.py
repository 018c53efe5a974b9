"""Export a batch: the requests for all missing replies that can be requested now."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spotball_adapters.batch.folder import (
    ASKED,
    MANIFEST,
    PICTURES,
    AskedPrompt,
    BatchRequest,
    FormName,
    Manifest,
    batches,
    check_same,
    custom_id,
    identity,
    next_batch,
    read_asked,
)
from spotball_adapters.prompts.picture import kept
from spotball_adapters.prompts.prompt import Prompt
from spotball_adapters.providers.chat_completions import chat_body
from spotball_adapters.providers.protocol import Message, Picture, Request, Settings
from spotball_adapters.runs.launch import check_pictures
from spotball_adapters.runs.plan import Ask, SamplePlan
from spotball_adapters.runs.store import SCENES, ReplyStore
from spotball_core.errors import OptionError
from spotball_core.io.scenes import write_scenes
from spotball_core.schema.scene import Scene
from spotball_core.service.files import replacing_folder
from spotball_core.service.progress import OnProgress, counted, ignore_progress

AT_ONCE: dict[FormName, int] = {"messages": 1, "openai": 128}
"""Default maximum number of replies per request, by format. Not every service can return several replies per
request."""

MOST_LINES, MOST_BYTES = 50_000, 200_000_000
"""OpenAI's limits per file of requests: number of lines and number of bytes."""


def line(form: FormName, custom_id: str, model: str | None, request: Request, picture: str) -> str:
    """Return a request as a line of JSON.

    Args:
        model: the model's name at the service, or None if it is chosen when the requests are sent.
        picture: path of the image, relative to the run's folder.
    """
    if form == "openai":
        assert model is not None
        body = chat_body(model, request, length="max_completion_tokens")
        entry: dict[str, Any] = {"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions", "body": body}
    else:
        settings = request.settings.given()
        if "seed" in settings:
            # Requests for further samples of the same question must not return the same replies.
            settings["seed"] += request.samples[0] - 1
        entry = {"custom_id": custom_id, **({"model": model} if model else {})}
        entry["messages"] = [
            {"role": message.role, **({"image": picture} if message.picture else {}), "text": message.text}
            for message in request.messages
        ]
        entry |= {"settings": settings, "n": len(request.samples)}
    # ASCII, because text may contain Unicode line separators at which some readers would split.
    return json.dumps(entry) + "\n"


class Parts:
    """Write lines to `requests.jsonl`, or to `requests-001.jsonl` and so on if one file would be too large.

    Args:
        folder: the folder to write to.
        lines: maximum lines per file.
        size: maximum bytes per file.
    """

    def __init__(self, folder: Path, *, lines: int = MOST_LINES, size: int = MOST_BYTES) -> None:
        self._folder, self._most_lines, self._most_bytes = folder, lines, size
        self._names: list[str] = []
        self._lines = self._bytes = 0
        self._close: Callable[[], None] = lambda: None

    def write(self, text: str) -> None:
        """Write a line. If the current file would become too large, start the next one."""
        data = text.encode()
        if not self._names or self._lines == self._most_lines or self._bytes + len(data) > self._most_bytes:
            self._next()
        self._file.write(data)
        self._lines += 1
        self._bytes += len(data)

    def close(self) -> tuple[str, ...]:
        """Close the last file, and return the names of all files."""
        self._close()
        if len(self._names) == 1:
            (self._folder / self._names[0]).rename(self._folder / "requests.jsonl")
            return ("requests.jsonl",)
        return tuple(self._names)

    def _next(self) -> None:
        self._close()
        self._names.append(f"requests-{len(self._names) + 1:03}.jsonl")
        self._file = (self._folder / self._names[-1]).open("wb")
        self._close = self._file.close
        self._lines = self._bytes = 0


Turn = tuple[Ask[Scene], tuple[Message, ...]]


@dataclass(frozen=True)
class Exported:
    """The result of exporting a batch.

    Attributes:
        folder: the batch's folder, or None if no reply is missing.
        manifest: the batch's manifest.
        unanswered: number of requests of earlier batches that still lack a reply. The new batch requests the missing
            replies again.
    """

    folder: Path | None
    manifest: Manifest
    unanswered: int


@dataclass(frozen=True)
class Job:
    """What to export: the scenes, the prompts, the model and its sampling settings.

    Attributes:
        dataset: the dataset's folder.
        scenes: all scenes of the dataset.
        selected: the scenes to ask about, in the order of their requests.
        prompts: each prompt with its number of samples.
        model: the model's name at the service, or None if it is chosen when the requests are sent.
    """

    dataset: Path
    scenes: tuple[Scene, ...]
    selected: tuple[Scene, ...]
    prompts: tuple[tuple[Prompt, int], ...]
    settings: Settings
    model: str | None


def export(
    job: Job,
    out: Path,
    *,
    form: FormName = "messages",
    at_once: int | None = None,
    on_progress: OnProgress = ignore_progress,
) -> Exported:
    """Write the next batch of a run into the run's folder.

    Args:
        out: the run's folder.
        form: the format of the requests.
        at_once: maximum number of replies per request; by default the format's number in `AT_ONCE`.
        on_progress: called with the number of images drawn so far and the number of images to draw.

    Raises:
        OptionError: if OpenAI's format is used without a model; if the folder contains a run with other settings or
            images, or a run that was not exported in batches; or if another process uses the folder.
        InputError: if an image is missing or invalid.
    """
    from spotball_core.version import version

    if form == "openai" and not job.model:
        raise OptionError("--format openai needs the name of the model. Add --model NAME", code="missing-option")
    at_once = at_once or AT_ONCE[form]
    plan: SamplePlan[Scene] = SamplePlan(job.selected, job.prompts, {})
    with ReplyStore(out) as store:
        run_identity = identity(job.scenes, plan, job.settings, job.model)
        check_same(out, run_identity)
        store.claim(run_identity)
        if not (out / SCENES).exists():
            write_scenes(job.scenes, out / SCENES)
        plan = SamplePlan(job.selected, job.prompts, store.done())
        due, waiting = _due(plan, store, at_once)
        unanswered = _unanswered(out, plan)
        manifest = Manifest(
            spotball_core=version(),
            identity=run_identity,
            format=form,
            model=job.model,
            settings=job.settings.given(),
            prompts={prompt.name: AskedPrompt.of(prompt, samples) for prompt, samples in job.prompts},
            requests=len(due),
            replies=sum(len(ask.samples) for ask, _ in due),
            waiting=waiting,
            files=(),
        )
        if not due:
            return Exported(None, manifest, unanswered)
        pictures = _drawn(job, out, {ask.item.key for ask, _ in due}, on_progress)
        check_pictures(out, store.pictures(), pictures)
        number, folder = next_batch(out)
        with replacing_folder(folder) as beside:
            parts = Parts(beside)
            with (beside / ASKED).open("w", encoding="utf-8", newline="\n") as asked_file:
                for i, (ask, messages) in enumerate(due, start=1):
                    name, digest = custom_id(number, i, ask), pictures[ask.item.key]
                    path = f"{PICTURES}/{digest}.png"
                    parts.write(line(form, name, job.model, _request(out / path, ask, messages, job.settings), path))
                    about = BatchRequest(
                        custom_id=name,
                        sport=ask.item.sport,
                        image=ask.item.image,
                        prompt=ask.prompt.name,
                        step=ask.step,
                        samples=ask.samples,
                        picture=digest,
                    )
                    asked_file.write(about.model_dump_json() + "\n")
            manifest = manifest.model_copy(update={"files": parts.close()})
            (beside / MANIFEST).write_text(manifest.model_dump_json(indent=1) + "\n", encoding="utf-8", newline="\n")
        return Exported(folder, manifest, unanswered)


def _due(plan: SamplePlan[Scene], store: ReplyStore, at_once: int) -> tuple[list[Turn], int]:
    """Return the requests that can be sent now, and the number of final questions that must wait.

    A prompt's final question can be sent only after its earlier questions were answered for the same sample.
    """
    due: list[Turn] = []
    waiting = 0
    for chain in plan.chains(at_once):
        scene, prompt = chain.item, chain.prompt
        if not prompt.questions:
            due.append((Ask(scene, prompt, 0, chain.samples), prompt.last(scene, chain.samples[0])))
            continue
        steps = range(len(prompt.questions))
        texts = store.texts(*scene.key, prompt.name, chain.samples)
        lacking = {step: tuple(sample for sample in chain.samples if (step, sample) not in texts) for step in steps}
        due.extend(
            (Ask(scene, prompt, step, samples), prompt.question(step)) for step, samples in lacking.items() if samples
        )
        for sample in chain.samples:
            answers = [texts[step, sample] for step in steps if (step, sample) in texts]
            if len(answers) < len(steps):
                waiting += 1
            else:
                due.append((Ask(scene, prompt, len(steps), (sample,)), prompt.last(scene, sample, answers)))
    return due, waiting


def _request(path: Path, ask: Ask[Scene], messages: tuple[Message, ...], settings: Settings) -> Request:
    picture = Picture(path.read_bytes(), "image/png", ask.item.width, ask.item.height)
    return Request(ask.item, picture, messages, settings, ask.samples)


def _drawn(job: Job, out: Path, keys: set[tuple[str, str]], on_progress: OnProgress) -> dict[tuple[str, str], str]:
    """Write the given scenes' images with grids into the run's folder; return each file's SHA-256 by scene key."""
    scenes = [scene for scene in job.selected if scene.key in keys]
    drawing = counted(scenes, len(scenes), on_progress)
    return {scene.key: kept(scene, job.dataset, out / PICTURES).stem for scene in drawing}


def _unanswered(out: Path, plan: SamplePlan[Scene]) -> int:
    """Return the number of requests of earlier batches that still lack a reply."""
    lacking = 0
    for batch in batches(out):
        for request in read_asked(batch):
            stored = plan.done.get((request.sport, request.image, request.prompt, request.step), 0)
            lacking += any(not stored >> sample & 1 for sample in request.samples)
    return lacking
