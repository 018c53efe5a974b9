"""Load gaze prompts: the pilot prompts of the gaze paper, 16 prompts for its main study, and your own prompts.

A prompt has a text and a version. A run records the version and the hash of the text.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from spotball_adapters.gaze.options import letters, lines, shuffled
from spotball_adapters.gaze.photos import Photo
from spotball_adapters.providers.protocol import Message
from spotball_core.errors import Fault, InputError, OptionError, unknown_name
from spotball_core.service.toml_file import read_toml

SETS = ("main", "pilot", "pre-pilot")
"""Names of the built-in sets of prompts. A prompt's name consists of the set and a number, such as `pilot-3`."""

_PLACEHOLDER = re.compile(r"\{(options|letters|in_order)\}")
_WORD_IN_BRACES = re.compile(r"\{++\s*+\w++\s*+\}++")
_FIELDS = ("name", "version", "text", "hints")


@dataclass(frozen=True, slots=True)
class Wording:
    """A prompt that consists of one message.

    Attributes:
        name: the prompt's name in a run.
        version: the version of the text.
        text: the text, with placeholders in braces.
    """

    name: str
    version: str
    text: str

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the text in hexadecimal."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def questions(self) -> tuple[str, ...]:
        """Return an empty tuple, because the prompt asks no questions before its only message."""
        return ()

    def question(self, index: int) -> tuple[Message, ...]:
        """Raise IndexError, because the prompt asks no questions before its only message."""
        raise IndexError(f"prompt {self.name!r} has no question {index}")


