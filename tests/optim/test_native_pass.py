"""The native pass: what it takes and what it leaves to the rule gives the same; no state, however odd, crashes it."""

import threading

import numpy as np
import pytest
import torch

import adjoint

from . import runs

CASES = [case for case in runs.CASES if case[0] in runs.ELEMENTWISE]


def steps(name, options, layout, dtype="float64", count=7):
    """Some steps of a parameter whose memory `layout` chooses; its values and states."""
    start = adjoint.tensor(runs.values((4, 6), dtype, 0), dtype=getattr(adjoint, dtype))
    param = layout(start).requires_grad_()
    optimizer = getattr(adjoint.optim, name)([param], lr=0.02, **options)
    for i in range(count):
        param.grad = (start * (i + 1)).sin() + 0.1 * param.detach()
        optimizer.step()
    return [param, *optimizer.state[param].values()]


def dense(start):
    return start.clone()


def transposed(start):
    return start.t().contiguous().t()


def spread(start):
    wide = adjoint.zeros(*(2 * size for size in start.shape), dtype=start.dtype)
    view = wide[::2, ::2].detach()
    view.copy_(start)
    return view


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize(("name", "options"), CASES, ids=runs.case_id)
def test_rule_and_loop_agree(name, options, dtype):
    """Strided parameters go through the rule, dense ones through the loop that was made of it."""
    expected = steps(name, options, dense, dtype)
    for layout in (transposed, spread):
        for ours, theirs in zip(steps(name, options, layout, dtype), expected, strict=True):
            runs.assert_close(ours, theirs, 1e-6 if dtype == "float32" else 1e-13)


def test_memory_between_strided_elements_is_left_alone():
    wide = adjoint.full((4, 4), 7.0)
    param = wide[::2, ::2].detach().requires_grad_()
    param.grad = adjoint.ones(2, 2)
    adjoint.optim.SGD([param], lr=1.0).step()
    assert wide.sum().item() == 12 * 7 + 4 * 6


def test_gradients_that_are_not_dense():
    param = adjoint.ones(3, 4, requires_grad=True)
    optimizer = adjoint.optim.SGD([param], lr=1.0)
    param.grad = adjoint.arange(4.0).expand(3, 4)
    optimizer.step()
    param.grad = adjoint.ones(4, 3).t()
    optimizer.step()
    assert param.tolist() == [[0.0, -1.0, -2.0, -3.0]] * 3


def test_versions_and_history():
    param = adjoint.ones(2, requires_grad=True)
    optimizer = adjoint.optim.Adam([param])
    loss = (param * param).sum()
    loss.backward(retain_graph=True)
    before = param._version
    optimizer.step()
    assert param._version > before
    assert param.is_leaf
    assert param.grad_fn is None
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation.*changed by optimizer\.step"):
        loss.backward()


def test_gradient_that_is_the_parameter():
    param = adjoint.tensor([1.0, 2.0], requires_grad=True)
    param.grad = param.detach()
    adjoint.optim.SGD([param], lr=0.5).step()
    assert param.tolist() == [0.5, 1.0]


def test_parameters_on_one_storage():
    memory = adjoint.arange(6.0)
    params = [memory[:3].detach().requires_grad_(), memory[3:].detach().requires_grad_()]
    optimizer = adjoint.optim.SGD(params, lr=1.0, momentum=0.9)
    for param in params:
        param.grad = adjoint.ones(3)
    optimizer.step()
    assert memory.tolist() == [-1.0, 0.0, 1.0, 2.0, 3.0, 4.0]


def test_a_parameter_listed_twice_steps_twice():
    param = adjoint.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optimizer = adjoint.optim.SGD([param, param], lr=1.0)
    param.grad = adjoint.ones(2)
    optimizer.step()
    assert param.tolist() == [-1.0, -1.0]


