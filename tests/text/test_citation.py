"""Test the BibTeX of the paper against the citation file of the repository."""

from __future__ import annotations

import yaml

from spotball_core.text.citation import BIBTEX, PAPER
from tests.conftest import ROOT


def test_bibtex_matches_the_paper_in_the_citation_file() -> None:
    paper = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["preferred-citation"]
    assert paper["url"] == PAPER
    assert f"title = {{{paper['title']}}}" in BIBTEX
    authors = [f"{author['family-names']}, {author['given-names']}" for author in paper["authors"]]
    assert " and ".join(authors) in " ".join(BIBTEX.split())
    assert f"year = {{{paper['year']}}}" in BIBTEX
