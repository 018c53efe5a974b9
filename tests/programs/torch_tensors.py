"""Score a batch of PyTorch logits against the indices of the true cells."""

import torch
from torch.nn.functional import one_hot

from spotball_core import accuracy, brier_score

torch.manual_seed(0)
logits = torch.randn(16, 60, requires_grad=True)
index = torch.randint(60, (16,))
truth = one_hot(index, 60)
scores = brier_score(logits.softmax(dim=-1), truth)
hits = accuracy(one_hot(logits.argmax(dim=-1), 60), truth)

for row, cell, score, hit in zip(logits.detach().double(), index, scores, hits, strict=True):
    assert hit == (row.max() == row[cell])
    shares = row.exp() / row.exp().sum()
    assert abs(score - float((shares**2).sum() - 2 * shares[cell] + 1)) < 1e-6
