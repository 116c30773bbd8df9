"""gradcheck and gradgradcheck find wrong gradients and pass right ones, as torch's do, with the same first words."""

import importlib
import sys

import pytest
import torch
from torch.autograd.gradcheck import GradcheckError as TorchGradcheckError

import adjoint

from .compare import VALUES, Bound, opening, outcome, same


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


# ---- Forward mode, batches, undefined gradients


def forward_ad(lib):
    return importlib.import_module(f"{lib.__name__}.autograd.forward_ad")


def pushed_wrong(lib, x, change):
    """`x` whose tangent, if there is one, is changed."""
    value, tangent = forward_ad(lib).unpack_dual(x)
    return x if tangent is None else forward_ad(lib).make_dual(value, change(tangent))


def function_of(lib, backward, **attributes):
    """A Function that doubles, with this backward; gradients that are undefined come to it as None."""

    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2

    members = {"forward": staticmethod(forward), "backward": staticmethod(backward), **attributes}
    return type("Doubled", (lib.autograd.Function,), members).apply


def batched(lib, x):
    if lib is torch:
        return torch._C._functorch.is_batchedtensor(x) or torch._C._functorch.is_legacy_batchedtensor(x)
    return adjoint._C._batch_level(x) is not None


WRONG_FORWARD = {
    "a factor": (lambda lib, x: pushed_wrong(lib, x, lambda t: t * 1.5), [real]),
    "second input": (lambda lib, x, y: x * pushed_wrong(lib, y, lambda t: t * 2), [real, real]),
    "second output": (lambda lib, x: (x * 1, pushed_wrong(lib, x, lambda t: t * 2).sin()), [real]),
    "no tangent": (lambda lib, x: forward_ad(lib).unpack_dual(x).primal * 2, [real]),
    "conjugated": (lambda lib, z: pushed_wrong(lib, z, lambda t: t.conj().resolve_conj()) * 2, [complex_]),
    "complex to real": (lambda lib, z: pushed_wrong(lib, z, lambda t: t * 2).abs(), [complex_]),
    "mixed": (lambda lib, x, z: pushed_wrong(lib, x, lambda t: t * 2) * z, [real, complex_]),
}


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("name", RIGHT)
def test_right_tangents_and_batches_pass(name, fast_mode):
    options = dict.fromkeys(("check_forward_ad", "check_batched_grad", "check_batched_forward_grad"), True)
    assert both("gradcheck", *RIGHT[name], fast_mode=fast_mode, **options) == [True, True]
    options = {"check_forward_ad": True, "check_backward_ad": False}
    assert both("gradcheck", *RIGHT[name], fast_mode=fast_mode, **options) == [True, True]


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("name", WRONG_FORWARD)
def test_wrong_tangents_are_found(name, fast_mode):
    assert both("gradcheck", *WRONG_FORWARD[name], fast_mode=fast_mode) == [True, True]
    ours, theirs = both("gradcheck", *WRONG_FORWARD[name], fast_mode=fast_mode, check_forward_ad=True)
    assert isinstance(ours, adjoint.autograd.GradcheckError)
    assert isinstance(theirs, TorchGradcheckError)
    assert str(ours).partition("\n")[0] == str(theirs).partition("\n")[0]
    options = {"check_forward_ad": True, "check_backward_ad": False, "raise_exception": False}
    assert both("gradcheck", *WRONG_FORWARD[name], fast_mode=fast_mode, **options) == [False, False]


def test_a_mismatch_of_tangents_shows_both_jacobians():
    ours, theirs = both("gradcheck", *WRONG_FORWARD["a factor"], check_forward_ad=True)
    assert str(ours) == str(theirs)


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("name", [name for name in RIGHT if name not in ("unused input", "a constant", "in place")])
def test_forward_over_reverse(name, fast_mode):
    options = {"check_fwd_over_rev": True, "check_batched_grad": True, "fast_mode": fast_mode}
    assert both("gradgradcheck", *RIGHT[name], **options) == [True, True]
    options = {"check_fwd_over_rev": True, "check_rev_over_rev": False, "check_undefined_grad": False}
    assert both("gradgradcheck", *RIGHT[name], fast_mode=fast_mode, **options) == [True, True]


