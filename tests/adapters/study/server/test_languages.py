"""Test the texts of the study page: the catalogs, the German translation, and right-to-left layout."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
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
from tests.adapters.study.made import change, dataset, running, study
from tests.failures import raises

WORDS = SERVER.parent / "setup/words"


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


def test_german_catalog_is_complete_and_has_the_same_placeholders() -> None:
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
    """Check that every quoted sentence in the page's scripts is a message of the catalog."""
    for file in (SERVER / "page").glob("*.js"):
        text = re.sub(r"//.*|/\*.*?\*/", "", file.read_text(encoding="utf-8"), flags=re.DOTALL if False else 0)
        known = {part for message in messages() for part in message}
        sentences = set(re.findall(r'"([A-Z][a-z]+ [^"\n]*[a-z.…:])"', text))
        assert sentences <= known, file.name


def test_init_writes_equivalent_texts_in_english_and_german(tmp_path: Path) -> None:
    data = dataset(tmp_path / "data", images=12)
    configs = {language: init_study(data, tmp_path / language, language=language) for language in ("en", "de")}
    german, english = configs["de"], configs["en"]
    assert (english.language, german.language) == ("en", "de")
    assert german.model_dump(exclude={"language", "title", "texts"}) == english.model_dump(
        exclude={"language", "title", "texts"}
    )
    assert "13 Fotos" in german.texts.instructions
    assert "Art Ihres Geräts" in german.texts.consent
    assert "wie oft und wie\nlange Sie die Seite verlassen" in german.texts.consent
    for name in ("consent", "debriefing"):
        texts = [getattr(config.texts, name) for config in (german, english)]
        assert len({text.count("NAME, INSTITUTION, EMAIL") for text in texts}) == 1


def test_language_without_a_catalog_is_an_error(tmp_path: Path) -> None:
    folder = study(tmp_path, images=2, changes={'language = "en"': 'language = "fr"'})
    with raises(InputError, "invalid-value:language"):
        load(folder)
    change(folder, {'language = "fr"': 'language = "fr"\nmessages = "study.toml"'})
    with raises(InputError, "unreadable-file:messages"):
        load(folder)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("../data/he.mo", "invalid-path:messages"),
        ("/etc/passwd", "invalid-path:messages"),
        ("no.mo", "missing-file:messages"),
    ],
)
def test_catalog_that_is_missing_or_outside_the_folder_is_an_error(tmp_path: Path, path: str, said: str) -> None:
    folder = study(tmp_path, images=2, changes={'language = "en"': f'language = "he"\nmessages = "{path}"'})
    with raises(InputError, said):
        load(folder)


def test_damaged_catalog_is_an_error(tmp_path: Path) -> None:
    folder = study(tmp_path, images=2, changes={'language = "en"': 'language = "he"\nmessages = "he.mo"'})
    whole = (LOCALE / "de.mo").read_bytes()
    for end in (0, 3, 10, 30, 500, len(whole) - 10):
        (folder / "he.mo").write_bytes(whole[:end])
        with raises(InputError, "unreadable-file:messages"):
            load(folder)


def test_regional_languages_use_the_catalog_of_their_language(tmp_path: Path) -> None:
    folder = study(tmp_path, images=2, changes={'language = "en"': 'language = "de-AT"'})
    assert read_config(folder).language == "de-AT"
    with running(folder, pilot=True) as url:
        page = httpx.get(url).text
        assert '<html lang="de-AT" dir="ltr">' in page
        assert "Diese Studie benötigt JavaScript" in page
        assert "@" not in page
        assert "Teilnehmen" in httpx.get(f"{url}/static/messages.js").text.encode().decode("unicode_escape")


@pytest.mark.browser
@pytest.mark.slow
def test_study_page_in_german_shows_no_english_text(tmp_path: Path, visit: Callable[..., Any]) -> None:
    from playwright.sync_api import expect

    from tests.adapters.study.browsing import clicks_study, only

    folder = clicks_study(tmp_path, **{'language = "en"': 'language = "de"'})
    visitor = visit(folder)
    page = visitor.page
    seen: list[str] = []

    def look() -> None:
        seen.extend(page.locator("body").inner_text().splitlines())
        labels = page.locator("[aria-label]").evaluate_all("(all) => all.map((one) => one.ariaLabel)")
        seen.extend([*labels, page.locator("#live").text_content()])

    expect(visitor.button("Teilnehmen")).to_be_visible()
    look()
    page.get_by_role("checkbox").check()
    visitor.button("Teilnehmen").click()
    visitor.heading("Anleitung")
    look()
    visitor.button("Ausprobieren").click()
    visitor.click((3, 2), (3, 2), (1, 1))
    look()
    visitor.click((1, 2))
    expect(page.locator(".hint")).to_have_text("Drei Felder gewählt. Bestätigen Sie, oder gehen Sie zurück.")
    look()
    visitor.button("Bestätigen").click()
    expect(page.locator(".feedback")).to_have_text("Der Ball war in C2. Zwei Ihrer Tipps liegen dort.")
    look()
    visitor.button("Beginnen").click()
    for number in range(1, 7):
        visitor.where(f"Bild {number} von 6")
        visitor.click((3, 2), (2, 4))
        look()
        visitor.click((3, 2))
        visitor.button("Bestätigen").click()
        visitor.after_confirming()
        if page.get_by_role("textbox").count():
            visitor.button("Fortfahren").click()
            look()
            page.get_by_role("textbox").fill("Alle schauen dorthin.")
            visitor.button("Fortfahren").click()
    visitor.heading("Vielen Dank. Sie sind fertig.")
    look()
    assert only(folder)[0].stage == "finished"
    english = {one for message in messages() for one in message if " " in one and not placeholders(one)}
    assert not {text for text in seen if text and text.strip() in english}
    assert any("noch zwei" in text.lower() or "noch eins" in text.lower() for text in seen)


HEBREW = """
msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\n"

msgid "Take part"
msgstr "להשתתף"

msgid "Instructions"
msgstr "הוראות"
"""


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1280])
def test_custom_right_to_left_catalog_mirrors_the_page_but_not_the_image(
    tmp_path: Path, visit: Callable[..., Any], width: int
) -> None:
    pytest.importorskip("babel", reason="needs Babel, of the docs extra")
    from tests.adapters.study.browsing import clicks_study

    folder = clicks_study(tmp_path, **{'language = "en"': 'language = "he"\nmessages = "he.mo"'})
    (folder / "he.po").write_text(HEBREW, encoding="utf-8")
    (folder / "he.mo").write_bytes(compiled(folder / "he.po"))
    visitor = visit(folder, viewport={"width": width, "height": 844})
    visitor.page.get_by_role("checkbox").check()
    visitor.button("להשתתף").click()
    visitor.heading("הוראות")
    assert visitor.page.evaluate("getComputedStyle(document.body).direction") == "rtl"
    # A text without a translation is in English.
    visitor.button("Try it").click()
    visitor.ready()
    boxes = {name: visitor.page.locator(name).bounding_box() for name in ("#where", "#progress")}
    assert boxes["#where"]["x"] > boxes["#progress"]["x"]
    # The image and its cells are not mirrored: the first column is on the left.
    first, last = visitor.cell(1, 1).bounding_box(), visitor.cell(1, 10).bounding_box()
    assert first["x"] < last["x"]
    visitor.cell(3, 2).click()
    assert visitor.chosen() == ["C2"]
    scroll, inner = visitor.page.evaluate("() => [document.documentElement.scrollWidth, window.innerWidth]")
    assert scroll <= inner
