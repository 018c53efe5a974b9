"""Test the search for providers: built-in ones, those of other packages, and broken ones."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from spotball_adapters.providers.protocol import Access, PermanentError, find, names
from spotball_core.errors import MissingExtraError, OptionError
from spotball_core.version import install_command
from tests.conftest import ROOT
from tests.failures import raises
from tests.packages import install_package


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder on the Python path; packages in it count as installed."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def package(folder: Path, name: str, code: str = "", distribution: str = "") -> None:
    """Install a distribution with one provider: the function `make` of a module that contains this code."""
    distribution = distribution or name
    module = f"{distribution}_module"
    install_package(folder, distribution, "spotball.providers", {name: f"{module}:make"}, **{module: code})


def test_names_contain_the_built_in_providers() -> None:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["spotball.providers"]
    assert {"anthropic", "baseline", "gemini", "openai"} <= table.keys()
    assert set(table) <= set(names())
    assert list(names()) == sorted(names())


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
    package(installed, "broken", module)
    with raises(OptionError, "unusable-plugin") as caught:
        find("broken", Access("m"))
    cause = caught.value.__cause__
    assert what in f"{type(cause).__name__}: {cause}"
    assert f"{type(cause).__name__}: " in str(caught.value)
    assert "\n" not in str(caught.value)


def test_find_passes_on_errors_of_the_provider_unchanged(installed: Path) -> None:
    import_ = "from spotball_adapters.providers.protocol import PermanentError"
    text = f"{import_}\ndef make(access): raise PermanentError('x')"
    package(installed, "picky", text)
    assert "picky" in names()
    with raises(PermanentError, "request-rejected"):
        find("picky", Access("m"))


def test_find_of_an_unknown_name_or_one_that_two_packages_define_is_an_error(installed: Path) -> None:
    package(installed, "twin", distribution="one")
    package(installed, "twin", distribution="two")
    for name, code in (("twin", "unusable-plugin"), ("gpt", "unknown-name")):
        with raises(OptionError, code):
            find(name, Access("m"))


@pytest.mark.parametrize("module", ["torch", "transformers", "PIL"])
def test_find_of_transformers_with_a_base_url_or_without_a_library_is_an_error(
    module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with raises(OptionError, "unsupported-option"):
        find("transformers", Access("some/model", base_url="http://127.0.0.1:1"))
    monkeypatch.setitem(sys.modules, module, None)
    with raises(MissingExtraError, "missing-extra"):
        find("transformers", Access("some/model"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "hidden", "extra"),
    [
        ("openai", "httpx", "adapters"),
        ("anthropic", "httpx", "adapters"),
        ("gemini", "google.genai google.generativeai", "gemini"),
    ],
)
def test_find_with_missing_packages_is_an_error_that_names_the_extra(name: str, hidden: str, extra: str) -> None:
    program = """
import sys
sys.modules.update(dict.fromkeys(sys.argv[1].split()))  # None hides a module
from spotball_adapters.providers.protocol import find
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
    assert done.stdout.splitlines()[0].endswith(f'needs the "{extra}" extra: {install_command(extra)}')
    assert done.stdout.count("\n") == 1