@dataclass(frozen=True, slots=True)
class GazePrompt(Wording):
    """A prompt about a photo.

    Attributes:
        text: the text, in which `{options}` stands for the options, one per line with its letter; `{letters}` for the
            letters; and `{in_order}` for the names of the objects in their order along the table.
        hints: names of the hints in the text, for comparisons of prompts with and without these hints.
        seed: seed of the orders in which options are listed.

    Raises:
        OptionError: if the name or version is empty, or if the text lacks `{options}` or has an unknown placeholder.
    """

    hints: tuple[str, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        if faults := list(_faults(self.name, self.version, self.text)):
            raise OptionError(f"prompt {self.name!r}: {'; '.join(map(str, faults))}", code=faults[0].code)

    def options(self, photo: Photo, sample: int) -> tuple[str, ...]:
        """Return the objects in the order in which the trial with this photo and sample lists them as options."""
        stimulus = photo.stimulus
        return shuffled(
            stimulus.objects, seed=self.seed, stimulus_id=stimulus.stimulus_id, prompt=self.name, sample=sample
        )

    def last(self, item: Photo, sample: int, answers: Sequence[str] = ()) -> tuple[Message, ...]:
        """Return the only message: the photo, then the text with this trial's options.

        Examples:
            >>> from spotball_core.gaze.data.stimuli import Stimulus
            >>> photo = Photo(Stimulus(stimulus_id="7", objects=("keys", "bottle"), view="front", proximity=1,
            ...     gaze_target="keys"))
            >>> prompt = GazePrompt("mine", "1", "Look!\\n{options}\\nSay {letters}. ({in_order})")
            >>> print(prompt.last(photo, 1)[0].text)
            Look!
            A. keys
            B. bottle
            Say A, B. (keys, bottle)
        """
        options = self.options(item, sample)
        filled = {
            "options": lines(options),
            "letters": ", ".join(letters(options)),
            "in_order": ", ".join(item.stimulus.objects),
        }
        return (Message("user", _PLACEHOLDER.sub(lambda match: filled[match[1]], self.text), picture=True),)


def load_prompts(named: str, *, seed: int = 0) -> tuple[GazePrompt, ...]:
    """Load the prompts in a comma-separated list of sets, single prompts such as `pilot-3`, and paths of TOML files.

    A file has `name`, `version`, `text` and optionally `hints`. Its name must differ from the built-in names, so that
    its results cannot be confused with results of built-in prompts.

    Args:
        seed: seed of the orders in which options are listed.

    Raises:
        OptionError: if a name is unknown or a prompt is repeated.
        InputError: if a file is not a valid prompt. The error lists all problems.

    Examples:
        >>> len(load_prompts("main")), load_prompts("pilot-3")[0].name
        (16, 'pilot-3')
    """
    prompts = [prompt for part in named.split(",") if part.strip() for prompt in _named(part.strip())]
    names = [prompt.name for prompt in prompts]
    if not names:
        raise OptionError("no prompt was named. Name at least one, such as main", code="no-data", field="--prompt")
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise OptionError(
            f"{', '.join(twice)} is named twice. Give each prompt once", code="duplicate", field="--prompt"
        )
    return tuple(replace(prompt, seed=seed) for prompt in prompts)


@cache
def built_in(name: str) -> tuple[GazePrompt, ...]:
    """Return the prompts of a built-in set, given its name in `SETS`."""
    text = files("spotball_adapters").joinpath("gaze", "prompt_texts", f"{name}.toml").read_text(encoding="utf-8")
    fields = tomllib.loads(text)
    return tuple(
        GazePrompt(entry["name"], fields["version"], entry["text"], tuple(entry.get("hints", ())))
        for entry in fields["prompt"]
    )


def _named(name: str) -> Iterable[GazePrompt]:
    if name in SETS:
        return built_in(name)
    for prompt in _all():
        if prompt.name == name:
            return (prompt,)
    path = Path(name)
    if not path.exists():
        raise OptionError(
            f"{unknown_name('prompt', name, SETS)}, one prompt such as main-1, or the path of a prompt file",
            code="unknown-name",
            field="--prompt",
        )
    return (_from_file(path),)


def _all() -> list[GazePrompt]:
    return [prompt for name in SETS for prompt in built_in(name)]


def _from_file(path: Path) -> GazePrompt:
    fields = read_toml(path, "a prompt")
    if problems := list(_problems(fields)):
        raise InputError(fault.in_file(path) for fault in problems)
    return GazePrompt(fields["name"], fields["version"], fields["text"], tuple(fields.get("hints", ())))


def _problems(fields: dict[str, Any]) -> list[Fault]:
    """Return the problems with the fields of a prompt file."""
    faults = [
        Fault(name, "an unknown field", f"only the fields {', '.join(_FIELDS)}", "unknown-key")
        for name in fields
        if name not in _FIELDS
    ]
    for field in ("name", "version", "text"):
        if field not in fields:
            faults.append(Fault(field, "nothing", "a string in quotes", "missing-value"))
        elif not isinstance(fields[field], str):
            faults.append(Fault(field, repr(fields[field]), "a string in quotes"))
    hints = fields.get("hints", [])
    if not isinstance(hints, list) or not all(isinstance(hint, str) for hint in hints):
        faults.append(Fault("hints", repr(hints), "a list of strings in quotes"))
    if faults:
        return faults
    if fields["name"] in {prompt.name for prompt in _all()}:
        faults.append(Fault("name", repr(fields["name"]), "a name that no built-in prompt has"))
    return faults + _faults(fields["name"], fields["version"], fields["text"])


def _faults(name: str, version: str, text: str) -> list[Fault]:
    """Return the problems with the name, version and text of a prompt."""
    faults = [
        Fault(field, repr(value), "a non-empty text without spaces at its start or end")
        for field, value in (("name", name), ("version", version))
        if not value or value != value.strip()
    ]
    if "{options}" not in text:
        faults.append(Fault("text", "a text without {options}", "the placeholder {options} where the options belong"))
    faults += [
        Fault("text", word, "only the placeholders {options}, {letters} and {in_order}")
        for word in dict.fromkeys(_WORD_IN_BRACES.findall(text))
        if not _PLACEHOLDER.fullmatch(word)
    ]
    return faults
