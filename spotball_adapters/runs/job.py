"""Who is asked what: what runs of every kind have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic
from urllib.parse import urlsplit, urlunsplit

from spotball_adapters.providers.protocol import Provider, Settings
from spotball_adapters.runs.plan import ItemT, PromptOf, SamplePlan
from spotball_adapters.runs.runner import PicturesOf
from spotball_adapters.runs.store_schema import PROMPT


@dataclass(frozen=True)
class RunJob(ABC, Generic[ItemT]):
    """Who is asked what.

    Attributes:
        items: what is asked about, in order.
        prompts: each with the number of its samples.
        base_url: where the provider's server is; None for the provider's own.
        respondent: the name that the answers bear.
        kept_file: name of the file that `keep` writes.
        without_pictures: providers whose respondents are baselines: they answer from what the items are, and are shown
            no picture.

    Raises:
        OptionError: for prompts or samples that make no plan.
    """

    items: tuple[ItemT, ...]
    prompts: tuple[tuple[PromptOf[ItemT], int], ...]
    provider: Provider
    base_url: str | None
    settings: Settings
    respondent: str

    kept_file: ClassVar[str]
    without_pictures: ClassVar[tuple[str, ...]]

    def __post_init__(self) -> None:
        self.plan({})

    @abstractmethod
    def pictures(self, cache: Path | None) -> PicturesOf[ItemT] | None:
        """The pictures; None where nobody looks at them.

        Args:
            cache: where they may be kept.
        """

    @abstractmethod
    def size(self, item: ItemT) -> tuple[int, int]:
        """Width and height of an item's picture, in pixels."""

    @abstractmethod
    def about(self) -> Mapping[str, Any]:
        """What makes the items and their pictures the same as before, by name. JSON values."""

    @abstractmethod
    def keep(self, out: Path) -> None:
        """Write what is asked about into the run's folder."""

    @property
    def kind(self) -> str:
        """The kind of respondent."""
        return "model" if self.looks else "baseline"

    @property
    def looks(self) -> bool:
        """Whether the provider is shown pictures."""
        return self.provider.name not in self.without_pictures

    def plan(
        self, done: Mapping[tuple[str, str, str, int], int], skipped: Collection[tuple[str, str, str]] = ()
    ) -> SamplePlan[ItemT]:
        """What is left to ask, given what is stored, without what is skipped."""
        return SamplePlan(self.items, self.prompts, done, skipped)

    def image_tokens(self, item: ItemT) -> int | None:
        """What showing an item's picture costs; None where no rule is known."""
        return self.provider.image_tokens(*self.size(item))

    def identity(self) -> dict[str, Any]:
        """What makes answers belong together: under another one of these, a run does not go on."""
        prompts = {
            f"{PROMPT}{prompt.name}": {
                "version": prompt.version,
                "digest": prompt.digest,
                "questions": len(prompt.questions),
            }
            for prompt, _ in self.prompts
        }
        return {
            "provider": self.provider.name,
            "model": self.provider.model,
            "base_url": without_secrets(self.base_url),
            "respondent": self.respondent,
            "kind": self.kind,
            **asdict(self.settings),
            **self.about(),
            **prompts,
        }


def without_secrets(url: str | None) -> str | None:
    """An address without what may be secret in it.

    Examples:
        >>> without_secrets("https://me:key@host:8000/v1?key=abc#d")
        'https://host:8000/v1'
    """
    if url is None:
        return None
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
