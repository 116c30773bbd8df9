"""gradcheck and gradgradcheck find wrong gradients and pass right ones, as torch's do, with the same first words."""

import pytest
import torch
from torch.autograd.gradcheck import GradcheckError as TorchGradcheckError

import adjoint

from .compare import outcome


def wrong_by(x, change):
    """A copy of `x` whose gradient is changed on its way back."""
    y = x * 1
    if y.requires_grad:
        y.register_hook(lambda g: None if g is None else change(g))
    return y


def real(library, values=(0.5, 2.0)):
    return library.tensor(values, dtype=library.float64, requires_grad=True)


def complex_(library):
    return library.tensor([0.5 + 1j, -2.0 + 0.5j], dtype=library.complex128, requires_grad=True)


def plain(library):
    return library.tensor([0.5, 2.0], dtype=library.float64)


# name -> (function of a library and inputs, makers of the inputs)
RIGHT = {
    "power": (lambda lib, x: x**3, [real]),
    "two inputs": (lambda lib, x, y: x * y.exp(), [real, real]),
    "unused input": (lambda lib, x, y: x * 2, [real, real]),
    "a constant": (lambda lib, x, y: x * y, [real, plain]),
    "two outputs": (lambda lib, x: (x * 2, x.sin()), [real]),
    "a discrete output": (lambda lib, x: (x * 2, (x > 1).long()), [real]),
    "scalar output": (lambda lib, x: (x * x).sum(), [real]),
    "in place": (lambda lib, x: x.clone().mul_(x), [real]),
    "complex to complex": (lambda lib, z: z * z, [complex_]),
    "complex to real": (lambda lib, z: z.abs(), [complex_]),
    "real to complex": (lambda lib, x: x * 2j, [real]),
    "mixed": (lambda lib, z, x: z * x, [complex_, real]),
    "empty": (lambda lib, x: x * 2, [lambda lib: real(lib, ())]),
    "0-d": (lambda lib, x: x * x, [lambda lib: real(lib, 1.5)]),
}
WRONG = {
    "a factor": (lambda lib, x: wrong_by(x, lambda g: g * 1.5), [real]),
    "no gradient": (lambda lib, x: x.detach() * 2 + x * 0, [real]),
    "detached": (lambda lib, x: x.detach() * 2, [real]),
    "second input": (lambda lib, x, y: x * wrong_by(y, lambda g: g * 2), [real, real]),
    "an offset": (lambda lib, x: wrong_by(x, lambda g: g + 1), [real]),
    "not conjugated": (lambda lib, z: wrong_by(z, lambda g: g.conj()) * 1, [complex_]),
    "complex to real": (lambda lib, z: wrong_by(z, lambda g: g * 2).abs(), [complex_]),
}


def both(name, function, makers, **options):
    """True, False, or the exception, of both libraries."""

    def call(library):
        inputs = [make(library) for make in makers]
        return getattr(library.autograd, name)(lambda *x: function(library, *x), inputs, **options)

    outcomes = [outcome(call, library, look=None) for library in (adjoint, torch)]
    return [came.value if came.error is None else came.error for came in outcomes]


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("name", RIGHT)
def test_right_gradients_pass(name, fast_mode):
    assert both("gradcheck", *RIGHT[name], fast_mode=fast_mode) == [True, True]


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("name", WRONG)
def test_wrong_gradients_are_found(name, fast_mode):
    ours, theirs = both("gradcheck", *WRONG[name], fast_mode=fast_mode)
    assert isinstance(ours, adjoint.autograd.GradcheckError)
    assert isinstance(theirs, TorchGradcheckError)
    assert str(ours).partition("\n")[0] == str(theirs).partition("\n")[0]
    assert both("gradcheck", *WRONG[name], fast_mode=fast_mode, raise_exception=False) == [False, False]


def test_a_mismatch_shows_both_jacobians():
    ours, theirs = both("gradcheck", *WRONG["a factor"])
    assert str(ours) == str(theirs)


