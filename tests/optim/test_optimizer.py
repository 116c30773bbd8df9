"""Optimizer: groups, arguments and their errors, hooks, closures, saving and loading, as in torch."""

import copy
import importlib
import inspect
import pickle

import pytest
import torch

import adjoint
from tests.compare import programs, same

from . import runs

program, test_program = programs()
NAMES = [*runs.OPTIONS, "LBFGS", "Muon", "SparseAdam"]


def parameter(L, *shape):
    return L.nn.Parameter(L.ones(*shape))


def stepped(L, name="Adam", count=2, **options):
    """An optimizer after one step."""
    params = [parameter(L, 2) for _ in range(count)]
    optimizer = getattr(L.optim, name)(params, **options)
    for param in params:
        param.grad = L.ones(2)
    optimizer.step()
    return optimizer


@pytest.mark.parametrize("name", NAMES)
def test_signature_defaults_and_repr(name):
    ours, theirs = getattr(adjoint.optim, name), getattr(torch.optim, name)
    described = [
        [(p.name, p.kind, p.default) for p in inspect.signature(cls).parameters.values()] for cls in (ours, theirs)
    ]
    assert described[0] == described[1]
    a, b = ours([parameter(adjoint, 2, 2)]), theirs([parameter(torch, 2, 2)])
    assert list(a.defaults.items()) == list(b.defaults.items())
    assert list(a.param_groups[0]) == list(b.param_groups[0])
    assert repr(a) == repr(b)


# ---- parameters and groups

BAD_PARAMETERS = {
    "tensor": lambda L: L.ones(2),
    "parameter": lambda L: parameter(L, 2),
    "empty": lambda L: [],
    "generator": lambda L: (p for p in ()),
    "dict": lambda L: {"a": parameter(L, 2)},
    "string": lambda L: "abc",
    "number": lambda L: 3,
    "numbers": lambda L: [3],
    "not a leaf": lambda L: [parameter(L, 2) * 2],
    "set": lambda L: [{"params": {parameter(L, 2)}}],
    "no params": lambda L: [{"lr": 1}],
    "twice": lambda L: [parameter(L, 2)] * 2,
    "in two groups": lambda L: [{"params": p} for p in [parameter(L, 2)] * 2],
    "group and tensor": lambda L: [{"params": parameter(L, 2)}, parameter(L, 2)],
    "some names": lambda L: [("a", parameter(L, 2)), parameter(L, 2)],
    "names later": lambda L: [parameter(L, 2), ("a", parameter(L, 2))],
    "groups with and without names": lambda L: [{"params": [("a", parameter(L, 2))]}, {"params": [parameter(L, 2)]}],
    "groups without and with names": lambda L: [{"params": [parameter(L, 2)]}, {"params": [("a", parameter(L, 2))]}],
}


@pytest.mark.parametrize("what", BAD_PARAMETERS)
def test_bad_parameters(what):
    same(lambda L: repr(L.optim.SGD(BAD_PARAMETERS[what](L))))


BAD_OPTIONS = {
    "SGD": [
        {"lr": -1},
        {"momentum": -1},
        {"weight_decay": -1},
        {"nesterov": True},
        {"nesterov": True, "momentum": 0.9, "dampening": 0.1},
        {"fused": True, "foreach": True},
        {"fused": True, "differentiable": True},
    ],
    "Adagrad": [
        {"lr": -1},
        {"lr_decay": -1},
        {"weight_decay": -1},
        {"initial_accumulator_value": -1},
        {"eps": -1},
        {"fused": True, "foreach": True},
        {"fused": True, "differentiable": True},
    ],
    "Adadelta": [{"lr": -1}, {"rho": 2}, {"rho": -0.1}, {"eps": -1}, {"weight_decay": -1}],
    "RMSprop": [{"lr": -1}, {"eps": -1}, {"momentum": -1}, {"weight_decay": -1}, {"alpha": -1}],
    "Rprop": [{"lr": -1}, {"etas": (1, 2)}, {"etas": (0.5, 0.9)}, {"etas": (-0.5, 1.9)}],
    "ASGD": [{"lr": -1}, {"weight_decay": -1}],
    "LBFGS": [{"lr": -1}],
    "Adafactor": [
        {"lr": -1},
        {"beta2_decay": 1},
        {"eps": (-1, 1)},
        {"eps": (None, -1)},
        {"d": 0.5},
        {"weight_decay": -1},
    ],
    "Muon": [{"lr": -1}, {"momentum": -1}, {"weight_decay": -1}, {"adjust_lr_fn": "x"}],
    "SparseAdam": [{"lr": -1}, {"eps": 0}, {"betas": (2, 0.9)}, {"betas": (0.9, 2)}],
    **{
        name: [{"lr": -1}, {"eps": -1}, {"betas": (-1, 0.9)}, {"betas": (0.9, 1.0)}, {"weight_decay": -1}]
        for name in ("Adam", "AdamW", "NAdam", "RAdam", "Adamax")
    },
}


