"""Test the search for providers: built-in ones, those of other packages, and broken ones."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from spotball_adapters.providers.baseline import BaselineProvider
from spotball_adapters.providers.find import find, names
from spotball_adapters.providers.openai import OpenAI
from spotball_adapters.providers.protocol import Access, PermanentError
from spotball_core.errors import OptionError
from tests.conftest import ROOT
from tests.failures import raises
from tests.packages import install_package


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder on the Python path; packages in it count as installed."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def package(folder: Path, distribution: str, *entries: str, **modules: str) -> None:
    """Install a distribution with entry points `name = module:object` and its modules."""
    targets = dict(entry.split(" = ") for entry in entries)
    install_package(folder, distribution, "spotball.providers", targets, **modules)


def test_find_returns_the_built_in_providers() -> None:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["spotball.providers"]
    assert {"anthropic", "baseline", "gemini", "openai"} <= table.keys()
    assert set(table) <= set(names())
    assert list(names()) == sorted(names())
    assert isinstance(find("openai", Access("m", base_url="http://localhost:1/v1")), OpenAI)
    assert isinstance(find("baseline", Access("uniform")), BaselineProvider)


def test_find_returns_a_provider_of_another_package(installed: Path) -> None:
    package(installed, "theirs", "parrot = parrot_module:make", parrot_module="def make(access): return access.model")
    assert "parrot" in names()
    assert find("parrot", Access("grey")) == "grey"  # type: ignore[comparison-overlap]


def test_find_of_an_unknown_name_is_an_error_that_lists_the_available_ones() -> None:
    with raises(OptionError, "unknown-name"):
        find("gpt", Access("m"))


@pytest.mark.parametrize(
    ("module", "what"),
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("make = 1", "TypeError: 'int' object is not callable"),
        ("def make(): pass", "TypeError: make() takes 0 positional arguments but 1 was given"),
        ("def make(access): raise RuntimeError('no luck')", "RuntimeError: no luck"),
        ("", "AttributeError: module 'broken_module' has no attribute 'make'"),
        ("def", "SyntaxError: "),
    ],
)
def test_find_of_a_broken_provider_is_a_one_line_error(
    installed: Path, monkeypatch: pytest.MonkeyPatch, module: str, what: str
) -> None:
    monkeypatch.delitem(sys.modules, "broken_module", raising=False)
    package(installed, "broken", "broken = broken_module:make", broken_module=module)
    with raises(OptionError, "unusable-plugin") as caught:
        find("broken", Access("m"))
    cause = caught.value.__cause__
    assert what in f"{type(cause).__name__}: {cause}"
    assert f"{type(cause).__name__}: " in str(caught.value)
    assert "\n" not in str(caught.value)
    sys.modules.pop("broken_module", None)


def test_find_passes_on_errors_of_the_provider_unchanged(installed: Path) -> None:
    text = (
        "from spotball_adapters.providers.protocol import PermanentError\ndef make(access): raise PermanentError('x')"
    )
    package(installed, "picky", "picky = picky_module:make", picky_module=text)
    with raises(PermanentError, "request-rejected"):
        find("picky", Access("m"))


def test_find_of_a_name_that_two_packages_define_is_an_error(installed: Path) -> None:
    package(installed, "one", "twin = one_module:make")
    package(installed, "two", "twin = two_module:make")
    with raises(OptionError, "unusable-plugin"):
        find("twin", Access("m"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "hidden", "message"),
    [
        ("openai", "httpx", 'Sending requests over HTTP needs the "adapters" extra'),
        ("anthropic", "httpx", 'Sending requests over HTTP needs the "adapters" extra'),
        ("gemini", "google.genai google.generativeai", 'Gemini needs the "gemini" extra'),
    ],
)
def test_find_with_missing_packages_is_an_error_that_names_the_extra(name: str, hidden: str, message: str) -> None:
    program = """
import sys
from importlib.abc import MetaPathFinder

class Hidden(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name in sys.argv[1].split():
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Hidden())
from spotball_adapters.providers.find import find
from spotball_adapters.providers.protocol import Access
from spotball_core.errors import MissingExtraError
find("baseline", Access("uniform"))
try:
    find(sys.argv[2], Access("m"))
except MissingExtraError as error:
    print(error)
"""
    command = [sys.executable, "-c", program, hidden, name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    extra = message.split('"')[1]
    assert done.stdout == f'{message}: pip install "spotball-core[{extra}]"\n'
