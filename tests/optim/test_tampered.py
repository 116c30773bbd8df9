"""States and options of optimizers and schedules that a program has changed: what is wrong is said before a step.

Torch raises the same types, most of them with the interpreter's words alone.
"""

import pytest

import adjoint

NAMES = ["ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon", "NAdam", "RAdam", "RMSprop"]
NAMES += ["Rprop", "SGD"]


def stepped(name, **options):
    """A parameter and its optimizer, after a step."""
    param = adjoint.ones(2, 3, requires_grad=True)
    if name in ("SGD", "RMSprop"):
        options["momentum"] = 0.5
    optimizer = getattr(adjoint.optim, name)([param], **options)
    param.grad = adjoint.ones(2, 3)
    optimizer.step()
    return param, optimizer


def refused(param, optimizer, kind, match):
    """Asserts that a step is refused in these words, and that it leaves the parameter as it was."""
    before = param.detach().clone()
    with pytest.raises(kind, match=match):
        optimizer.step()
    assert param.equal(before)


@pytest.mark.parametrize("name", NAMES)
def test_a_state_that_lacks_an_entry(name):
    param, optimizer = stepped(name)
    entry = list(optimizer.state[param])[-1]
    state = optimizer.state[param]
    del state[entry]
    if name in ("SGD", "Muon"):  # whose only entry begins anew, as in torch
        optimizer.step()
        assert list(state) == [entry]
        return
    refused(param, optimizer, KeyError, f"'{entry}': missing in the state of a parameter; load a state_dict")


@pytest.mark.parametrize("name", NAMES)
def test_a_state_of_another_type_or_size(name):
    param, optimizer = stepped(name)
    entry = list(optimizer.state[param])[-1]
    for value, kind, match in [
        ("a", TypeError, f"expected the state '{entry}' of a parameter to be a tensor; got str"),
        (adjoint.ones(7), RuntimeError, f"The size of the state '{entry}', \\[7\\], must match"),
    ]:
        optimizer.state[param][entry] = value
        refused(param, optimizer, kind, match)
    optimizer.state[param] = 5
    refused(param, optimizer, TypeError, "expected the state of a parameter to be a dict; got int")


def test_a_parameter_that_became_a_matrix():
    param = adjoint.ones(6, requires_grad=True)
    optimizer = adjoint.optim.Adafactor([param])
    param.grad = adjoint.ones(6)
    optimizer.step()
    param.grad = None
    param.data = adjoint.ones(2, 3)
    param.grad = adjoint.ones(2, 3)
    refused(param, optimizer, KeyError, "'row_var': missing in the state of a parameter")


def test_muon_and_what_is_no_matrix_any_more():
    param, optimizer = stepped("Muon")
    param.data = adjoint.ones(6)
    refused(param, optimizer, ValueError, r"Muon only supports 2D parameters whereas we found .* torch.Size\(\[6\]\)")
    param = adjoint.ones(2, 0)
    optimizer = adjoint.optim.Muon([param])
    param.grad = adjoint.ones(2, 0)
    refused(param, optimizer, ZeroDivisionError, r"division by zero: Muon expects .* with columns; got .* \[2, 0\]")


@pytest.mark.parametrize("name", [*NAMES, "LBFGS"])
def test_a_group_that_lacks_an_option(name):
    param = adjoint.ones(2, 3, requires_grad=True)
    optimizer = getattr(adjoint.optim, name)([param])
    param.grad = adjoint.ones(2, 3)
    option = "etas" if name == "Rprop" else "lr"
    del optimizer.param_groups[0][option]
    with pytest.raises(
        KeyError, match=rf"'{option}': missing in param_groups\[0\]; set param_groups\[0\]\['{option}'\]"
    ):
        optimizer.step(lambda: (param * param).sum()) if name == "LBFGS" else optimizer.step()
    assert param.tolist() == [[1, 1, 1], [1, 1, 1]]


@pytest.mark.parametrize("group", [None, 5, [1]], ids=str)
def test_a_group_that_is_none(group):
    param, optimizer = stepped("Adam")
    optimizer.param_groups.append(group)
    refused(
        param, optimizer, TypeError, r"expected param_groups\[1\] to be a dict; got .*; add groups by add_param_group"
    )


