"""The plugin on a GPU: what `pytest -p pytest_lacuna` measures of a product and of a copy."""
import pytest
import torch

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")


@pytest.mark.lacuna(repeats=50, warmup=10)
def test_product(lacuna_step):
    a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    assert lacuna_step(lambda: a @ a).shape == (4096, 4096)


def test_copy(lacuna_step):
    host = torch.empty(1 << 24, pin_memory=True)
    lacuna_step(lambda: host.cuda(non_blocking=True), name="pinned")
    lacuna_step(torch.empty(1 << 24).cuda, name="pageable", repeats=10)