@pytest.mark.parametrize(("name", "options"), [(n, o) for n, all in BAD_OPTIONS.items() for o in all], ids=runs.case_id)
def test_bad_option(name, options):
    assert same(lambda L: repr(getattr(L.optim, name)([parameter(L, 2, 2)], **options))).error is not None


@pytest.mark.parametrize("name", [name for name in NAMES if name != "SparseAdam"])
def test_learning_rate_of_several_elements(name):
    same(lambda L: repr(getattr(L.optim, name)([parameter(L, 2, 2)], lr=L.ones(2))))


@program
def tensors_that_foreach_does_not_take(L):
    L.optim.Adam([parameter(L, 2)], lr=L.tensor(0.1), foreach=True)


@program
def betas_that_foreach_does_not_take(L):
    L.optim.Adam([parameter(L, 2)], betas=(L.tensor(0.9), L.tensor(0.9)), foreach=True)


@program
def betas_of_two_kinds(L):
    L.optim.Adam([parameter(L, 2)], betas=(L.tensor(0.9), 0.9))


@program
def momentum_decay(L):
    L.optim.NAdam([parameter(L, 2)], momentum_decay=-1)


@program
def muon_of_a_vector(L):
    L.optim.Muon([parameter(L, 2)])


@pytest.mark.parametrize("options", [{"ns_steps": 100}, {"ns_coefficients": (1, 2)}], ids=runs.case_id)
def test_muon_refuses_at_its_step(options):
    def run(L):
        param = parameter(L, 2, 2)
        param.grad = L.ones(2, 2)
        L.optim.Muon([param], **options).step()

    same(run)


@pytest.mark.parametrize("name", ["Adafactor", "Muon"])
def test_complex_refused(name):
    def run(L):
        param = L.nn.Parameter(L.ones(2, 2, dtype=L.complex64))
        param.grad = L.ones(2, 2, dtype=L.complex64)
        getattr(L.optim, name)([param]).step()

    same(run)


@program
def sparse_adam(L):
    param = parameter(L, 2)
    optimizer = L.optim.SparseAdam([param])
    optimizer.step()
    param.grad = L.ones(2)
    optimizer.step()


@program
def groups_take_defaults(L):
    optimizer = L.optim.SGD([{"params": parameter(L, 2), "lr": 3}], momentum=0.5)
    optimizer.add_param_group({"params": iter([parameter(L, 3)]), "own": 5})
    return repr(optimizer), [{k: v for k, v in group.items() if k != "params"} for group in optimizer.param_groups]


@program
def names(L):
    optimizer = L.optim.Adam([("a", parameter(L, 2)), ("b", parameter(L, 2))])
    optimizer.add_param_group({"params": [("c", parameter(L, 1))]})
    return repr(optimizer), optimizer.state_dict()


@program
def names_of_a_module(L):
    return L.optim.SGD(L.nn.Linear(2, 3).named_parameters()).state_dict()


@program
def added_group_is_no_dict(L):
    L.optim.SGD([parameter(L, 2)]).add_param_group([parameter(L, 2)])


@program
def added_group_with_a_known_parameter(L):
    param = parameter(L, 2)
    L.optim.SGD([param]).add_param_group({"params": param})


