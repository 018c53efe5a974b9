"""File formats of this package whose content is described by a record class; see `spotball_core.schema.published`."""

from __future__ import annotations

from spotball_adapters.batch.folder import BatchRequest, Manifest
from spotball_adapters.batch.take import ReplyLine
from spotball_adapters.study.setup.config import StudyConfig
from spotball_core.schema.published import FileFormat

STUDY = FileFormat("The configuration file study.toml of a human study.", StudyConfig)
BATCH_MANIFEST = FileFormat("The file manifest.json of a batch.", Manifest)
BATCH_ASKED = FileFormat("A line of the file asked.jsonl of a batch.", BatchRequest)
BATCH_REPLY = FileFormat("A line of a file of replies for `spotball batch import`.", ReplyLine)
