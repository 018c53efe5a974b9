"""Test the texts of the study page: the catalogs, the German translation, and right-to-left layout."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from scripts.study_messages import LOCALE, SERVER, compiled, messages
from spotball_adapters.study.setup.catalogs import catalog, script
from spotball_adapters.study.setup.config import read_config
from spotball_adapters.study.setup.design import load
from spotball_adapters.study.setup.init import init_study
from spotball_core.errors import InputError
from tests.adapters.study.made import dataset, running, study
from tests.failures import raises


def placeholders(text: str) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", text))


def page_messages(language: str, file: Path | None = None) -> Any:
    text = script(catalog(language, file)).decode()
    return json.loads(text.removeprefix("export const messages = ").removesuffix(";\n"))


def test_compiled_catalogs_match_their_sources(tmp_path: Path) -> None:
    pytest.importorskip("babel", reason="needs Babel, of the docs extra")
    for po in LOCALE.glob("*.po"):
        again = tmp_path / po.with_suffix(".mo").name
        again.write_bytes(compiled(po))
        told = page_messages(po.stem), page_messages(po.stem, again)
        assert told[0] == told[1], "run: python scripts/study_messages.py --compile"


def test_german_catalog_is_complete_and_has_the_same_placeholders_as_english() -> None:
    german, known = catalog("de"), list(messages())
    assert len(known) > 80
    told = page_messages("de")
    for one, *many in known:
        for n in (1, 2) if many else (1,):
            text = german.ngettext(one, many[0], n) if many else german.gettext(one)
            english = one if n == 1 else many[0]
            assert text != english, one
            assert placeholders(text) == placeholders(english), one
    assert set(told["texts"]) | set(told["plurals"]) == {one for one, *_ in known}
    assert told["forms"][:4] == [1, 0, 1, 1]
    assert page_messages("en") == {"texts": {}, "plurals": {}, "forms": []}


def test_every_text_of_the_page_is_in_the_catalog() -> None:
    known = {part for message in messages() for part in message}
    for file in (SERVER / "page").glob("*.js"):
        text = re.sub(r"//.*|/\*.*?\*/", "", file.read_text(encoding="utf-8"))
        assert set(re.findall(r'"([A-Z][a-z]+ [^"\n]*[a-z.…:])"', text)) <= known, file.name


def test_init_writes_equivalent_texts_in_english_and_german(tmp_path: Path) -> None:
    data = dataset(tmp_path / "data", images=12)
    english, german = (init_study(data, tmp_path / language, language=language) for language in ("en", "de"))
    assert (english.language, german.language) == ("en", "de")
    differs = {"language", "title", "texts"}
    assert german.model_dump(exclude=differs) == english.model_dump(exclude=differs)
    assert "13 Fotos" in german.texts.instructions
    assert "Art Ihres Geräts" in german.texts.consent
    assert "wie oft und wie\nlange Sie die Seite verlassen" in german.texts.consent
    for name in ("consent", "debriefing"):
        n, n_german = (getattr(one.texts, name).count("NAME, INSTITUTION, EMAIL") for one in (english, german))
        assert n == n_german


@pytest.mark.parametrize(
    ("language", "where"),
    [
        ("fr", "invalid-value:language"),
        ('fr"\nmessages = "study.toml', "unreadable-file:messages"),
        ('he"\nmessages = "../data/he.mo', "invalid-path:messages"),
        ('he"\nmessages = "/etc/passwd', "invalid-path:messages"),
        ('he"\nmessages = "no.mo', "missing-file:messages"),
    ],
)
def test_language_without_a_usable_catalog_is_an_error(tmp_path: Path, language: str, where: str) -> None:
    folder = study(tmp_path, images=2, changes={'language = "en"': f'language = "{language}"'})
    with raises(InputError, where):
        load(folder)


def test_damaged_catalog_is_an_error(tmp_path: Path) -> None:
    folder = study(tmp_path, images=2, changes={'language = "en"': 'language = "he"\nmessages = "he.mo"'})
    whole = (LOCALE / "de.mo").read_bytes()
    for end in (0, 3, 10, 30, 500, len(whole) - 10):
        (folder / "he.mo").write_bytes(whole[:end])
        with raises(InputError, "unreadable-file:messages"):
            load(folder)


def test_regional_language_code_uses_the_catalog_of_its_base_language(tmp_path: Path) -> None:
    folder = study(tmp_path, images=2, changes={'language = "en"': 'language = "de-AT"'})
    assert read_config(folder).language == "de-AT"
    with running(folder, pilot=True) as url:
        page = httpx.get(url).text
        assert '<html lang="de-AT" dir="ltr">' in page
        assert "Diese Studie benötigt JavaScript" in page
        assert "@" not in page
        assert "Teilnehmen" in httpx.get(f"{url}/static/messages.js").text.encode().decode("unicode_escape")


HEBREW = {
    "": "Content-Type: text/plain; charset=UTF-8\\n",
    "Take part": "להשתתף",
    "Instructions": "הוראות",
    "Try it": "נסו",
}


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1280])
def test_right_to_left_catalog_mirrors_the_page_but_not_the_image(tmp_path: Path, visit: Any, width: int) -> None:
    pytest.importorskip("babel", reason="needs Babel, of the docs extra")
    from tests.adapters.study.browsing import box, clicks_study, expect, fits

    folder = clicks_study(tmp_path, **{'language = "en"': 'language = "he"\nmessages = "he.mo"'})
    entries = (f'msgid "{english}"\nmsgstr "{hebrew}"\n\n' for english, hebrew in HEBREW.items())
    (folder / "he.po").write_text("".join(entries), encoding="utf-8")
    (folder / "he.mo").write_bytes(compiled(folder / "he.po"))
    visitor = visit(folder, viewport={"width": width, "height": 844})
    visitor.page.get_by_role("checkbox").check()
    visitor.button("להשתתף").click()
    visitor.heading("הוראות")
    assert visitor.page.evaluate("getComputedStyle(document.body).direction") == "rtl"
    visitor.button("נסו").click()
    visitor.ready()
    # A text without a translation is in English.
    expect(visitor.button("Confirm")).to_be_visible()
    where, progress = (box(visitor.page.locator(name)) for name in ("#where", "#progress"))
    assert where["x"] > progress["x"]
    # The image and its cells are not mirrored: the first column is on the left.
    assert box(visitor.cell(1, 1))["x"] < box(visitor.cell(1, 10))["x"]
    visitor.cell(3, 2).click()
    assert visitor.chosen() == ["C2"]
    fits(visitor.page)
