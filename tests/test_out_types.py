"""What is said of an out= of the wrong type, against torch; nothing is written before it."""

import pytest
import torch

import adjoint

from .compare import lines

CALLS = lines("""
    torch.add(f, f, out=i)
    torch.exp(f, out=i)
    torch.neg(f, out=i)
    torch.floor(f, out=i)
    torch.round(f, out=i)
    torch.sign(f, out=i)
    torch.amax(f, 0, out=d)
    torch.argmax(f, 0, out=f)
    torch.any(f, 0, out=f)
    torch.all(f, 0, out=i)
    torch.cummax(f, 0, out=(d, i))
    torch.logcumsumexp(f, 0, out=d)
    torch.sort(f, 0, out=(f, f))
    torch.mode(f, 0, out=(d, i))
    torch.kthvalue(f, 1, out=(d, i))
    torch.mm(m, m, out=d)
    torch.dot(f, f, out=d)
    torch.vdot(f, f, out=d)
    torch.inner(f, f, out=d)
    torch.tensordot(m, m, 1, out=d)
    torch.cat([f, f], out=i)
    torch.stack([f, f], out=i)
    torch.hstack([f, f], out=i)
    torch.where(f > 0, f, f, out=d)
    torch.gather(f, 0, i, out=d)
    torch.scatter(f, 0, i, f, out=d)
    torch.scatter_add(f, 0, i, f, out=d)
    torch.index_select(f, 0, i, out=d)
    torch.masked_select(f, f > 0, out=d)
    torch.take(f, i, out=d)
    torch.nonzero(f, out=f)
    torch.softmax(f, 0, out=d)
    torch.log_softmax(f, 0, out=i)
    torch.nan_to_num(f, out=i)
    torch.quantile(f, 0.5, out=d)
    torch.multinomial(f, 1, out=f)
    torch.linalg.norm(f, out=d)
    torch.linalg.inv(m, out=d)
""")


def failure(library, call):
    scope = {"torch": library, "f": library.tensor([1.0, 2.0, 3.0]), "m": 2 * library.eye(3)}
    scope |= {"d": library.zeros(3, dtype=library.float64), "i": library.zeros(3, dtype=library.int64)}
    try:
        eval(call, scope)
    except Exception as error:
        return type(error).__name__, str(error).split("\n")[0], scope["d"].tolist()
    raise AssertionError(f"{library.__name__} takes {call}")


@pytest.mark.parametrize("call", CALLS)
def test_refusals(call):
    expected, got = failure(torch, call), failure(adjoint, call)
    assert expected[0] == got[0]
    assert got[1].startswith(expected[1].rstrip("."))
    assert got[2] == [0.0, 0.0, 0.0]