@program
def required_option(L):
    module = __import__(f"{L.__name__}.optim.optimizer", fromlist=["required"])
    assert repr(module.required) == "<required parameter>"
    L.optim.Optimizer([parameter(L, 2)], {"lr": module.required})


@program
def base_class_has_no_step(L):
    L.optim.Optimizer([parameter(L, 2)], {}).step()


@program
def differentiable_takes_what_is_no_leaf(L):
    return len(L.optim.SGD([parameter(L, 2) * 2], differentiable=True).param_groups)


# ---- steps


@program
def own_optimizer(L):
    class Halve(L.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"factor": 0.5})

        @L.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for param in group["params"]:
                    param.mul_(group["factor"])
                    self.state[param]["seen"] = self.state[param].get("seen", 0) + 1
            return "done"

    param = parameter(L, 2)
    optimizer = Halve([param])
    log = []
    optimizer.register_step_post_hook(lambda o, args, kwargs: log.append((len(args), kwargs)))
    return optimizer.step(), optimizer.step(closure=None), param.detach(), log, optimizer.state_dict()


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("LBFGS", "SparseAdam")])
def test_closure(name):
    def run(L):
        param = L.nn.Parameter(L.eye(2, dtype=L.float64))
        optimizer = getattr(L.optim, name)([param])
        modes = []

        def closure():
            optimizer.zero_grad()
            modes.append(L.is_grad_enabled())
            loss = (param * param).sum()
            loss.backward()
            return loss

        with L.no_grad():
            loss = optimizer.step(closure)
        return loss.item(), modes, L.is_grad_enabled(), param.requires_grad, param.is_leaf

    same(run)


@program
def zero_grad(L):
    param = parameter(L, 2)
    optimizer = L.optim.SGD([param, parameter(L, 1)])
    param.grad = grad = L.ones(2)
    optimizer.zero_grad(set_to_none=False)
    kept = param.grad is grad
    (param.grad,) = L.autograd.grad((param * param).sum(), param, create_graph=True)
    optimizer.zero_grad(set_to_none=False)
    recorded = param.grad
    optimizer.zero_grad()
    return kept, grad, recorded, param.grad


@program
def frozen_and_unused_parameters(L):
    params = [L.ones(2), parameter(L, 2), parameter(L, 2)]
    optimizer = L.optim.Adam(params, lr=1.0)
    params[1].grad = L.ones(2)
    optimizer.step()
    return len(optimizer.state), [param.sum().item() > 1.5 for param in params]


@program
def infinite_weights_without_decay(L):
    param = L.nn.Parameter(L.tensor([float("inf"), -float("inf"), 1.0]))
    optimizer = L.optim.SGD([param], lr=0.5)
    param.grad = L.ones(3)
    optimizer.step()
    return param.detach()


def unrolled(L, name, lr, **options):
    """Two recorded steps: their end, and its derivatives by the start, the learning rate and the gradients."""
    start = L.tensor([1.0, -2.0, 0.5], dtype=L.float64, requires_grad=True)
    param = start.clone()
    optimizer = getattr(L.optim, name)([param], lr=lr, differentiable=True, **options)
    slopes = [L.tensor([3.0, i, -1.0], dtype=L.float64, requires_grad=True) for i in (1.0, 2.0)]
    for slope in slopes:
        param.grad = slope * slope
        optimizer.step()
    sources = [start, *slopes, *([lr] if isinstance(lr, L.Tensor) else [])]
    return [param, *L.autograd.grad((param * param).sum(), sources)]


# torch computes the corrections of Adam and NAdam in float32 here.
@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("SGD", 1e-10),
        ("Adam", 1e-4),
        ("NAdam", 1e-7),
        ("RAdam", 1e-10),
        ("Adagrad", 1e-10),
        ("Adadelta", 1e-10),
        ("RMSprop", 1e-10),
        ("ASGD", 1e-10),
    ],
)
def test_differentiable(name, limit):
    """A differentiable step records itself: what comes after it has gradients by what went into it."""
    for ours, theirs in zip(unrolled(adjoint, name, 0.1), unrolled(torch, name, 0.1), strict=True):
        runs.assert_close(ours, theirs, limit)