def test_wrong_second_tangents_are_found():
    def function(lib, x):
        return wrong_by(x, lambda g: pushed_wrong(lib, g, lambda t: t * 2)) ** 2

    assert both("gradgradcheck", function, [real]) == [True, True]
    ours, theirs = both("gradgradcheck", function, [real], check_fwd_over_rev=True)
    assert str(ours).partition(",")[0] == str(theirs).partition(",")[0]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("gradcheck", {"check_backward_ad": False}),
        ("gradcheck", {"check_batched_forward_grad": True}),
        ("gradcheck", {"check_batched_grad": True, "check_backward_ad": False, "check_forward_ad": True}),
        ("gradgradcheck", {"check_rev_over_rev": False}),
        ("gradgradcheck", {"check_rev_over_rev": False, "check_fwd_over_rev": True}),
        (
            "gradgradcheck",
            {
                "check_rev_over_rev": False,
                "check_fwd_over_rev": True,
                "check_undefined_grad": False,
                "check_batched_grad": True,
            },
        ),
    ],
)
def test_checks_that_need_others(name, options):
    ours, theirs = both(name, lambda lib, x: x**3, [real], **options)
    assert isinstance(ours, AssertionError)
    assert str(ours) == str(theirs)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_wrong_batches_are_found(fast_mode):
    def function(lib, x):
        return function_of(lib, lambda ctx, g: None if g is None else g * (3 if batched(lib, g) else 2))(x)

    assert both("gradcheck", function, [real], fast_mode=fast_mode) == [True, True]
    ours, theirs = both("gradcheck", function, [real], fast_mode=fast_mode, check_batched_grad=True)
    assert str(ours).split("\n\n")[0] == str(theirs).split("\n\n")[0] == "For output 0 and input 0:"
    assert str(ours)[:90] == str(theirs)[:90]


def test_gradients_that_cannot_be_batched_are_found():
    def function(lib, x):
        return function_of(lib, lambda ctx, g: None if g is None else g * 2 + 0 * g.sum().item())(x)

    ours, theirs = both("gradcheck", function, [real], check_batched_grad=True)
    assert str(ours).startswith("While computing batched gradients, got: ")
    assert str(theirs).startswith("While computing batched gradients, got: ")
    options = {"check_batched_grad": True, "raise_exception": False}
    assert both("gradcheck", function, [real], **options) == [False, False]


def test_tangents_that_cannot_be_batched_are_found():
    def function(lib, x):
        tangent = forward_ad(lib).unpack_dual(x).tangent
        return x * 2 if tangent is None else x * 2 + 0 * tangent.sum().item()

    options = {"check_forward_ad": True, "check_batched_forward_grad": True}
    ours, theirs = both("gradcheck", function, [real], **options)
    assert str(ours).startswith("While computing batched gradients, got: ")
    assert str(theirs).startswith("While computing batched gradients, got: ")


UNDEFINED = {
    "None": (lambda lib, x: None, True),
    "zeros": (lambda lib, x: lib.zeros(2, dtype=lib.float64), True),
    "ones": (
        lambda lib, x: lib.ones(2, dtype=lib.float64),
        "Expected all input grads to be undefined or zero when all",
    ),
    "an error": (lambda lib, x: lib.ones(2) @ lib.ones(3), "Expected backward function to handle undefined output gr"),
}


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("name", UNDEFINED)
def test_undefined_gradients(name, fast_mode):
    answer, expected = UNDEFINED[name]

    def function(lib, x):
        return function_of(lib, lambda ctx, g: answer(lib, x) if g is None else g * 2)(x)

    for result in both("gradcheck", function, [real], fast_mode=fast_mode):
        assert result is expected if expected is True else str(result).startswith(expected)
    assert both("gradcheck", function, [real], fast_mode=fast_mode, check_undefined_grad=False) == [True, True]


def test_errors_other_than_those_of_tensors_come_through():
    ours, theirs = both("gradcheck", lambda lib, x: function_of(lib, lambda ctx, g: g * 2)(x), [real])
    assert type(ours) is type(theirs) is TypeError


def test_inputs_without_tangents():
    """A function may not tell an input without a tangent from one whose tangent is zero."""

    def function(lib, x, y):
        unpacked = [forward_ad(lib).unpack_dual(one) for one in (x, y)]
        if unpacked[0].tangent is not None and unpacked[1].tangent is None:
            return pushed_wrong(lib, x * y, lambda t: t * 2)
        return x * y

    ours, theirs = both("gradcheck", function, [real, real], check_forward_ad=True)
    assert str(ours).startswith("Mismatch in tangent values for output with index: ")
    assert str(theirs).startswith("('Mismatch in tangent values for output with index: ")
    options = {"check_forward_ad": True, "check_undefined_grad": False}
    assert both("gradcheck", function, [real, real], **options) == [True, True]


