"""What is taken for a flag, against torch: as a rule bools and nothing else, where torch's own code asks."""

import pytest

import adjoint

from .compare import lines, raised, same

CALLS = lines("""
    torch.nn.Parameter(x, V)
    torch.nn.Parameter(requires_grad=V)
    torch.nn.UninitializedParameter(V)
    x.requires_grad_(V)
    torch.ones(2, requires_grad=V)
    torch.hann_window(3, requires_grad=V)
    y.sum().backward(retain_graph=V)
    y.sum().backward(create_graph=V)
    torch.autograd.grad(y.sum(), y, retain_graph=V)
    torch.autograd.grad(y.sum(), y, create_graph=V)
    torch.autograd.grad(y.sum(), y, allow_unused=V)
    torch.autograd.grad(y.sum(), y, materialize_grads=V)
    x.type(torch.float64, V)
    x.to(torch.float64, V)
    torch.topk(x, 1, 0, V)
    torch.topk(x, 1, 0, True, V)
    torch.sort(x, 0, V)
    torch.sum(x, 0, V)
    torch.max(x, 0, V)
    torch.max(x, x, keepdim=V)
    torch.median(x, 0, V)
    torch.std(x, 0, True, V)
    torch.norm(m, "nuc", keepdim=V)
    torch.linalg.matrix_norm(m, keepdim=V)
    torch.qr(m, V)
    torch.svd(m, V)
    torch.svd(m, compute_uv=V)
    torch.triangular_solve(m, m, transpose=V)
    torch.linalg.svd(m, V)
    torch.searchsorted(x, x, right=V)
    torch.unique(x, return_inverse=V)
    torch.isin(x, x, invert=V)
    torch.vander(x, increasing=V)
    torch.istft(torch.ones(3, 3) + 0j, 4, normalized=V)
    torch.istft(torch.ones(3, 3) + 0j, 4, center=V)
    torch.stft(torch.ones(8), 4, window=torch.ones(4), normalized=V, return_complex=True)
    torch.batch_norm(m, None, None, None, None, V, 0.1, 1e-5, False)
    torch.instance_norm(m[None], None, None, None, None, V, 0.1, 1e-5, False)
    torch.nn.functional.instance_norm(m[None], use_input_stats=V)
    torch.nn.functional.dropout(x, 0.0, V)
    torch.nn.functional.interpolate(m[None], 4, mode="linear", align_corners=V)
    torch.nn.functional.affine_grid(torch.zeros(1, 2, 3), (1, 1, 2, 2), align_corners=V)
    torch.nn.functional.gelu(x, approximate=V)
    torch.nn.utils.rnn.pad_sequence([x], V)
    torch.nn.utils.rnn.pack_padded_sequence(m[None], [2], V)
    torch.meshgrid(x, indexing=V)
""")


@pytest.mark.parametrize("call", CALLS)
def test_what_is_no_flag(call):
    def program(L):
        found = []
        for value in (3, 0, "a", 1.0, []):
            m, y = L.eye(2) + 1, L.ones(2, requires_grad=True)
            scope = {"torch": L, "V": value, "x": L.ones(2), "m": m, "y": y}
            result = raised(lambda scope=scope: eval(call, scope))
            found.append(result[0] if isinstance(result, tuple) and isinstance(result[0], str) else "taken")
        return found

    same(program)


@pytest.mark.parametrize(
    "call", ["torch.var(x, 0, V)", "torch.std(x, unbiased=V)", "torch.var_mean(x, dim=0, unbiased=V)"]
)
@pytest.mark.parametrize("value", [3, 0, "a", 1.0])
def test_unbiased(call, value):
    same(lambda L: raised(lambda: eval(call, {"torch": L, "V": value, "x": L.ones(2)}))[0])


def test_flags_of_a_backward_are_named():
    x = adjoint.ones(2, requires_grad=True)
    with pytest.raises(TypeError, match="'NoneType' object cannot be interpreted as an integer: retain_graph, create"):
        adjoint.autograd.grad(x.sum(), x, create_graph=None)
