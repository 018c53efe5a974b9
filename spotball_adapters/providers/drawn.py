"""What providers share that draw their answers on this machine, without a model and without looking at a picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from spotball_adapters.providers.protocol import Access, Settings
from spotball_adapters.providers.ranges import check_ranges, refuse
from spotball_core.errors import OptionError, unknown_name


class DrawingProvider:
    """A provider whose models are known by name.

    Raises:
        OptionError: for a model that is none of them, or a base URL.
    """

    name: str
    models: ClassVar[tuple[str, ...]]

    def __init__(self, access: Access) -> None:
        if access.model not in self.models:
            raise OptionError(f"--model: {unknown_name(self.name, access.model, self.models)}")
        if access.base_url:
            raise OptionError(f"the provider {self.name} does not use a server. Remove --base-url")
        self.model: str = access.model

    def check(self, settings: Settings) -> None:
        """Refuse all settings but the seed."""
        names = ("temperature", "top_p", "max_output_tokens")
        refuse(settings, *names, why=f"{self.name}s support no setting except the seed")
        check_ranges(settings, self.name, max_temperature=0.0)

    def image_tokens(self, width: int, height: int) -> int | None:
        """Nothing: no picture is looked at."""
        return 0

    def versions(self) -> Mapping[str, str]:
        """NumPy's, which draws."""
        return {"numpy": np.__version__}

    async def close(self) -> None:
        """Nothing to let go of."""