def test_a_key_error_of_a_step_of_ones_own_is_left_alone():
    class Mine(adjoint.optim.Optimizer):
        def step(self, closure=None):
            return {}["lr"]

    optimizer = Mine([adjoint.ones(2)], {"lr": 1.0})
    with pytest.raises(KeyError, match=r"^'lr'$"):
        optimizer.step()


@pytest.mark.parametrize(("name", "option"), [("Adam", "betas"), ("Rprop", "etas"), ("Rprop", "step_sizes")])
@pytest.mark.parametrize("value", [(), (0.5,), None, {}, {"a": 1, "b": 2}, {1, 2}])
def test_an_option_of_two_numbers(name, option, value):
    with pytest.raises(ValueError, match=f"Invalid {option}: expected .*; got "):
        getattr(adjoint.optim, name)([adjoint.ones(2)], **{option: value})
    param, optimizer = stepped(name)
    optimizer.param_groups[0][option] = value
    refused(param, optimizer, ValueError, f"expected '{option}' of the parameter group to have more than")


@pytest.mark.parametrize("value", [(), None, {}])
def test_adafactor_takes_two_eps(value):
    with pytest.raises(ValueError, match="Invalid eps: expected two numbers"):
        adjoint.optim.Adafactor([adjoint.ones(2)], eps=value)


def test_the_state_of_what_is_no_parameter():
    _, optimizer = stepped("Adam")
    optimizer.state[adjoint.ones(5)] = {}
    with pytest.raises(KeyError, match=r"got one of size \[5\] that is none; delete it from optimizer.state"):
        optimizer.state_dict()


@pytest.mark.parametrize(
    ("change", "kind", "match"),
    [
        (lambda saved: None, TypeError, "Expected state_dict to be dict-like, got <class 'NoneType'>"),
        (lambda saved: [saved], TypeError, "Expected state_dict to be dict-like, got <class 'list'>"),
        (lambda saved: {}, KeyError, "'param_groups': missing in the state_dict, which has no keys"),
        (lambda saved: {"param_groups": []}, KeyError, "'state': missing in the state_dict, which has the keys"),
        (lambda saved: saved | {"state": None}, TypeError, r"Expected state_dict\['state'\] to be dict-like"),
        (lambda saved: saved | {"param_groups": 1}, TypeError, r"Expected state_dict\['param_groups'\] to be a list"),
        (lambda saved: saved | {"param_groups": [1]}, TypeError, r"\['param_groups'\]\[0\] to be dict-like"),
        (lambda saved: saved | {"param_groups": [{}]}, KeyError, r"'params': missing in state_dict\['param_groups'\]"),
        (lambda saved: saved | {"state": {0: {"step": None}}}, TypeError, "'step' of a parameter to be a number or a"),
    ],
)
def test_load_state_dict_of_something_else(change, kind, match):
    _, optimizer = stepped("Adam")
    with pytest.raises(kind, match=match):
        optimizer.load_state_dict(change(optimizer.state_dict()))


def test_params_of_no_pairs():
    with pytest.raises(ValueError, match=r"or pairs \(name, Tensor\)"):
        adjoint.optim.SGD([(), ()], 0.1)
    with pytest.raises(KeyError, match="'params': missing in a parameter group with the keys \\['lr'\\]"):
        adjoint.optim.SGD([{"lr": 1}], 0.1)


def test_lbfgs_that_cannot_remember():
    param = adjoint.ones(2, requires_grad=True)

    def closure():
        optimizer.zero_grad()
        loss = (param**4).sum()
        loss.backward()
        return loss

    optimizer = adjoint.optim.LBFGS([param], lr=0.1, history_size=0)
    with pytest.raises(IndexError, match="pop from empty list: LBFGS expects a history_size of at least 1; got 0"):
        optimizer.step(closure)
    optimizer = adjoint.optim.LBFGS([param], lr=0.1, max_iter=4)
    optimizer.step(closure)
    state = optimizer.state[param]
    state["al"] = state["al"][:1]
    with pytest.raises(IndexError, match="LBFGS: expected to remember 1 steps at most"):
        optimizer.step(closure)
    del optimizer.state[param]["d"]
    with pytest.raises(KeyError, match="'d': missing in the state of LBFGS"):
        optimizer.step(closure)


# ---- Schedules


def schedule(name, *args, **options):
    optimizer = adjoint.optim.SGD([adjoint.ones(2, requires_grad=True)], 0.1, momentum=0.9)
    scheduler = getattr(adjoint.optim.lr_scheduler, name)(optimizer, *args, **options)
    optimizer.step()
    return scheduler


