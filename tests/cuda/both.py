"""The same function on the CPU and on the device: values and gradients, for tests of single kernels."""

import adjoint as torch

CLOSE = {
    torch.float16: 2e-3,
    torch.bfloat16: 2e-2,
    torch.float32: 2e-5,
    torch.complex64: 2e-5,
    torch.float64: 1e-10,
    torch.complex128: 1e-10,
}


def assert_near(ours, expected, factor=1):
    tolerance = factor * CLOSE.get(expected.dtype, 0)
    torch.testing.assert_close(ours.detach().cpu(), expected.detach(), rtol=tolerance, atol=tolerance, equal_nan=True)


def both_ways(function, *tensors, twice=False):
    """function(*tensors) on both devices, the gradients of what is floating, and with `twice` theirs."""
    sides = []
    for device in ("cpu", "cuda"):
        moved = [each.detach().to(device) for each in tensors]
        leaves = [each.requires_grad_() for each in moved if each.dtype.is_floating_point]
        out = function(*moved)
        torch.manual_seed(5)
        cotangent = torch.randn(out.shape, dtype=torch.float64).to(out.dtype).to(device).requires_grad_(twice)
        first = torch.autograd.grad(out, leaves, cotangent, create_graph=twice)
        found = [out, *first]
        if twice:
            weighed = sum((g * torch.arange(g.numel()).sin().reshape(g.shape).to(g)).sum() for g in first)
            found += torch.autograd.grad(weighed, [*leaves, cotangent], allow_unused=True)
        sides.append(found)
    for expected, ours in zip(*sides, strict=True):
        assert (ours is None) == (expected is None)
        if expected is not None:
            assert ours.device.type == "cuda"
            assert_near(ours, expected, factor=10)
