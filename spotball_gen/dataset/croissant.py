"""Write Croissant metadata (MLCommons, version 1.1), which describe a dataset's files and records in JSON-LD.

https://docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from spotball_core.service.files import file_digest

PAPER = "https://arxiv.org/abs/2511.00261"

BIBTEX = f"""@article{{balamurugan2025spottheball,
  title = {{Spot the Ball: A Benchmark for Visual Social Inference}},
  author = {{Balamurugan, Neha and Wu, Sarah and Chun, Adam and Gaw, Gabe and Eyzaguirre, Cristobal and
    Gerstenberg, Tobias}},
  journal = {{arXiv preprint arXiv:2511.00261}},
  year = {{2025}},
  url = {{{PAPER}}}
}}
"""
"""The BibTeX entry. It equals `preferred-citation` in CITATION.cff, which is not part of the installed package."""


CROISSANT: Final = "croissant.json"
"""Name of the metadata file in the root of a dataset."""

WITHOUT_BALL: Final = (
    "Images of sports scenes from which the ball was removed, the cells that contained it, and the players' boxes."
)
"""Description of a dataset whose images do not show the ball."""

_NAMES = (
    *("arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "extract", "field", "fileObject"),
    *("fileProperty", "fileSet", "format", "includes", "excludes", "isArray", "isLiveDataset", "jsonPath", "key"),
    *("md5", "parentField", "path", "recordSet", "references", "regex", "repeated", "replace", "samplingRate"),
    *("separator", "source", "subField", "transform"),
)

_CONTEXT: Final = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{name: f"cr:{name}" for name in _NAMES},
}


def croissant_text(
    *,
    name: str,
    description: str,
    licenses: Sequence[str],
    distribution: Sequence[dict[str, Any]],
    record_sets: Sequence[dict[str, Any]],
    url: str = PAPER,
) -> str:
    """Return the metadata of a dataset as JSON-LD.

    Args:
        name: name of the dataset.
        description: description of the dataset, in sentences.
        licenses: URLs or names of the licenses.
        distribution: descriptions of the files, made with `file_object` and `file_set`.
        record_sets: descriptions of the records in the files, made with `record_set`.
        url: URL of the dataset, or of a page that describes it.
    """
    document = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": name,
        "description": description,
        "license": list(licenses),
        "url": url,
        "citeAs": BIBTEX,
        "distribution": list(distribution),
        "recordSet": list(record_sets),
    }
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def file_object(folder: Path, path: Path, encoding: str) -> dict[str, Any]:
    """Return the Croissant description of a file, with its size and SHA-256.

    Args:
        folder: the root of the dataset.
        path: the file.
        encoding: media type of the file.
    """
    name = path.relative_to(folder).as_posix()
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "contentSize": f"{path.stat().st_size} B",
        "encodingFormat": encoding,
        "sha256": file_digest(path),
    }


def file_set(name: str, includes: str, encoding: str) -> dict[str, Any]:
    """Return the Croissant description of all files that match a pattern.

    Args:
        name: name of the set.
        includes: the pattern, relative to the root of the dataset.
        encoding: media type of the files.
    """
    return {
        "@type": "cr:FileSet",
        "@id": name,
        "name": name,
        "encodingFormat": encoding,
        "includes": includes,
    }


def record_set(name: str, description: str, fields: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the Croissant description of a set of records with the same fields.

    Args:
        name: name of the set.
        description: description of a record.
        fields: descriptions of the fields, made with `record_field` and the same set name.
    """
    return {"@type": "cr:RecordSet", "@id": name, "name": name, "description": description, "field": list(fields)}


def record_field(
    records: str, name: str, description: str, kind: dict[str, Any], source: dict[str, Any]
) -> dict[str, Any]:
    """Return the Croissant description of a field of a record set.

    Args:
        records: name of the record set.
        name: name of the field.
        description: content of the field.
        kind: Croissant's keys for the type: `dataType`, and for arrays `isArray` and `arrayShape`.
        source: the file and column that the field is read from.
    """
    return {
        "@type": "cr:Field",
        "@id": f"{records}/{name}",
        "name": name,
        "description": description,
        **kind,
        "source": source,
    }
