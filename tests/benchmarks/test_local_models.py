"""Test the GPU benchmark of local models with a tiny model on a CPU, because tests run without a GPU."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.conftest import ROOT


@pytest.mark.slow
def test_benchmark_of_local_models_measures_a_tiny_model_on_a_cpu() -> None:
    pytest.importorskip("torch", reason="needs the extra local")
    pytest.importorskip("transformers", reason="needs the extra local")
    options = ("--size", "tiny", "--images", "1", "--samples", "3", "--tokens", "4", "--plain", "2")
    done = subprocess.run(
        [sys.executable, "benchmarks/local_models.py", *options], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (rate,) = re.findall(r"^provider transformers: ([\d.e+]+) answers/s$", done.stdout, re.MULTILINE)
    assert float(rate) > 0
    assert "random weights" in done.stdout
