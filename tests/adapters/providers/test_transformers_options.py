"""Test the errors that the transformers provider raises before it loads its libraries."""

import sys

import pytest

from spotball_adapters.providers.protocol import Access
from spotball_adapters.providers.transformers import Transformers
from spotball_core.errors import MissingExtraError, OptionError
from tests.failures import raises


def test_transformers_with_a_base_url_is_an_error() -> None:
    with raises(OptionError, "unsupported-option"):
        Transformers(Access("some/model", base_url="http://127.0.0.1:1"))


@pytest.mark.parametrize("module", ["torch", "transformers", "PIL"])
def test_transformers_without_a_library_is_an_error_that_names_the_extra(
    module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with raises(MissingExtraError, "missing-extra"):
        Transformers(Access("some/model"))
