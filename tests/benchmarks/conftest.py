"""Add the folder of benchmark scripts to the import path, because the scripts import each other by name."""

from __future__ import annotations

import sys

from tests.conftest import ROOT

sys.path.append(str(ROOT / "benchmarks"))
