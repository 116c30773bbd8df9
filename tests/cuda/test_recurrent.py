"""LSTMs on the device against the CPU: whole sequences and all gradients."""

import pytest

import adjoint as torch

CLOSE = {torch.float32: 1e-5, torch.float64: 1e-10}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("steps", "batch", "size"), [(1, 1, 1), (5, 3, 7), (4, 33, 40), (3, 1, 65)])
def test_lstm(dtype, steps, batch, size):
    here = torch.nn.LSTM(6, size, num_layers=2, dtype=dtype)
    there = torch.nn.LSTM(6, size, num_layers=2, dtype=dtype).to("cuda")
    there.load_state_dict(here.state_dict())
    x, h, c = (torch.randn(*s, dtype=dtype) for s in [(steps, batch, 6), (2, batch, size), (2, batch, size)])
    results = []
    for module, device in [(here, "cpu"), (there, "cuda")]:
        inputs = [each.detach().to(device).requires_grad_() for each in (x, h, c)]
        out, (hidden, cell) = module(inputs[0], (inputs[1], inputs[2]))
        loss = (out.sin()).sum() + (hidden * 2).sum() + (cell * cell).sum()
        loss.backward()
        gradients = [each.grad for each in [*inputs, *module.parameters()]]
        results.append([out.detach(), hidden.detach(), cell.detach(), *gradients])
    tolerance = CLOSE[dtype]
    for expected, ours in zip(*results, strict=True):
        assert ours.device.type == "cuda"
        torch.testing.assert_close(ours.cpu(), expected, rtol=10 * tolerance, atol=10 * tolerance)
