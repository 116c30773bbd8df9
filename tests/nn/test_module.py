"""Module beside torch's: attributes and registering, iterating, paths, moving, copying, printing."""

import collections
import copy
import io
import pickle

import torch

import adjoint
from tests.compare import programs, raised

program, test_program = programs()


def tree(L):
    """Two levels with a shared module, a shared parameter, buffers of both kinds and a None of each."""

    class Net(L.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = L.nn.Linear(2, 2)
            self.inner = L.nn.Sequential(L.nn.Linear(2, 1), L.nn.ReLU())
            self.again = self.first
            self.scale = L.nn.Parameter(L.tensor([2.0]))
            self.shared = self.scale
            self.nothing = None
            self.register_buffer("count", L.tensor([3]))
            self.register_buffer("hidden", L.tensor([0.5]), persistent=False)
            self.register_buffer("empty", None)
            self.register_parameter("absent", None)
            self.register_module("gone", None)

        def forward(self, x):
            return self.inner(self.again(self.first(x))) * self.scale

    L.manual_seed(0)
    return Net()


def tables(module):
    """Where each attribute is kept."""
    kept = {table: sorted(getattr(module, f"_{table}")) for table in ("parameters", "buffers", "modules")}
    kept["hidden"] = sorted(module._non_persistent_buffers_set)
    kept["own"] = sorted(name for name in vars(module) if not name.startswith("_") and name != "training")
    return kept


def told(error):
    """What an exception says, with torch's name for this library's own, and without the advice that is ours alone."""
    text = str(error).replace("'adjoint.", "'torch.").replace("adjoint.nn", "torch.nn")
    return type(error).__name__, text.partition("; ")[0].partition("\n\tRenamed?")[0]


# ---- Attributes


@program
def kinds_replace_each_other(L):
    seen = []
    values = {
        "parameter": lambda: L.nn.Parameter(L.zeros(1)),
        "module": lambda: L.nn.Identity(),
        "buffer": lambda: L.nn.Buffer(L.zeros(1)),
        "hidden buffer": lambda: L.nn.Buffer(L.zeros(1), persistent=False),
        "tensor": lambda: L.zeros(1),
        "none": lambda: None,
        "number": lambda: 3,
        "list": lambda: [1],
    }
    for before, old in values.items():
        for after, new in values.items():
            module = L.nn.Module()
            module.a = old()
            try:
                module.a = new()
                seen.append((before, after, tables(module), type(module.a).__name__))
            except Exception as error:
                seen.append((before, after, *told(error)))
    return seen


@program
def deleting(L):
    net = tree(L)
    for name in ("first", "scale", "count", "hidden", "nothing", "absent", "gone", "empty"):
        delattr(net, name)
    return tables(net), [raised(lambda name=name: getattr(net, name)) for name in ("first", "scale", "count")]


@program
def deleting_what_is_not_there(L):
    del L.nn.Module().missing


@program
def reading_what_is_not_there(L):
    L.nn.Linear(1, 1).weigth  # noqa: B018 - the error is the test


@program
def none_keeps_a_place(L):
    net = tree(L)
    net.scale = None
    net.first = None
    net.count = None
    return tables(net), list(net.state_dict()), net.scale, net.first, net.count


@program
def order_of_names(L):
    net = tree(L)
    net.scale = L.nn.Parameter(L.ones(1))
    net.inner = L.nn.Identity()
    return list(net._parameters), list(net._modules)


@program
def before_init_parameter(L):
    class Bad(L.nn.Module):
        def __init__(self):
            self.weight = L.nn.Parameter(L.zeros(1))

    Bad()


@program
def before_init_module(L):
    class Bad(L.nn.Module):
        def __init__(self):
            self.layer = L.nn.Identity()

    Bad()


@program
def before_init_buffer(L):
    class Bad(L.nn.Module):
        def __init__(self):
            self.layer = L.nn.Buffer(L.zeros(1))

    Bad()


@program
def before_init_plain(L):
    class Fine(L.nn.Module):
        def __init__(self):
            self.number = 3
            self.values = L.zeros(1)
            super().__init__()

    return Fine().number, Fine().values, raised(lambda: object.__new__(Fine).missing)


@program
def before_init_registering(L):
    class Bad(L.nn.Module):
        def __init__(self, what):
            {
                "buffer": lambda: self.register_buffer("a", None),
                "parameter": lambda: self.register_parameter("a", None),
                "module": lambda: self.add_module("a", L.nn.Identity()),
            }[what]()

    return [raised(lambda what=what: Bad(what)) for what in ("buffer", "parameter", "module")]


@program
def registering_wrongly(L):
    net = tree(L)
    new = L.nn.Parameter(L.zeros(1))
    calls = [
        lambda: net.register_parameter(3, new),
        lambda: net.register_parameter("a.b", new),
        lambda: net.register_parameter("", new),
        lambda: net.register_parameter("forward", new),
        lambda: net.register_parameter("first", new),
        lambda: net.register_parameter("a", L.zeros(1)),
        lambda: net.register_parameter("a", 3),
        lambda: net.register_parameter("a", new * 2),
        lambda: net.register_buffer(3, None),
        lambda: net.register_buffer("a.b", None),
        lambda: net.register_buffer("", None),
        lambda: net.register_buffer("scale", None),
        lambda: net.register_buffer("a", 3),
        lambda: net.register_buffer("a", L.nn.Identity()),
        lambda: net.add_module(3, None),
        lambda: net.add_module("a.b", None),
        lambda: net.add_module("", None),
        lambda: net.add_module("scale", None),
        lambda: net.add_module("a", 3),
        lambda: net.add_module("a", L.nn.Identity),
    ]
    found = []
    for call in calls:
        try:
            found.append(call())
        except Exception as error:
            found.append(told(error))
    return found


@program
def assigning_wrongly(L):
    net = tree(L)
    found = []
    for name, value in (("scale", L.zeros(1)), ("scale", 3), ("first", L.zeros(1)), ("first", 3), ("count", 3),
                        ("count", L.nn.Identity), ("count", "text"), ("first", "text"), ("scale", [1])):  # fmt: skip
        try:
            setattr(net, name, value)
            found.append("fine")
        except Exception as error:
            found.append(told(error))
    return found


@program
def non_leaf_parameter(L):
    module = L.nn.Module()
    weight = L.nn.Parameter(L.ones(2))
    module.register_parameter("a", L.nn.Parameter(weight * 2))
    return module.a.is_leaf


@program
def registering_again(L):
    net = tree(L)
    net.register_buffer("count", L.tensor([4]), persistent=False)
    net.register_parameter("scale", None)
    net.add_module("first", L.nn.Identity())
    return tables(net), list(net.state_dict())


@program
def plain_values_do_not_move(L):
    module = L.nn.Module()
    module.values = L.zeros(1)
    module.double()
    return module.values.dtype is L.float32, list(module.state_dict())


@program
def buffers_stay_buffers(L):
    module = L.nn.Module()
    module.a = L.nn.Buffer(L.zeros(2))
    module.b = L.nn.Buffer(L.zeros(2), persistent=False)
    module.a = L.ones(2)
    kinds = type(module.a).__name__, isinstance(module.b, L.nn.Buffer), isinstance(L.zeros(1), L.nn.Buffer)
    return kinds, list(module.state_dict()), [name for name, _ in module.named_buffers()], repr(module.b)


@program
def properties_and_methods_still_work(L):
    class Net(L.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = L.nn.Linear(1, 1)

        @property
        def size(self):
            return self.layer.weight.shape

        @property
        def broken(self):
            return self.missing

    net = Net()
    return net.size, raised(lambda: net.broken), raised(lambda: setattr(net, "size", 3))


@program
def own_getattr(L):
    class Net(L.nn.Module):
        def __getattr__(self, name):
            try:
                return super().__getattr__(name)
            except AttributeError:
                return f"no {name}"

    net = Net()
    net.layer = L.nn.Identity()
    return type(net.layer).__name__, net.anything


@program
def names_for_dir(L):
    net = tree(L)
    net.add_module("0", L.nn.Identity())
    names = dir(net)
    return [n in names for n in ("first", "scale", "count", "hidden", "forward", "nothing", "0", "absent")]


@program
def constructor_arguments(L):
    class Net(L.nn.Module):
        def __init__(self, x):
            super().__init__(x)

    class Cooperative(L.nn.Module):
        call_super_init = True

    return [
        raised(lambda: L.nn.Module(3)),
        raised(lambda: L.nn.Module(a=3)),
        raised(lambda: Net(3)),
        raised(lambda: Cooperative(3)),
    ]


@program
def several_bases(L):
    class Named:
        def __init__(self, *args, name="none", **kwargs):
            super().__init__(*args, **kwargs)
            self.name = name

    class Net(L.nn.Module, Named):
        call_super_init = True

    class Other(Named, L.nn.Module):
        pass

    return Net(name="a").name, Other(name="b").name, Other().training


@program
def no_forward(L):
    L.nn.Module()(3)


@program
def forward_of_an_instance(L):
    layer = L.nn.Identity()
    layer.forward = lambda x: x + 1
    return layer(L.zeros(1)), tables(layer)


@program
def keywords_pass(L):
    class Net(L.nn.Module):
        def forward(self, x, *rest, scale=1, **more):
            return x * scale, rest, sorted(more)

    return Net()(L.ones(1), 2, 3, scale=4, other=5), Net()(x=L.ones(1))


# ---- Iterating


@program
def iterators(L):
    net = tree(L)
    return {
        "parameters": [name for name, _ in net.named_parameters()],
        "all": [name for name, _ in net.named_parameters(remove_duplicate=False)],
        "prefix": [name for name, _ in net.named_parameters("net")],
        "flat": [name for name, _ in net.named_parameters(recurse=False)],
        "buffers": [name for name, _ in net.named_buffers()],
        "prefixed": [name for name, _ in net.named_buffers("net.", False)],
        "children": [name for name, _ in net.named_children()],
        "modules": [(name, type(m).__name__) for name, m in net.named_modules()],
        "doubled": [name for name, _ in net.named_modules(remove_duplicate=False)],
        "named": [name for name, _ in net.named_modules(prefix="net")],
        "counts": [len(list(f())) for f in (net.parameters, net.buffers, net.children, net.modules)],
        "recurse": [len(list(f(recurse=False))) for f in (net.parameters, net.buffers)],
    }


@program
def memo_of_named_modules(L):
    net = tree(L)
    memo = {net.first}
    return [name for name, _ in net.named_modules(memo)], len(memo)


@program
def iterators_are_lazy(L):
    net = tree(L)
    return [type(f()).__name__ for f in (net.parameters, net.named_modules, net.children, net.named_buffers)]


@program
def shared_parameter_in_two_modules(L):
    first, second = L.nn.Linear(2, 2), L.nn.Linear(2, 2)
    second.weight = first.weight
    net = L.nn.Sequential(first, second)
    return [name for name, _ in net.named_parameters()], list(net.state_dict())


# ---- Paths


@program
def paths(L):
    net = tree(L)
    found = [
        type(net.get_submodule("inner.0")).__name__,
        net.get_submodule("") is net,
        net.get_parameter("inner.0.weight").shape,
        net.get_parameter("scale"),
        net.get_buffer("count"),
    ]
    calls = [
        lambda: net.get_submodule("inner.7"),
        lambda: net.get_submodule("scale"),
        lambda: net.get_submodule("inner.0.weight"),
        lambda: net.get_parameter("count"),
        lambda: net.get_parameter("inner.0.what"),
        lambda: net.get_parameter("first"),
        lambda: net.get_buffer("scale"),
        lambda: net.get_buffer("what"),
        lambda: net.get_buffer("training"),
    ]
    for call in calls:
        try:
            found.append(call())
        except Exception as error:
            found.append(told(error))
    return found


@program
def setting_by_path(L):
    net = tree(L)
    net.set_submodule("inner.0", L.nn.Identity())
    net.set_submodule("fresh", L.nn.Tanh())
    found = [repr(net)]
    calls = [
        lambda: net.set_submodule("", L.nn.Identity()),
        lambda: net.set_submodule("inner.9", L.nn.Identity(), strict=True),
        lambda: net.set_submodule("inner.8", L.nn.Identity()),
        lambda: net.set_submodule("scale", L.nn.Identity()),
        lambda: net.set_submodule("what.0", L.nn.Identity()),
        lambda: net.set_submodule("first", 3),
        lambda: net.set_submodule("scale.a", L.nn.Identity()),
    ]
    for call in calls:
        try:
            found.append(call())
        except Exception as error:
            found.append(told(error))
    return found, list(net.inner._modules)


@program
def extra_names(L):
    class Net(L.nn.Module):
        @property
        def derived(self):
            return L.nn.Identity()

    return type(Net().get_submodule("derived")).__name__


# ---- Changing all of it


@program
def modes(L):
    net = tree(L)
    seen = [net.training, net.eval() is net, net.training, net.inner[1].training, net.train().inner[0].training]
    return seen, raised(lambda: net.train("yes")), raised(lambda: net.train(1))


@program
def gradients_of_all(L):
    net = tree(L)
    x = L.ones(1, 2)
    net(x).sum().backward()
    seen = [net.scale.grad, net.first.bias.grad]
    grad = net.scale.grad
    net.zero_grad(set_to_none=False)
    seen += [net.scale.grad is grad, net.scale.grad]
    net.zero_grad()
    seen += [net.scale.grad]
    net.requires_grad_(False)
    seen += [[p.requires_grad for p in net.parameters()], net(x).requires_grad, net.requires_grad_() is net]
    return seen


@program
def zero_grad_of_a_grad_with_history(L):
    layer = L.nn.Linear(1, 1, bias=False)
    (layer.weight**2).sum().backward(create_graph=True)
    layer.zero_grad(set_to_none=False)
    return layer.weight.grad


@program
def applying(L):
    seen = []
    net = tree(L)
    result = net.apply(lambda module: seen.append(type(module).__name__))
    return seen, result is net


@program
def casting(L):
    net = tree(L)
    weight, count, hidden = net.first.weight, net.count, net.hidden
    net(L.ones(1, 2)).sum().backward()
    found = []
    for change in (
        lambda: net.double(),
        lambda: net.half(),
        lambda: net.bfloat16(),
        lambda: net.float(),
        lambda: net.to(L.float64),
        lambda: net.to("cpu", L.float32),
        lambda: net.to(L.zeros(1, dtype=L.float64)),
        lambda: net.to(dtype=L.float32, non_blocking=True),
        lambda: net.to(device="cpu"),
        lambda: net.cpu(),
        lambda: net.type(L.float64),
    ):
        found.append(change() is net)
        kinds = net.first.weight.dtype, net.count.dtype, net.hidden.dtype, net.first.weight.grad.dtype
        found.append([str(kind) for kind in kinds])
        found.append((net.first.weight is weight, net.count is count, net.hidden is hidden))
    return found


@program
def casting_wrongly(L):
    net = tree(L)
    return [
        raised(lambda: net.to(L.int64)),
        raised(lambda: net.to(what=3)),
    ]


@program
def casting_to_complex(L):
    return L.nn.Linear(1, 1).to(L.complex64).weight.dtype.is_complex


@program
def channels_last(L):
    module = L.nn.Module()
    module.a, module.b = L.nn.Parameter(L.zeros(2, 3, 4, 5)), L.nn.Parameter(L.zeros(2, 3))
    module.to(memory_format=L.channels_last)
    return module.a.stride(), module.b.stride()


@program
def empty_copies(L):
    net = tree(L)
    same = net.to_empty(device="cpu")
    return same is net, [(name, p.shape, p.requires_grad) for name, p in net.named_parameters()]


# ---- Copying


@program
def deep_copies(L):
    net = tree(L)
    net(L.ones(1, 2)).sum().backward()
    other = copy.deepcopy(net)
    with L.no_grad():
        other.scale.fill_(9.0)
    return (
        net.scale,
        other.scale,
        other.shared is other.scale,
        other.again is other.first,
        other.scale.grad is None,
        list(other.state_dict()),
        other(L.ones(1, 2)).shape,
        tables(other) == tables(net),
    )


@program
def shallow_copies(L):
    net = tree(L)
    other = copy.copy(net)
    other.fresh = L.nn.Identity()
    return "fresh" in net._modules, other.scale is net.scale


@program
def copies_of_parameters(L):
    parameter = L.nn.Parameter(L.ones(2), requires_grad=False)
    parameter.tag = "mine"
    other = copy.deepcopy(parameter)
    return type(other).__name__, other.requires_grad, hasattr(other, "tag"), repr(other)


def test_pickle():
    net = adjoint.nn.Sequential(adjoint.nn.Linear(2, 1), adjoint.nn.Dropout(0.3)).eval()
    net[0].weight.requires_grad_(False)
    net[0].register_buffer("hidden", adjoint.ones(1), persistent=False)
    other = pickle.loads(pickle.dumps(net))
    x = adjoint.ones(1, 2)
    assert other(x).tolist() == net(x).tolist()
    assert [p.requires_grad for p in other.parameters()] == [False, True]
    assert repr(other) == repr(net)
    assert not other.training
    assert other[0].hidden.tolist() == [1.0]
    assert list(other.state_dict()) == ["0.weight", "0.bias"]


def test_parameter_pickles_with_attributes():
    parameter = adjoint.nn.Parameter(adjoint.ones(2))
    parameter.tag = "mine"
    stream = io.BytesIO()
    pickle.dump(parameter, stream)
    other = pickle.loads(stream.getvalue())
    assert isinstance(other, adjoint.nn.Parameter)
    assert (other.tag, other.tolist(), other.requires_grad) == ("mine", [1.0, 1.0], True)


def test_state_of_old_modules():
    """What a pickle of an earlier version may lack is filled in."""
    module = adjoint.nn.Linear(1, 1)
    state = {key: value for key, value in vars(module).items() if "hook" not in key}
    other = object.__new__(adjoint.nn.Linear)
    other.__setstate__(state)
    assert other(adjoint.ones(1)).tolist() == module(adjoint.ones(1)).tolist()
    assert set(vars(other)) == set(vars(module))


def test_public_methods():
    names = {name for name in dir(torch.nn.Module) if not name.startswith("_")}
    missing = names - set(dir(adjoint.nn.Module))
    assert missing <= {"compile", "ipu", "xpu", "mtia", "T_destination"}


# ---- Parameters


@program
def parameters_from_anything(L):
    base = L.ones(2)
    plain = L.nn.Parameter(base)
    with L.no_grad():
        plain.fill_(3.0)
    return (
        base,
        plain.requires_grad,
        L.nn.Parameter(base, requires_grad=False).requires_grad,
        L.nn.Parameter(base, False).requires_grad,
        L.nn.Parameter().shape,
        isinstance(plain, L.Tensor),
        isinstance(base, L.nn.Parameter),
        type(plain * 2).__name__,
        type(plain.detach()).__name__,
        type(plain.data).__name__,
        type(plain.clone()).__name__,
        L.nn.Parameter(plain * 2).is_leaf,
        raised(lambda: L.nn.Parameter(L.ones(2, dtype=L.int64))),
        L.nn.Parameter(L.ones(2, dtype=L.int64), requires_grad=False).dtype.is_floating_point,
        repr(plain),
        str(L.nn.Parameter(L.zeros(1), requires_grad=False)),
    )


@program
def parameter_of_a_list(L):
    L.nn.Parameter([1.0])


# ---- Printing


@program
def printing(L):
    class Odd(L.nn.Module):
        def __init__(self, text, child=None):
            super().__init__()
            self.text = text
            if child is not None:
                self.child = child

        def extra_repr(self):
            return self.text

    net = tree(L)
    texts = ["", "a=1", "a=1\nb=2"]
    return [
        repr(net),
        str(L.nn.Module()),
        *(repr(Odd(text)) for text in texts),
        *(repr(Odd(text, Odd("x", Odd("y\nz")))) for text in texts),
        repr(L.nn.Sequential(collections.OrderedDict(a=Odd("1"), b=L.nn.Sequential()))),
    ]


@program
def printing_by_name(L):
    class Net(L.nn.Module):
        def _get_name(self):
            return "Renamed"

    return repr(Net()), repr(L.nn.Sequential(Net()))