# Rprop and ASGD keep their learning rates in their states, as numbers.
UNROLLED = [case for case in runs.CASES if case[0] not in ("Rprop", "ASGD", "Adafactor")]


@pytest.mark.parametrize(("name", "options"), UNROLLED, ids=runs.case_id)
def test_differentiable_learning_rate(name, options):
    """The derivative by the learning rate, against differences; and the end is that of plain steps."""
    lr = adjoint.tensor(0.1, dtype=adjoint.float64, requires_grad=True)
    param, *_, derivative = unrolled(adjoint, name, lr, **options)
    ends = [unrolled(adjoint, name, 0.1 + h, **options)[0] for h in (-1e-5, 0, 1e-5)]
    losses = [(end * end).sum().item() for end in ends]
    runs.assert_close(param, ends[1], 1e-12)
    assert derivative.item() == pytest.approx((losses[2] - losses[0]) / 2e-5, rel=1e-4)


@program
def differentiable_step_of_a_leaf(L):
    param = parameter(L, 2)
    param.grad = L.ones(2)
    L.optim.SGD([param], differentiable=True).step()


# ---- hooks


@program
def step_hooks(L):
    module = __import__(f"{L.__name__}.optim.optimizer", fromlist=["Optimizer"])
    optimizer, log = stepped(L), []

    def hook(name):
        return lambda o, args, kwargs: log.append((name, o is optimizer, args[0] is optimizer, args[1:], list(kwargs)))

    handles = [
        optimizer.register_step_post_hook(hook("post")),
        optimizer.register_step_pre_hook(hook("pre")),
        module.register_optimizer_step_post_hook(hook("all post")),
        module.register_optimizer_step_pre_hook(hook("all pre")),
    ]
    optimizer.step()
    optimizer.step(closure=lambda: 3)
    for handle in handles:
        handle.remove()
    optimizer.step()
    return log


@program
def pre_hook_with_new_arguments(L):
    optimizer = stepped(L)
    optimizer.register_step_pre_hook(lambda o, args, kwargs: ((*args, lambda: 42), kwargs))
    return optimizer.step()


@pytest.mark.parametrize("result", [5, (1, 2, 3)])
def test_pre_hook_with_a_bad_result(result):
    for L in (adjoint, torch):
        optimizer = stepped(L)
        optimizer.register_step_pre_hook(lambda o, args, kwargs: result)
        with pytest.raises(RuntimeError, match=r"must return None or a tuple of \(new_args, new_kwargs\), but got"):
            optimizer.step()


@program
def state_dict_hooks(L):
    optimizer, log = stepped(L, "SGD"), []
    optimizer.register_state_dict_pre_hook(lambda o: log.append("second"))
    optimizer.register_state_dict_pre_hook(lambda o: log.append("first"), prepend=True)
    optimizer.register_state_dict_post_hook(lambda o, state: log.append(list(state)))
    optimizer.register_state_dict_post_hook(lambda o, state: {**state, "more": 1})
    optimizer.register_load_state_dict_pre_hook(lambda o, state: log.append(("before", list(state))))
    optimizer.register_load_state_dict_post_hook(lambda o: log.append("after"))
    optimizer.load_state_dict(optimizer.state_dict())
    return log


@program
def load_hook_with_another_state(L):
    optimizer, other = stepped(L, "SGD"), stepped(L, "SGD", lr=7).state_dict()
    optimizer.register_load_state_dict_pre_hook(lambda o, state: other)
    optimizer.load_state_dict({})
    return optimizer.param_groups[0]["lr"]


# ---- saving and loading