def test_fast_mode_shows_the_jacobians_too():
    ours, _ = both("gradcheck", *WRONG["a factor"], fast_mode=True)
    assert "slow mode" in str(ours)
    assert "[1.5000, 0.0000]" in str(ours).replace("1.5, 0.", "1.5000, 0.0000")


def test_the_tolerances_count():
    function = (lambda lib, x: wrong_by(x, lambda g: g * 1.01), [real])
    assert both("gradcheck", *function, rtol=0.1) == [True, True]
    assert all(isinstance(result, RuntimeError) for result in both("gradcheck", *function))


def test_backward_must_give_the_same_twice():
    noise = iter(range(10_000))
    function = (lambda lib, x: wrong_by(x, lambda g: g * (1 + 1e-7 * next(noise))), [real])
    ours, theirs = both("gradcheck", *function, atol=1.0)
    assert str(ours).startswith("Backward is not reentrant")
    assert str(theirs).startswith("Backward is not reentrant")
    assert both("gradcheck", *function, atol=1.0, nondet_tol=1.0) == [True, True]


def test_gradients_must_be_proportional():
    function = (lambda lib, x: wrong_by(x, lambda g: g + 1e-7), [real])
    ours, theirs = both("gradcheck", *function, atol=1e-3)
    assert str(ours) == str(theirs) == "backward not multiplied by grad_output"


@pytest.mark.parametrize("name", ["gradcheck", "gradgradcheck"])
def test_inputs_must_require_grad(name):
    ours, theirs = both(name, lambda lib, x: x * 2, [plain])
    assert type(ours) is type(theirs)
    assert str(ours) == str(theirs)


def test_expanded_inputs_are_refused():
    def expanded(lib):
        return lib.zeros(1, dtype=lib.float64).expand(3).requires_grad_()

    ours, theirs = both("gradcheck", lambda lib, x: x * 2, [expanded])
    assert type(ours) is type(theirs) is RuntimeError
    assert str(ours) == str(theirs)


def test_single_precision_is_warned_about():
    x = adjoint.tensor([1.0], requires_grad=True)
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double precision"):
        adjoint.autograd.gradcheck(lambda x: x * 2, x, atol=1.0)


def test_errors_of_the_function_come_through():
    def failing(lib, x):
        raise KeyError("mine")

    ours, theirs = both("gradcheck", failing, [real], raise_exception=False)
    assert type(ours) is type(theirs) is KeyError


def test_inputs_are_left_as_they_were():
    x, before = real(adjoint), real(adjoint).tolist()
    for fast_mode in (False, True):
        adjoint.autograd.gradcheck(lambda x: x.exp(), x, fast_mode=fast_mode)
        assert x.tolist() == before
        assert x.grad is None


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("name", [name for name in RIGHT if name not in ("unused input", "a constant")])
def test_right_second_gradients_pass(name, fast_mode):
    assert both("gradgradcheck", *RIGHT[name], fast_mode=fast_mode) == [True, True]


@pytest.mark.parametrize("fast_mode", [False, True])
def test_wrong_second_gradients_are_found(fast_mode):
    function = (lambda lib, x: wrong_by(x, lambda g: g * x.detach() ** 2), [real])
    ours, theirs = both("gradgradcheck", *function, fast_mode=fast_mode)
    assert isinstance(ours, adjoint.autograd.GradcheckError)
    assert str(ours).partition(",")[0] == str(theirs).partition(",")[0]
    assert both("gradgradcheck", *function, fast_mode=fast_mode, raise_exception=False) == [False, False]


def test_given_and_spread_out_cotangents():
    x = real(adjoint)
    check = adjoint.autograd.gradgradcheck
    assert check(lambda x: x**3, x, adjoint.ones(2, dtype=adjoint.float64, requires_grad=True))
    assert check(lambda x: x**3, x, gen_non_contig_grad_outputs=True)


def test_what_is_not_available_says_so():
    with pytest.raises(NotImplementedError, match="forward mode"):
        adjoint.autograd.gradcheck(lambda x: x, real(adjoint), check_forward_ad=True)
