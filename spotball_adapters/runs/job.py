"""Define the base class of jobs: what a run asks about, with which prompts, provider and settings."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Generic
from urllib.parse import urlsplit, urlunsplit

from spotball_adapters.prompts.picture import ScenePictures
from spotball_adapters.providers.protocol import Provider, Settings
from spotball_adapters.runs.plan import ItemT, PromptOf, SamplePlan
from spotball_adapters.runs.runner import PicturesOf
from spotball_adapters.runs.store import SCENES
from spotball_adapters.runs.store_schema import PROMPT
from spotball_core.io.scenes import write_scenes
from spotball_core.overlay import layout
from spotball_core.schema.scene import Scene


@dataclass(frozen=True)
class RunJob(ABC, Generic[ItemT]):
    """Items, prompts, provider and settings of a run.

    Attributes:
        items: what to ask about, such as scenes, in the order of the requests.
        prompts: each prompt with its number of samples.
        base_url: the server's address, or None for the provider's default.
        respondent: the respondent's name in the responses.
        kept_file: name of the file that `keep` writes.
        without_pictures: names of providers that offer only baselines. They answer from the items' data, so no image is
            sent.

    Raises:
        OptionError: if there are no prompts, if two prompts have the same name, or if a prompt has no samples.
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
        """Return the images, or None if the provider does not use images.

        Args:
            cache: folder in which to store drawn images, or None to keep them in memory.
        """

    @abstractmethod
    def size(self, item: ItemT) -> tuple[int, int]:
        """Return the width and height of an item's image, in pixels."""

    @abstractmethod
    def about(self) -> Mapping[str, Any]:
        """Return JSON values, by name, that identify the items and their images."""

    @abstractmethod
    def keep(self, out: Path) -> None:
        """Write the items into the run's folder."""

    @property
    def kind(self) -> str:
        """Return the kind of respondent: model or baseline."""
        return "model" if self.looks else "baseline"

    @property
    def looks(self) -> bool:
        """Return whether images are sent to the provider."""
        return self.provider.name not in self.without_pictures

    def plan(
        self, done: Mapping[tuple[str, str, str, int], int], skipped: Collection[tuple[str, str, str]] = ()
    ) -> SamplePlan[ItemT]:
        """Return the samples that are neither stored (`done`) nor skipped."""
        return SamplePlan(self.items, self.prompts, done, skipped)

    def image_tokens(self, item: ItemT) -> int | None:
        """Return the number of tokens of an item's image, or None if it is unknown for the provider."""
        return self.provider.image_tokens(*self.size(item))

    def identity(self) -> dict[str, Any]:
        """Return the values that all answers of a run must share. A run resumes only if they are unchanged."""
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
    """Return an address without its user, query and fragment, which may contain secrets.

    Examples:
        >>> without_secrets("https://me:key@host:8000/v1?key=abc#d")
        'https://host:8000/v1'
    """
    if url is None:
        return None
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


@dataclass(frozen=True)
class SceneJob(RunJob[Scene]):
    """Job that asks about the scenes of a dataset.

    Attributes:
        dataset: the dataset's folder.
        scenes: all scenes of the dataset, including those that the run does not ask about.
        by_image: numbers of samples of some images, see `SamplePlan`.
    """

    dataset: Path = field(kw_only=True)
    scenes: tuple[Scene, ...] = field(kw_only=True)
    by_image: Mapping[tuple[str, str], int] = field(kw_only=True, default_factory=dict)

    kept_file: ClassVar[str] = SCENES
    without_pictures: ClassVar[tuple[str, ...]] = ("baseline",)

    def plan(
        self, done: Mapping[tuple[str, str, str, int], int], skipped: Collection[tuple[str, str, str]] = ()
    ) -> SamplePlan[Scene]:
        """Return the samples that are neither stored nor skipped, with the numbers of `by_image`."""
        return replace(super().plan(done, skipped), by_image=self.by_image)

    def pictures(self, cache: Path | None) -> ScenePictures | None:
        """Return the images with their grids, or None if the provider does not use images."""
        return ScenePictures(self.dataset, cache) if self.looks else None

    def size(self, item: Scene) -> tuple[int, int]:
        """Return the width and height of a scene's image, in pixels."""
        return layout(item.layout).size

    def about(self) -> Mapping[str, Any]:
        """Return the digest of the scenes. Keypoints are excluded, because no prompt shows them."""
        scenes = sorted(scene.model_dump_json(exclude={"player_keypoints"}) for scene in self.scenes)
        return {"scenes": hashlib.sha256("\n".join(scenes).encode()).hexdigest()}

    def keep(self, out: Path) -> None:
        """Write the scenes, so that the run's folder is a dataset."""
        write_scenes(self.scenes, out / SCENES)
