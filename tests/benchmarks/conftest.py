"""Benchmarks are scripts, which import what lies beside them."""

from __future__ import annotations

import sys

from tests.conftest import ROOT

sys.path.append(str(ROOT / "benchmarks"))
