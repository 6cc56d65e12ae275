"""Candidates made sparse: compacted, and sets repeated for every row."""

import torch

from lossnet.spaces import sparse


def test_compacted_candidates_are_the_same():
    y = torch.rand(40, 30, 100, generator=torch.Generator().manual_seed(0)) < 0.03
    found = sparse.compact(y, torch.float32)
    assert found.is_sparse
    assert found.is_coalesced()
    assert torch.equal(found.to_dense().bool(), y)
    weights = torch.rand(100, 5)
    expected = sparse.matmul(y, weights)
    assert torch.allclose(sparse.matmul(found, weights), expected, atol=1e-5)


def test_dense_candidates_stay_dense():
    assert not sparse.compact(torch.ones(50, 50, 50, dtype=torch.bool), torch.float32).is_sparse
    assert not sparse.compact(torch.zeros(2, 2, 2, dtype=torch.bool), torch.float32).is_sparse


def test_repeated_sets_are_candidates_of_every_row():
    sets = torch.tensor([[1, 0, 1, 0], [0, 0, 0, 0], [0, 1, 1, 1]]).bool()
    found = sparse.repeated(sets, 3, torch.float32)
    assert found.shape == (3, 3, 4)
    assert torch.equal(found.to_dense().bool(), sets.unsqueeze(1).expand(-1, 3, -1))
    h = torch.randn(3, 4)
    assert torch.allclose(sparse.dot(found, h), sparse.dot(sets.unsqueeze(1).expand(-1, 3, -1), h))
    given = found.indices(), found.values(), found.shape
    again = torch.sparse_coo_tensor(*given, check_invariants=True).coalesce()
    assert torch.equal(again.indices(), found.indices())


def test_no_sets_are_no_candidates():
    assert sparse.repeated(torch.zeros(0, 4).bool(), 3, torch.float32).shape == (0, 3, 4)