def test_buffer_that_is_none_starts_anew():
    """As in state files that torch wrote before the first gradient."""
    param = adjoint.ones(2, requires_grad=True)
    optimizer = adjoint.optim.SGD([param], lr=1.0, momentum=0.9)
    optimizer.state[param]["momentum_buffer"] = None
    param.grad = adjoint.tensor([1.0, 2.0])
    optimizer.step()
    assert optimizer.state[param]["momentum_buffer"].tolist() == [1.0, 2.0]
    assert optimizer.state[param]["momentum_buffer"] is not param.grad


def test_parameters_of_several_types_in_one_group():
    dtypes = ["float32", "float64", "bfloat16", "complex64", "float16"]
    params = [adjoint.ones(3, dtype=getattr(adjoint, dtype), requires_grad=True) for dtype in dtypes]
    optimizer = adjoint.optim.Adam(params, lr=0.5)
    for param in params:
        param.grad = adjoint.ones(3, dtype=param.dtype)
    optimizer.step()
    for param in params:
        assert np.allclose(np.asarray(param.tolist()).real, 0.5, atol=1e-2)
        assert optimizer.state[param]["exp_avg"].dtype == param.dtype


@pytest.mark.parametrize("library", [adjoint, torch])
def test_meta_parameters_have_a_state_without_values(library):
    param = library.empty(3, device="meta").requires_grad_()
    param.grad = library.empty(3, device="meta")
    optimizer = library.optim.SGD([param], momentum=0.9)
    optimizer.step()
    assert optimizer.state[param]["momentum_buffer"].is_meta


# ---- states that were tampered with


def prepared():
    param = adjoint.ones(2, requires_grad=True)
    optimizer = adjoint.optim.Adam([param])
    param.grad = adjoint.ones(2)
    optimizer.step()
    return optimizer, param


WRONG_ENTRIES = {
    "string": (lambda: "abc", TypeError, "expected the state 'exp_avg' of a parameter to be a tensor; got str"),
    "list": (lambda: [1.0, 2.0], TypeError, "expected the state 'exp_avg' of a parameter to be a tensor; got list"),
    "longer": (lambda: adjoint.ones(3), RuntimeError, r"The size of the state 'exp_avg', \[3\], must match \[2\]"),
    "one": (lambda: adjoint.ones(1), RuntimeError, r"The size of the state 'exp_avg', \[1\], must match \[2\]"),
    "rows": (lambda: adjoint.ones(2, 1), RuntimeError, r"The size of the state 'exp_avg', \[2, 1\], must match \[2\]"),
}


@pytest.mark.parametrize("what", WRONG_ENTRIES)
def test_wrong_state(what):
    make, error, message = WRONG_ENTRIES[what]
    optimizer, param = prepared()
    optimizer.state[param]["exp_avg"] = make()
    before = param.tolist()
    with pytest.raises(error, match=message):
        optimizer.step()
    assert param.tolist() == before


def test_state_of_a_wider_type_is_kept():
    optimizer, param = prepared()
    state = optimizer.state[param]
    state["exp_avg_sq"] = state["exp_avg_sq"].double()
    optimizer.step()
    assert state["exp_avg_sq"].dtype == adjoint.float64
    assert param.tolist() == pytest.approx([0.998, 0.998])


def test_state_of_a_wider_type_that_is_interpolated():
    """As in torch, whose lerp_() does not promote."""
    optimizer, param = prepared()
    optimizer.state[param]["exp_avg"] = optimizer.state[param]["exp_avg"].double()
    with pytest.raises(RuntimeError, match="expected dtype double for `end` but got dtype float"):
        optimizer.step()


@pytest.mark.parametrize("value", ["abc", adjoint.ones(2), adjoint.ones(()).bool()], ids=["string", "vector", "bool"])
def test_wrong_step(value):
    optimizer, param = prepared()
    optimizer.state[param]["step"] = value
    if isinstance(value, adjoint.Tensor) and value.ndim == 0:
        optimizer.step()  # True + 1 is a step like any other
    else:
        with pytest.raises((TypeError, RuntimeError), match="'step'"):
            optimizer.step()


def test_missing_state():
    optimizer, param = prepared()
    del optimizer.state[param]["exp_avg"]
    with pytest.raises(KeyError, match="'exp_avg': missing"):
        optimizer.step()
    optimizer.state[param].clear()
    optimizer.step()
    assert optimizer.state[param]["step"].item() == 1


