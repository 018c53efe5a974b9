"""What the transformers provider refuses before it needs its libraries."""

import sys

import pytest

from spotball_adapters.providers.protocol import Access
from spotball_adapters.providers.transformers import Transformers
from spotball_core.errors import MissingExtraError, OptionError


def test_a_base_url_is_refused() -> None:
    with pytest.raises(OptionError, match="Remove --base-url"):
        Transformers(Access("some/model", base_url="http://127.0.0.1:1"))


@pytest.mark.parametrize("module", ["torch", "transformers", "PIL"])
def test_a_missing_library_names_the_extra(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"spotball-core\[local\]"):
        Transformers(Access("some/model"))