@pytest.mark.parametrize(
    ("name", "args", "words"),
    [
        ("StepLR", [0], "integer modulo by zero"),
        ("ConstantLR", [0.0, 1], "float division by zero"),
        ("CosineAnnealingLR", [0], "integer modulo by zero"),
        ("OneCycleLR", [0.1, 1], "float division by zero"),
    ],
)
def test_schedules_that_divide_by_zero(name, args, words):
    with pytest.raises(ZeroDivisionError, match=f"{words}: {name} has no learning rates for epoch .; make it with"):
        schedule(name, *args, **({"pct_start": 1.0} if name == "OneCycleLR" else {})).step()


# The closed form is what the deprecated epoch asks for.
@pytest.mark.filterwarnings("ignore:The epoch parameter")
@pytest.mark.parametrize(("name", "args"), [("LinearLR", [0.5, 1.0, 0]), ("PolynomialLR", [0]), ("StepLR", [0])])
def test_schedules_that_divide_by_zero_in_their_closed_form(name, args):
    with pytest.raises(ZeroDivisionError, match=f"by zero: {name} has no learning rates for epoch 1"):
        schedule(name, *args).step(1)


def test_a_wave_without_steps():
    with pytest.raises(ZeroDivisionError, match="float division by zero: expected step_size_up to be positive; got 0"):
        schedule("CyclicLR", 0.1, 1.0, 0)


@pytest.mark.parametrize(
    ("name", "args", "entry"),
    [
        ("LambdaLR", [float], "lr_lambdas"),
        ("CyclicLR", [0.1, 1.0], "_scale_fn_custom"),
    ],
)
def test_a_schedule_loads_what_it_saves(name, args, entry):
    scheduler = schedule(name, *args)
    for wrong in (None, 5, [1]):
        with pytest.raises(TypeError, match="Expected state_dict to be dict-like, got"):
            scheduler.load_state_dict(wrong)
    with pytest.raises(KeyError, match=f"'{entry}': missing in the state_dict; give what state_dict"):
        scheduler.load_state_dict({"last_epoch": 5})
    assert scheduler.last_epoch == 0


def test_a_schedule_of_schedules_loads_what_it_saves():
    first = schedule("StepLR", 2)
    scheduler = adjoint.optim.lr_scheduler.ChainedScheduler([first])
    with pytest.raises(KeyError, match="'_schedulers': missing in the state_dict"):
        scheduler.load_state_dict({})
    with pytest.raises(TypeError, match="Expected state_dict\\['_schedulers'\\] to be a list of dicts"):
        scheduler.load_state_dict({"_schedulers": None})
    with pytest.raises(TypeError, match="Expected state_dict to be dict-like, got <class 'int'>"):
        scheduler.load_state_dict({"_schedulers": [5]})


@pytest.mark.parametrize("option", ["lr", "initial_lr"])
def test_a_schedule_needs_the_rates_of_all_groups(option):
    optimizer = schedule("StepLR", 2).optimizer
    del optimizer.param_groups[0][option]
    with pytest.raises(
        KeyError, match=rf"'{option}': missing in param_groups\[0\]|param 'initial_lr' is not specified"
    ):
        adjoint.optim.lr_scheduler.StepLR(optimizer, 2, last_epoch=3)


def test_a_state_of_all_parameters_that_is_no_dict():
    parameter = adjoint.ones(2, requires_grad=True)
    optimizer = adjoint.optim.LBFGS([parameter])
    optimizer.state[parameter] = None
    with pytest.raises(TypeError, match="expected the state of a parameter to be a dict; got NoneType"):
        optimizer.step(lambda: (parameter * parameter).sum())


# Only the deprecated epoch takes so large a step at once.
@pytest.mark.filterwarnings("ignore:The epoch parameter")
def test_powers_of_whole_numbers_end():
    scheduler = schedule("ExponentialLR", -2)
    scheduler.step(2**31)
    assert scheduler.get_last_lr() == [float("inf")]


@pytest.mark.parametrize("value", [None, 5])
def test_a_group_of_what_is_no_list(value):
    optimizer = adjoint.optim.SGD([adjoint.ones(2)], 0.1)
    with pytest.raises(TypeError, match="object is not iterable: 'params' of a parameter group is a Tensor or a list"):
        optimizer.add_param_group({"params": value})