def test_late_amsgrad():
    optimizer, _ = prepared()
    optimizer.param_groups[0]["amsgrad"] = True
    with pytest.raises(KeyError, match="'max_exp_avg_sq': missing"):
        optimizer.step()


def test_state_that_is_no_dict():
    optimizer, param = prepared()
    optimizer.state[param] = 5
    with pytest.raises(TypeError, match="expected the state of a parameter to be a dict; got int"):
        optimizer.step()
    optimizer.state = []
    with pytest.raises(TypeError, match="optimizer's state to be a dict; got list"):
        optimizer.step()


def test_odd_groups():
    optimizer, param = prepared()
    group = optimizer.param_groups[0]
    group["lr"] = "fast"
    with pytest.raises(TypeError, match="adam: expected a number for 'lr' of the parameter group; got str"):
        optimizer.step()
    group["lr"] = None
    with pytest.raises(TypeError, match="expected a number for 'lr'"):
        optimizer.step()
    del group["lr"]
    with pytest.raises(KeyError, match="lr"):
        optimizer.step()
    group["lr"] = 0.1
    group["params"].append(3)
    with pytest.raises(TypeError, match="optimizer can only optimize Tensors, but one of the params is int"):
        optimizer.step()
    group["params"] = (param,)
    with pytest.raises(TypeError, match="expected 'params' of a group to be a list"):
        optimizer.step()


def test_parameter_with_another_shape_than_its_state():
    optimizer, param = prepared()
    param.grad = None
    param.data = adjoint.ones(5)
    param.grad = adjoint.ones(5)
    with pytest.raises(RuntimeError, match="The size of the state"):
        optimizer.step()


def test_group_changed_while_a_state_is_made():
    """The first step of a parameter calls Python, which may change what the pass walks over."""

    class Shrinking(adjoint.optim.SGD):
        def _init_state(self, group, made, param):
            super()._init_state(group, made, param)
            group["params"].clear()

    params = [adjoint.ones(2, requires_grad=True) for _ in range(4)]
    for param in params:
        param.grad = adjoint.ones(2)
    optimizer = Shrinking(params, lr=1.0, momentum=0.9)
    optimizer.step()
    assert [param.sum().item() for param in params] == [0.0, 2.0, 2.0, 2.0]


def test_state_that_cannot_be_made():
    class Broken(adjoint.optim.Adam):
        def _new_state(self, param, group):
            raise ZeroDivisionError("as a test")

    param = adjoint.ones(2, requires_grad=True)
    param.grad = adjoint.ones(2)
    with pytest.raises(ZeroDivisionError, match="as a test"):
        Broken([param]).step()


def test_native_calls_check_their_arguments():
    for call in (
        lambda: adjoint._C._optimizer_step(),
        lambda: adjoint._C._optimizer_step([], [], None),
        lambda: adjoint._C._optimizer_step([("adam", [])], {}, None),
        lambda: adjoint._C._optimizer_step([("adam", [], [], None, False)], {}, None),
        lambda: adjoint._C._optimizer_step([("adam", (), [], None, False)], {}, None),
        lambda: adjoint._C._optimizer_step([("none", [], [], None, False)], {}, None),
        lambda: adjoint._C._optimizer_step([(5, [], [], None, False)], {}, None),
        lambda: adjoint._C._optimizer_step([("\ud800", [], [], None, False)], {}, None),
        lambda: adjoint._C._update_states(None),
    ):
        with pytest.raises((TypeError, UnicodeEncodeError)):
            call()


def test_threads_with_optimizers_of_their_own():
    def train():
        param = adjoint.ones(200_000, requires_grad=True)
        optimizer = adjoint.optim.Adam([param], lr=0.1)
        for _ in range(5):
            param.grad = param.detach() * 0.5
            optimizer.step()
        results.append(param.sum().item())

    results = []
    threads = [threading.Thread(target=train) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(results)) == 1
    assert len(results) == 3
