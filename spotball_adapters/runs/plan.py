"""Compute the missing samples of a run, in rounds over all prompts and images.

If a run stops early, all images therefore have about the same number of samples.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Generic, Protocol, TypeVar

from spotball_adapters.providers.protocol import Message, RunItem
from spotball_core.errors import OptionError

ItemT = TypeVar("ItemT", bound=RunItem)
ItemT_contra = TypeVar("ItemT_contra", bound=RunItem, contravariant=True)


class PromptOf(Protocol[ItemT_contra]):
    """Interface of prompts about one type of item, such as scenes."""

    @property
    def name(self) -> str:
        """Return the prompt's name in the run and its responses."""
        ...

    @property
    def version(self) -> str:
        """Return the version of the prompt's text."""
        ...

    @property
    def digest(self) -> str:
        """Return a digest of the prompt's text, and of its questions if it has any."""
        ...

    @property
    def questions(self) -> Sequence[str]:
        """Return the questions that are asked one by one before the final message."""
        ...

    def question(self, index: int) -> tuple[Message, ...]:
        """Return the conversation that asks question `index` (zero-based)."""
        ...

    def last(self, item: ItemT_contra, sample: int, answers: Sequence[str] = ()) -> tuple[Message, ...]:
        """Return the conversation that asks for the answer.

        Args:
            sample: the first of the requested samples.
            answers: answers to the prompt's questions.
        """
        ...


Done = Mapping[tuple[str, str, str, int], int]
"""Stored samples: for each (sport, image, prompt, step) an integer whose bit `n` is set if sample `n` is stored.

Steps number the questions of a prompt from 0. The step after the last question asks for the answer.
"""


@dataclass(frozen=True, slots=True)
class Ask(Generic[ItemT]):
    """A request for one step of a prompt about an item; see `Done` for steps.

    Attributes:
        samples: numbers of the samples that the request asks for.
    """

    item: ItemT
    prompt: PromptOf[ItemT]
    step: int
    samples: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Chain(Generic[ItemT]):
    """Samples of a prompt about an item that have no final answer yet.

    Answers to the prompt's questions that are missing are requested before the final answers.
    """

    item: ItemT
    prompt: PromptOf[ItemT]
    samples: tuple[int, ...]


@dataclass(frozen=True)
class SamplePlan(Generic[ItemT]):
    """The samples of the given prompts and images that are not stored yet.

    Attributes:
        scenes: the images, in the order of the requests.
        prompts: each prompt with its number of samples.
        done: the stored samples.
        skipped: combinations to skip, as (sport, image, prompt).
        by_image: numbers of samples of some images, by (sport, image), instead of the prompts' numbers.

    Raises:
        OptionError: if there are no prompts, if two prompts have the same name, or if a prompt has no samples.
    """

    scenes: tuple[ItemT, ...]
    prompts: tuple[tuple[PromptOf[ItemT], int], ...]
    done: Done
    skipped: Collection[tuple[str, str, str]] = ()
    by_image: Mapping[tuple[str, str], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = [prompt.name for prompt, _ in self.prompts]
        if not names:
            raise OptionError("no prompt was named. Name at least one, such as base", code="no-data", field="--prompt")
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise OptionError(
                f"{', '.join(twice)} is named twice. Give each prompt once", code="duplicate", field="--prompt"
            )
        if too_few := [f"{samples} for {prompt.name}" for prompt, samples in self.prompts if samples < 1]:
            raise OptionError(f"found {', '.join(too_few)}, expected at least 1 per prompt", field="--samples")

    def chains(self, at_once: int) -> Iterator[Chain[ItemT]]:
        """Yield the missing samples in rounds. Each round has the next `at_once` samples of every prompt and image.

        Samples are numbered from 1. Each round is computed only when the iteration reaches it.
        """
        most = max([*(samples for _, samples in self.prompts), *self.by_image.values()])
        rounds = -(-most // at_once)
        for number in range(rounds):
            for prompt, samples in self.prompts:
                for scene in self.scenes:
                    if (*scene.key, prompt.name) in self.skipped:
                        continue
                    step, numbers = len(prompt.questions), range(1, self.by_image.get(scene.key, samples) + 1)
                    untouched = not self.done.get((*scene.key, prompt.name, step))
                    left = numbers if untouched else self.missing(scene, prompt, step, numbers)
                    if chunk := left[number * at_once : (number + 1) * at_once]:
                        yield Chain(scene, prompt, tuple(chunk))

    def asks(self, at_once: int) -> Iterator[Ask[ItemT]]:
        """Yield the remaining requests, assuming that none fails and that each returns all its replies."""
        for chain in self.chains(at_once):
            for step in range(len(chain.prompt.questions)):
                if missing := self.missing(chain.item, chain.prompt, step, chain.samples):
                    yield Ask(chain.item, chain.prompt, step, missing)
            step = len(chain.prompt.questions)
            # With questions, each sample has its own conversation.
            together = 1 if step else at_once
            for start in range(0, len(chain.samples), together):
                yield Ask(chain.item, chain.prompt, step, chain.samples[start : start + together])

    def missing(self, scene: ItemT, prompt: PromptOf[ItemT], step: int, samples: Iterable[int]) -> tuple[int, ...]:
        """Return the given samples without those that are stored for this step of the prompt about the scene."""
        stored = self.done.get((*scene.key, prompt.name, step), 0)
        return tuple(sample for sample in samples if not stored >> sample & 1)


def limited(
    items: Sequence[ItemT], limit: int | None, kind: Callable[[ItemT], Hashable] = lambda item: item.key[0]
) -> tuple[ItemT, ...]:
    """Return the first `limit` items, or all items without a limit, alternating between sports (or values of `kind`).

    Examples:
        >>> from spotball_core.synthetic.scenes import synthetic_scenes
        >>> [scene.image for scene in limited(synthetic_scenes(9), 4)]
        ['1', '1', '1', '2']
    """
    by_kind: dict[Hashable, list[ItemT]] = {}
    for item in items:
        by_kind.setdefault(kind(item), []).append(item)
    in_turn = [item for turn in zip_longest(*by_kind.values()) for item in turn if item is not None]
    return tuple(in_turn[:limit])
