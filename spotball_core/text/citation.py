"""The BibTeX entry of the paper that introduced the benchmark, Spot the Ball."""

from __future__ import annotations

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
