"""Base class of providers that generate answers locally, without a model and without using the image."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from spotball_adapters.providers.protocol import Access, Settings, check_ranges, refuse
from spotball_core.errors import OptionError, unknown_name


class DrawingProvider:
    """Base class of providers with a fixed list of model names.

    Raises:
        OptionError: if the model is not in the list, or if a base URL is given.
    """

    name: str
    models: ClassVar[tuple[str, ...]]

    def __init__(self, access: Access) -> None:
        if access.model not in self.models:
            raise OptionError(unknown_name(self.name, access.model, self.models), code="unknown-name", field="--model")
        if access.base_url:
            raise OptionError(
                f"the provider {self.name} does not use a server. Remove --base-url", code="unsupported-option"
            )
        self.model: str = access.model

    def check(self, settings: Settings) -> None:
        """Raise OptionError for every setting except the seed, and for a negative seed."""
        names = ("temperature", "top_p", "max_output_tokens")
        refuse(settings, *names, why=f"the provider {self.name} supports only --seed")
        check_ranges(settings, self.name, max_temperature=0.0)

    def image_tokens(self, width: int, height: int) -> int | None:
        """Return 0, because the image is not used."""
        return 0

    def versions(self) -> Mapping[str, str]:
        """Return the version of NumPy, which draws the samples."""
        return {"numpy": np.__version__}

    async def close(self) -> None:
        """Do nothing, because the provider holds no resources."""
