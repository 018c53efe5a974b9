"""What is still to ask, and in what order: any part of a run, from its start, is spread evenly over the images."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Generic, Protocol, TypeVar

from spotball_adapters.providers.protocol import Message, RunItem
from spotball_core.errors import OptionError

ItemT = TypeVar("ItemT", bound=RunItem)
ItemT_contra = TypeVar("ItemT_contra", bound=RunItem, contravariant=True)


class PromptOf(Protocol[ItemT_contra]):
    """What items of a kind are asked with."""

    @property
    def name(self) -> str:
        """As a run and its responses call it."""
        ...

    @property
    def version(self) -> str:
        """Of its text."""
        ...

    @property
    def digest(self) -> str:
        """Of its text."""
        ...

    @property
    def questions(self) -> Sequence[str]:
        """What is asked one by one before the last message."""
        ...

    def question(self, index: int) -> tuple[Message, ...]:
        """The conversation that asks question `index`, counted from 0."""
        ...

    def last(self, item: ItemT_contra, sample: int, answers: Sequence[str] = ()) -> tuple[Message, ...]:
        """The conversation that asks for the answer.

        Args:
            sample: the first of those that it asks for.
            answers: to the questions.
        """
        ...


Done = Mapping[tuple[str, str, str, int], int]
"""What is stored: for each (sport, image, prompt, step) a number whose bit `n` says whether sample `n` is there.

Steps count the questions of a prompt from 0; the step after its last question asks for the answer.
"""


@dataclass(frozen=True, slots=True)
class Ask(Generic[ItemT]):
    """A step of a prompt, asked about an image for some samples."""

    item: ItemT
    prompt: PromptOf[ItemT]
    step: int
    samples: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Chain(Generic[ItemT]):
    """Samples of a prompt for an image that lack their answer; what their questions lack is asked first."""

    item: ItemT
    prompt: PromptOf[ItemT]
    samples: tuple[int, ...]


@dataclass(frozen=True)
class SamplePlan(Generic[ItemT]):
    """All samples of some prompts for some images, less what is stored.

    Attributes:
        scenes: the images, in the order to ask about them.
        prompts: each with the number of its samples.
        done: what is stored.
        skipped: images and prompts that are not asked, as (sport, image, prompt).

    Raises:
        OptionError: for no prompt, a prompt that is there twice, or less than one sample.
    """

    scenes: tuple[ItemT, ...]
    prompts: tuple[tuple[PromptOf[ItemT], int], ...]
    done: Done
    skipped: Collection[tuple[str, str, str]] = ()

    def __post_init__(self) -> None:
        names = [prompt.name for prompt, _ in self.prompts]
        if not names:
            raise OptionError("--prompt: no prompt was named. Name at least one, such as base")
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise OptionError(f"--prompt: {', '.join(twice)} is named twice. Name each prompt once")
        if too_few := [f"{samples} of {prompt.name}" for prompt, samples in self.prompts if samples < 1]:
            raise OptionError(f"--samples: found {', '.join(too_few)}, expected at least 1 per prompt")

    def chains(self, at_once: int) -> Iterator[Chain[ItemT]]:
        """What is left, `at_once` samples of an image at a time: first of every prompt and image, then the next.

        Samples are numbered from 1. Nothing is worked out before it is wanted.
        """
        rounds = -(-max(samples for _, samples in self.prompts) // at_once)
        for number in range(rounds):
            for prompt, samples in self.prompts:
                for scene in self.scenes:
                    if (*scene.key, prompt.name) in self.skipped:
                        continue
                    step, numbers = len(prompt.questions), range(1, samples + 1)
                    untouched = not self.done.get((*scene.key, prompt.name, step))
                    left = numbers if untouched else self.missing(scene, prompt, step, numbers)
                    if chunk := left[number * at_once : (number + 1) * at_once]:
                        yield Chain(scene, prompt, tuple(chunk))

    def asks(self, at_once: int) -> Iterator[Ask[ItemT]]:
        """The requests that are left if none fails and each is answered in full."""
        for chain in self.chains(at_once):
            for step in range(len(chain.prompt.questions)):
                if missing := self.missing(chain.item, chain.prompt, step, chain.samples):
                    yield Ask(chain.item, chain.prompt, step, missing)
            step = len(chain.prompt.questions)
            # With questions, each sample's conversation is its own.
            together = 1 if step else at_once
            for start in range(0, len(chain.samples), together):
                yield Ask(chain.item, chain.prompt, step, chain.samples[start : start + together])

    def missing(self, scene: ItemT, prompt: PromptOf[ItemT], step: int, samples: Iterable[int]) -> tuple[int, ...]:
        """Those of the samples that are not stored."""
        stored = self.done.get((*scene.key, prompt.name, step), 0)
        return tuple(sample for sample in samples if not stored >> sample & 1)


def limited(
    items: Sequence[ItemT], limit: int | None, kind: Callable[[ItemT], Hashable] = lambda item: item.key[0]
) -> tuple[ItemT, ...]:
    """The first items of each kind, by default of each sport, kinds in turn, `limit` in all; every item if it is None.

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
