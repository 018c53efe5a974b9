"""Finding providers: ours, those of other packages, and what happens where they are broken."""

from __future__ import annotations

import re
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
from tests.packages import install_package


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which packages count as installed."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def package(folder: Path, distribution: str, *entries: str, **modules: str) -> None:
    """A distribution with entry points `name = module:object`, and its modules."""
    targets = dict(entry.split(" = ") for entry in entries)
    install_package(folder, distribution, "spotball.providers", targets, **modules)


def test_ours_are_found() -> None:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["spotball.providers"]
    assert {"anthropic", "baseline", "gemini", "openai"} <= table.keys()
    assert set(table) <= set(names())
    assert list(names()) == sorted(names())
    assert isinstance(find("openai", Access("m", base_url="http://localhost:1/v1")), OpenAI)
    assert isinstance(find("baseline", Access("uniform")), BaselineProvider)


def test_those_of_others_are_found(installed: Path) -> None:
    package(installed, "theirs", "parrot = parrot_module:make", parrot_module="def make(access): return access.model")
    assert "parrot" in names()
    assert find("parrot", Access("grey")) == "grey"  # type: ignore[comparison-overlap]


def test_an_unknown_name_lists_those_there_are() -> None:
    with pytest.raises(OptionError, match=r"^unknown provider 'gpt'. Available: anthropic, baseline, "):
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
def test_a_broken_one_is_one_clear_line(
    installed: Path, monkeypatch: pytest.MonkeyPatch, module: str, what: str
) -> None:
    monkeypatch.delitem(sys.modules, "broken_module", raising=False)
    package(installed, "broken", "broken = broken_module:make", broken_module=module)
    beginning = "the provider 'broken' (broken_module:make of broken) cannot be loaded: "
    with pytest.raises(OptionError, match="^" + re.escape(beginning + what)):
        find("broken", Access("m"))
    sys.modules.pop("broken_module", None)


def test_its_own_errors_are_told_as_they_are(installed: Path) -> None:
    text = (
        "from spotball_adapters.providers.protocol import PermanentError\ndef make(access): raise PermanentError('x')"
    )
    package(installed, "picky", "picky = picky_module:make", picky_module=text)
    with pytest.raises(PermanentError, match=r"^x$"):
        find("picky", Access("m"))


def test_two_of_one_name_are_none(installed: Path) -> None:
    package(installed, "one", "twin = one_module:make")
    package(installed, "two", "twin = two_module:make")
    with pytest.raises(
        OptionError, match=r"2 packages define the provider 'twin': .*_module:make of (one|two), .*_module:make"
    ):
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
def test_missing_packages_name_the_extra(name: str, hidden: str, message: str) -> None:
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