@pytest.mark.parametrize(("name", "options"), runs.CASES, ids=runs.case_id)
def test_state_moves_between_libraries(name, options):
    """Steps in one library, then in the other: the same as all of them in one."""
    shapes = runs.SHAPES[:-1]
    whole = runs.run(torch, name, options, "float64", steps=12, shapes=shapes)
    for first, second in ((torch, adjoint), (adjoint, torch)):
        params = runs.parameters(first, "float64", shapes)
        optimizer = getattr(first.optim, name)(params, lr=0.02, **options)
        losses = runs.train(first, optimizer, params, 6)
        state = runs.convert(optimizer.state_dict(), second)
        params = [second.nn.Parameter(runs.convert(param.detach(), second)) for param in params]
        optimizer = getattr(second.optim, name)(params)
        optimizer.load_state_dict(state)
        losses += runs.train(second, optimizer, params, 6, start=6)
        runs.assert_same_losses(losses, whole[0], 1e-7 if name == "NAdam" else 1e-10)


def test_groups_of_a_moved_state():
    theirs = stepped(torch, lr=0.5, weight_decay=0.25).state_dict()
    optimizer = stepped(adjoint)
    optimizer.load_state_dict(runs.convert(theirs, adjoint))
    ours = optimizer.state_dict()
    assert ours["param_groups"] == theirs["param_groups"]
    assert list(ours["param_groups"][0]) == list(theirs["param_groups"][0])


@program
def other_number_of_groups(L):
    groups = [{"params": [parameter(L, 2)]} for _ in range(2)]
    L.optim.Adam(groups).load_state_dict(stepped(L).state_dict())


@program
def other_number_of_parameters(L):
    L.optim.Adam([parameter(L, 2)]).load_state_dict(stepped(L).state_dict())


@program
def state_dict_without_groups(L):
    L.optim.Adam([parameter(L, 2)]).load_state_dict({})


@program
def loaded_state_takes_the_type_of_its_parameter(L):
    optimizer, state = stepped(L), stepped(L).state_dict()
    one = state["state"][0]
    one["exp_avg"] = one["exp_avg"].double()
    one["step"] = L.tensor(3.0, dtype=L.float64)
    one["more"] = [L.ones(2).double(), {"deep": L.ones(1).double()}, (1,)]
    state["state"]["global"] = 7
    optimizer.load_state_dict(state)
    return optimizer.state_dict()["state"]


@program
def loaded_state_shares_tensors_not_dicts(L):
    optimizer, state = stepped(L), stepped(L).state_dict()
    optimizer.load_state_dict(state)
    own = optimizer.state[optimizer.param_groups[0]["params"][0]]
    one = state["state"][0]
    return own is one, own["exp_avg"] is one["exp_avg"], optimizer.param_groups[0] is state["param_groups"][0]


@program
def options_missing_in_an_old_state(L):
    result = []
    for name in NAMES:
        if name == "RMSprop":  # torch fills in its momentum too, which only the oldest files lack
            continue
        optimizer = getattr(L.optim, name)([parameter(L, 2, 2)])
        state = {"state": {0: {"step": 3, "mu_product": 0.5, "eta": 0.1, "mu": 1.0}}, "param_groups": [{"params": [0]}]}
        optimizer.load_state_dict(state)
        result.append((name, sorted(optimizer.state_dict()["param_groups"][0]), optimizer.state_dict()["state"]))
    return result


@program
def loaded_names(L):
    named, unnamed = (L.optim.SGD([(name, parameter(L, 2))]) for name in "ab"), L.optim.SGD([parameter(L, 2)])
    first, second = named
    first.load_state_dict(second.state_dict())
    second.load_state_dict(unnamed.state_dict())
    return first.param_groups[0]["param_names"], second.param_groups[0]["param_names"]


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))], ids=["deepcopy", "pickle"])
@pytest.mark.parametrize("name", ["SGD", "Adam", "Adagrad"])
def test_copies_train_on(name, clone):
    options = {"momentum": 0.9} if name == "SGD" else {}
    original = stepped(adjoint, name, **options)
    other = clone(original)
    assert repr(other) == repr(original)
    assert [param.shape for param in other.state] == [param.shape for param in original.state]
    for optimizer in (original, other):
        for param in optimizer.param_groups[0]["params"]:
            param.grad = adjoint.full((2,), 0.5)
        optimizer.step()
        assert all(param in optimizer.state for param in optimizer.param_groups[0]["params"])
    for a, b in zip(original.param_groups[0]["params"], other.param_groups[0]["params"], strict=True):
        assert a is not b
        assert a.tolist() == b.tolist()