# ---- Jacobians


def module_of(lib):
    return sys.modules[f"{lib.__name__}.autograd.gradcheck"]


def numerical(lib, *args, **options):
    return module_of(lib).get_numerical_jacobian(*args, **options)


def specific(lib, *args, **options):
    return module_of(lib).get_numerical_jacobian_wrt_specific_input(*args, **options)


def analytical(lib, *args, **options):
    return module_of(lib).get_analytical_jacobian(*args, **options)


def target(lib):
    x, y = real(lib), real(lib)
    return numerical(lib, lambda inputs: inputs[0] * inputs[1], (x, y), target=y)


def of_output(lib, make, function, **options):
    x = make(lib)
    return analytical(lib, (x, real(lib)), function(x), **options)


JACOBIANS = {
    "numerical": lambda lib: numerical(lib, lambda inputs: inputs[0] ** 2 * inputs[0].sum(), (real(lib),)),
    "of two": lambda lib: numerical(lib, lambda x: x[0] * x[1].sum(), (real(lib), real(lib, (1.0, 2.0, 3.0)))),
    "of one that requires grad": lambda lib: numerical(lib, lambda x: x[0] * x[1], (real(lib), plain(lib))),
    "of none": lambda lib: numerical(lib, lambda inputs: inputs[0] * 2, (plain(lib),)),
    "first output": lambda lib: numerical(lib, lambda inputs: inputs[0] * 2, (real(lib),), eps=1e-2),
    "target": target,
    "complex to real": lambda lib: numerical(lib, lambda inputs: inputs[0].abs(), (complex_(lib),)),
    "complex": lambda lib: numerical(lib, lambda inputs: inputs[0] * 2, (complex_(lib),)),
    "another cotangent": lambda lib: numerical(lib, lambda inputs: inputs[0] * 2, (real(lib),), grad_out=2.0),
    "by one input": lambda lib: specific(lib, lambda x, y: (x * y,), 1, (real(lib), real(lib)), (real(lib),), 1e-6),
    "of two outputs": lambda lib: specific(
        lib, lambda x: (x**2, x.sin()), 0, (real(lib),), (real(lib), real(lib)), 1e-6
    ),
    "at another input": lambda lib: specific(
        lib, lambda x: (x**2,), 0, (real(lib),), (real(lib),), 1e-6, input=real(lib, (3.0, 4.0))
    ),
    "of one that is no leaf": lambda lib: specific(
        lib, lambda x: x * 2, 0, (real(lib),), (real(lib),), 1e-6, input=plain(lib)
    ),
    "of a complex output": lambda lib: specific(lib, lambda z: (z * z,), 0, (complex_(lib),), (complex_(lib),), 1e-6),
    "by backward": lambda lib: of_output(lib, real, lambda x: x**3 * x.sum()),
    "by backward, complex to real": lambda lib: of_output(lib, complex_, lambda z: z.abs()),
    "by backward, complex": lambda lib: of_output(lib, complex_, lambda z: z * z),
    "by backward, another cotangent": lambda lib: of_output(lib, real, lambda x: x * 2, grad_out=2.0),
}


@pytest.mark.parametrize("name", JACOBIANS)
def test_jacobians(name):
    same(JACOBIANS[name], bound=Bound(1e-5, 1e-8), look=VALUES)


OUTPUTS = {
    "detached": lambda lib, x: x.detach() * 2,
    "detached, among others": lambda lib, x: (x.detach(), x * 2),
    "constant": lambda lib, x: lib.ones(2, dtype=lib.float64),
    "constant, among others": lambda lib, x: (lib.ones(2, dtype=lib.float64), x.sin()),
}


@pytest.mark.parametrize("how", [{}, {"fast_mode": True}, {"check_forward_ad": True, "check_backward_ad": False}])
@pytest.mark.parametrize("name", OUTPUTS)
def test_outputs_that_do_not_require_grad(name, how):
    """They are passed over, unless there are no others. In fast and in forward mode torch takes one for another."""

    def call(lib):
        x = lib.tensor([1.0, 1.37], dtype=lib.float64, requires_grad=True)
        return lib.autograd.gradcheck(lambda x: OUTPUTS[name](lib, x), x, **how)

    if not how or "among" not in name:
        same(call, error=opening(40), warned=None)
    elif "fast_mode" in how:
        assert call(adjoint)