def test_package_offers_optim_when_asked():
    assert adjoint.optim.SGD.__module__ == "adjoint.optim.sgd"
    with pytest.raises(AttributeError, match="no attribute 'optimizers'"):
        adjoint.optimizers  # noqa: B018 - the error is the test


PATHS = """
    optim: SGD Adam AdamW Optimizer lr_scheduler swa_utils
    optim.optimizer: Optimizer ParamsT required register_optimizer_step_pre_hook register_optimizer_step_post_hook
    optim.sgd: SGD
    optim.adam: Adam
    optim.adamw: AdamW
    optim.nadam: NAdam
    optim.radam: RAdam
    optim.adamax: Adamax
    optim.adagrad: Adagrad
    optim.adadelta: Adadelta
    optim.rmsprop: RMSprop
    optim.rprop: Rprop
    optim.asgd: ASGD
    optim.lbfgs: LBFGS
    optim.sparse_adam: SparseAdam
    optim.lr_scheduler: LRScheduler _LRScheduler StepLR OneCycleLR ReduceLROnPlateau EPOCH_DEPRECATION_WARNING
    optim.swa_utils: AveragedModel SWALR update_bn get_ema_multi_avg_fn
"""


@pytest.mark.parametrize("line", PATHS.strip().splitlines())
def test_import_paths(line):
    """The modules that programs import from, in both libraries."""
    module, _, names = line.strip().partition(": ")
    for library in ("adjoint", "torch"):
        found = importlib.import_module(f"{library}.{module}")
        assert [name for name in names.split() if not hasattr(found, name)] == []


def test_type_of_parameters_is_for_annotations():
    from adjoint.optim.optimizer import ParamsT

    def make(params: ParamsT, more: ParamsT | None = None):
        return params, more

    assert inspect.signature(make).parameters["params"].annotation is ParamsT


@program
def derivatives_by_the_states_of_nadam(L):
    start = L.tensor([1.0, 2.0], dtype=L.float64, requires_grad=True)
    grad = L.tensor([0.3, 0.4], dtype=L.float64, requires_grad=True)
    weight = start.clone()
    optimizer = L.optim.NAdam([weight], differentiable=True)
    weight.grad = grad * start
    optimizer.step()
    state, leaves = optimizer.state[weight], {}
    for name in ("mu_product", "exp_avg", "exp_avg_sq"):
        leaves[name] = state[name].detach().clone().requires_grad_()
        state[name] = leaves[name].clone()
    weight.grad = grad * 2
    optimizer.step()
    found = L.autograd.grad(weight.sum(), [*leaves.values(), grad])
    return [[round(value, 4) for value in one.reshape(-1).tolist()] for one in found]


# ---- Parameters that move in a way of their own


def angle(L):
    """A class of parameters, numbers on a circle: what is added to them goes round."""

    class Angle(L.nn.Parameter):
        def add_(self, other, alpha=1):
            moved = (self.detach() + alpha * other).remainder(1.0)
            self.data.copy_(moved)
            return self

    return Angle(L.tensor([0.125, 0.875], dtype=L.float64))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"momentum": 0.75},
        {"momentum": 0.75, "nesterov": True, "weight_decay": 0.125},
        {"momentum": 0.5, "dampening": 0.25, "maximize": True},
    ],
)
def test_sgd_moves_parameters_by_their_own_add(options):
    def run(L):
        turning, plain = angle(L), L.nn.Parameter(L.tensor([0.125, 0.875], dtype=L.float64))
        without = angle(L)
        optimizer = L.optim.SGD([{"params": [turning, without]}, {"params": [plain], "lr": 0.125}], lr=0.75, **options)

        def closure():
            optimizer.zero_grad()
            loss = ((turning - 0.5) * plain).sum()  # no number is rounded
            loss.backward()
            return loss

        losses = [optimizer.step(closure) for _ in range(4)]
        buffers = [optimizer.state[p].get("momentum_buffer") for p in (turning, plain)]
        assert without.grad is None
        return losses, turning.detach().clone(), plain, without.detach().clone(), turning.grad, buffers

    same(run)
