"""state_dict and load_state_dict beside torch's: names, hooks, strictness, messages, extra state."""

import collections

import pytest

import adjoint
from tests.compare import programs, raised

from .test_module import told, tree

program, test_program = programs()


def attempt(call):
    """What a call gives, or all that it says when it fails."""
    try:
        return call()
    except Exception as error:
        return told(error)


# ---- Out


@program
def names_and_values(L):
    state = tree(L).state_dict()
    return type(state).__name__, list(state.items())[-1:], list(state), dict(state._metadata)


@program
def detached_or_not(L):
    net = tree(L)
    plain, kept = net.state_dict(), net.state_dict(keep_vars=True)
    return (
        plain["scale"].requires_grad,
        type(plain["scale"]).__name__,
        kept["scale"] is net.scale,
        plain["scale"].data_ptr() == net.scale.data_ptr(),
        plain["count"] is net.count,
        kept["count"] is net.count,
    )


@program
def prefix_and_destination(L):
    net = L.nn.Linear(1, 1)
    target = collections.OrderedDict(old=1)
    result = net.state_dict(destination=target, prefix="net.")
    return result is target, list(target), hasattr(target, "_metadata"), list(net.state_dict(prefix="a.")._metadata)


@program
def positional_arguments(L):
    net = L.nn.Linear(1, 1)
    target = collections.OrderedDict()
    return list(net.state_dict(target)), list(net.state_dict(collections.OrderedDict(), "x.", True))


@program
def plain_dict_as_destination(L):
    return list(L.nn.Linear(1, 1).state_dict(destination={}, prefix="p."))


@program
def versions(L):
    class Versioned(L.nn.Module):
        _version = 7

    return dict(L.nn.Sequential(Versioned(), L.nn.Linear(1, 1)).state_dict()._metadata)


@program
def empty_module(L):
    return L.nn.Module().state_dict(), L.nn.Module().load_state_dict({})


@program
def own_saving(L):
    class Net(L.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = L.nn.Linear(1, 1)

        def _save_to_state_dict(self, destination, prefix, keep_vars):
            super()._save_to_state_dict(destination, prefix, keep_vars)
            destination[prefix + "more"] = L.ones(1)

        def _load_from_state_dict(self, state_dict, prefix, *args):
            self.more = state_dict.pop(prefix + "more", None)
            super()._load_from_state_dict(state_dict, prefix, *args)

    net = L.nn.Sequential(Net())
    state = net.state_dict()
    other = L.nn.Sequential(Net())
    return list(state), attempt(lambda: other.load_state_dict(state)), other[0].more


@program
def overridden_state_dict(L):
    class Net(L.nn.Module):
        def state_dict(self, *args, **kwargs):
            state = super().state_dict(*args, **kwargs)
            state[kwargs.get("prefix", "") + "seen"] = L.ones(1)
            return state

    return list(L.nn.Sequential(Net(), L.nn.Linear(1, 1)).state_dict())


# ---- In


@program
def round_trip(L):
    first, second = tree(L), tree(L)
    with L.no_grad():
        first.scale.fill_(5.0)
        first.count.fill_(8)
    weight = second.first.weight
    result = second.load_state_dict(first.state_dict())
    return result, repr(result), second.scale, second.count, second.first.weight is weight, weight.requires_grad


@program
def missing_and_unexpected(L):
    net = tree(L)
    state = net.state_dict()
    del state["inner.0.weight"]
    del state["scale"]
    state["fresh"] = L.ones(1)
    state["inner.0.extra"] = L.ones(1)
    state["inner.7.weight"] = L.ones(1)
    state["hidden"] = L.ones(1)
    return attempt(lambda: net.load_state_dict(state)), attempt(lambda: net.load_state_dict(state, strict=False))


@program
def wrong_shapes(L):
    net = tree(L)
    state = net.state_dict()
    state["first.weight"] = L.ones(3, 3)
    state["scale"] = L.ones(())
    state["count"] = L.ones(2)
    del state["inner.0.bias"]
    return attempt(lambda: net.load_state_dict(state)), attempt(lambda: net.load_state_dict(state, False))


@program
def wrong_values(L):
    net = tree(L)
    state = net.state_dict()
    state["scale"] = 3
    state["first.bias"] = [1.0, 2.0]
    return attempt(lambda: net.load_state_dict(state))


@program
def wrong_argument(L):
    return [attempt(lambda bad=bad: L.nn.Linear(1, 1).load_state_dict(bad)) for bad in (3, None, [("weight", 1)])]


@program
def the_others_are_loaded_before_the_error(L):
    net = tree(L)
    state = {"scale": L.tensor([9.0]), "first.weight": L.ones(3)}
    raised(lambda: net.load_state_dict(state))
    return net.scale


@program
def other_types_are_cast(L):
    net = L.nn.Linear(1, 1).double()
    net.load_state_dict({"weight": L.tensor([[1.5]]), "bias": L.tensor([2])})
    return net.weight, net.bias


@program
def scalars_of_old(L):
    module = L.nn.Module()
    module.register_buffer("count", L.tensor(3.0))
    return module.load_state_dict({"count": L.tensor([4.0])}), module.count


@program
def assigning(L):
    net = tree(L)
    net.first.weight.requires_grad_(False)
    state = {k: v.double() for k, v in net.state_dict().items()}
    result = net.load_state_dict(state, assign=True)
    return (
        result,
        net.first.weight.dtype is L.float64,
        net.first.weight.requires_grad,
        net.scale.requires_grad,
        type(net.scale).__name__,
        net.count.dtype is L.float64,
        net.scale.data_ptr() == state["scale"].data_ptr(),
    )


@program
def assigning_parameters(L):
    net = L.nn.Linear(1, 1)
    new = L.nn.Parameter(L.ones(1, 1), requires_grad=False)
    net.load_state_dict({"weight": new, "bias": L.nn.Parameter(L.ones(1))}, assign=True)
    return net.weight is new, net.weight.requires_grad, net.bias.requires_grad


@program
def plain_mappings(L):
    class Mapping(collections.abc.Mapping):
        def __init__(self, values):
            self.values_ = values

        def __getitem__(self, key):
            return self.values_[key]

        def __iter__(self):
            return iter(self.values_)

        def __len__(self):
            return len(self.values_)

    net = L.nn.Linear(1, 1)
    return net.load_state_dict(Mapping({"weight": L.ones(1, 1), "bias": L.zeros(1)})), net.weight


@program
def the_dict_is_left_alone(L):
    net = tree(L)
    state = net.state_dict()
    before = list(state)
    net.load_state_dict(state)
    return list(state) == before


@program
def loading_keeps_the_graph_out(L):
    net = L.nn.Linear(1, 1)
    source = L.ones(1, 1, requires_grad=True) * 2
    net.load_state_dict({"weight": source, "bias": L.zeros(1)})
    return net.weight.is_leaf, net.weight


@program
def none_in_places(L):
    net = L.nn.Linear(1, 1, bias=False)
    return attempt(lambda: net.load_state_dict({"weight": L.ones(1, 1), "bias": L.ones(1)}))


@program
def message_of_nested_modules(L):
    class Outer(L.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = L.nn.Sequential(L.nn.Linear(1, 2), L.nn.Linear(2, 1))

    return attempt(lambda: Outer().load_state_dict({"a.0.weight": L.ones(1), "b": L.ones(1), "a.c": L.ones(1)}))


# ---- Extra state


def with_extra(L, value):
    class Net(L.nn.Module):
        def __init__(self):
            super().__init__()
            self.value = value

        def get_extra_state(self):
            return {"value": self.value}

        def set_extra_state(self, state):
            self.value = state["value"]

    return Net()


@program
def extra_state(L):
    net, other = L.nn.Sequential(with_extra(L, 3)), L.nn.Sequential(with_extra(L, 4))
    state = net.state_dict()
    result = other.load_state_dict(state)
    return dict(state), result, other[0].value


@program
def extra_state_missing(L):
    net = L.nn.Sequential(with_extra(L, 3), L.nn.Linear(1, 1))
    state = net.state_dict()
    del state["0._extra_state"]
    state["1._extra_state"] = 5
    return attempt(lambda: net.load_state_dict(state)), attempt(lambda: net.load_state_dict(state, strict=False))


@program
def extra_state_one_sided(L):
    class Only(L.nn.Module):
        def get_extra_state(self):
            return 1

    return dict(Only().state_dict()), attempt(lambda: Only().load_state_dict({"_extra_state": 1}))


@program
def extra_state_of_the_base(L):
    return [raised(L.nn.Module().get_extra_state), raised(lambda: L.nn.Module().set_extra_state(1))]


# ---- Hooks


@program
def post_hooks_of_saving(L):
    net = L.nn.Sequential(L.nn.Linear(1, 1))
    seen = []

    def inner(module, state, prefix, metadata):
        seen.append((type(module).__name__, list(state), prefix, metadata))
        state[prefix + "more"] = L.ones(1)

    handle = net[0].register_state_dict_post_hook(inner)
    first = list(net.state_dict())
    handle.remove()
    return first, list(net.state_dict()), seen


@program
def post_hook_must_return_none(L):
    net = L.nn.Linear(1, 1)
    net.register_state_dict_post_hook(lambda module, state, prefix, metadata: state)
    net.state_dict()


@program
def private_post_hook_may_replace(L):
    net = L.nn.Linear(1, 1)
    net._register_state_dict_hook(lambda module, state, prefix, metadata: {"replaced": 1})
    return net.state_dict()


@program
def private_after_public(L):
    net = L.nn.Linear(1, 1)

    def hook(module, state, prefix, metadata):
        return None

    net.register_state_dict_post_hook(hook)
    net._register_state_dict_hook(hook)


@program
def pre_hooks_of_saving(L):
    net = L.nn.Sequential(L.nn.Linear(1, 1))
    seen = []
    handle = net[0].register_state_dict_pre_hook(lambda module, prefix, keep: seen.append((prefix, keep)))
    net.state_dict(prefix="net.", keep_vars=True)
    handle.remove()
    net.state_dict()
    return seen


@program
def pre_hooks_of_loading(L):
    net = L.nn.Sequential(L.nn.Linear(1, 1))
    seen = []

    def public(module, state, prefix, metadata, strict, missing, unexpected, errors):
        seen.append((type(module).__name__, sorted(state), prefix, dict(metadata), strict, missing, unexpected, errors))
        state[prefix + "bias"] = L.tensor([7.0])

    handle = net[0].register_load_state_dict_pre_hook(public)
    net[0]._register_load_state_dict_pre_hook(
        lambda state, prefix, *rest: seen.append((sorted(state), prefix, rest[1]))
    )
    result = net.load_state_dict({"0.weight": L.ones(1, 1)})
    handle.remove()
    return result, seen, net[0].bias, attempt(lambda: net.load_state_dict({"0.weight": L.ones(1, 1)}))


@program
def pre_hook_renames(L):
    net = L.nn.Linear(1, 1)

    def rename(state, prefix, *rest):
        state[prefix + "weight"] = state.pop(prefix + "old_weight")

    net._register_load_state_dict_pre_hook(rename)
    given = {"old_weight": L.ones(1, 1), "bias": L.ones(1)}
    return net.load_state_dict(given), sorted(given)


@program
def post_hooks_of_loading(L):
    net = L.nn.Sequential(L.nn.Linear(1, 1))
    seen = []

    def hook(module, keys):
        seen.append((type(module).__name__, list(keys.missing_keys), list(keys.unexpected_keys)))
        keys.missing_keys.clear()

    handle = net[0].register_load_state_dict_post_hook(hook)
    result = net.load_state_dict({"0.weight": L.ones(1, 1)})
    handle.remove()
    return result, seen, attempt(lambda: net.load_state_dict({"0.weight": L.ones(1, 1)}, strict=False))


@program
def post_hook_of_loading_returns(L):
    net = L.nn.Linear(1, 1)
    net.register_load_state_dict_post_hook(lambda module, keys: keys)
    net.load_state_dict(net.state_dict())


@program
def post_hook_adds_keys(L):
    net = L.nn.Linear(1, 1)
    net.register_load_state_dict_post_hook(lambda module, keys: keys.unexpected_keys.append("what"))
    return attempt(lambda: net.load_state_dict(net.state_dict()))


@program
def incompatible_keys(L):
    keys = L.nn.Linear(1, 1).load_state_dict({}, strict=False)
    missing, unexpected = keys
    return repr(keys), str(keys), type(keys).__name__, missing, unexpected, keys._fields, keys == (missing, unexpected)


# ---- the meta device: a shape first, its values later


@program
def a_module_made_on_the_meta_device_is_filled_later(L):
    net = L.nn.Sequential(L.nn.Linear(2, 3, device="meta"), L.nn.LayerNorm(3, device="meta"))
    before = [(str(p.device), tuple(p.shape), p.requires_grad, type(p).__name__) for p in net.parameters()]
    types = [str(p.dtype) for p in net.double().parameters()]
    L.manual_seed(0)
    net.float().to_empty(device="cpu").apply(lambda m: m.reset_parameters() if hasattr(m, "reset_parameters") else None)
    return before, types, list(net.parameters())


@program
def a_module_made_on_the_meta_device_takes_the_tensors_of_a_state(L):
    net = L.nn.Linear(2, 1, device="meta")
    result = net.load_state_dict({"weight": L.ones(1, 2), "bias": L.zeros(1)}, assign=True)
    return str(result), net(L.ones(1, 2)), list(net.state_dict().values())


@program
def nothing_is_copied_from_the_meta_device(L):
    x = L.empty(2, device="meta")
    net = L.nn.Linear(1, 1, device="meta")
    moves = [lambda: x.cpu(), lambda: x.to("cpu"), lambda: x.to(L.ones(1)), lambda: net.cpu(), lambda: net.to("cpu")]
    moves += [lambda: setattr(x, "data", L.ones(2)), lambda: setattr(L.ones(2), "data", x)]
    return [raised(move) for move in moves], x.to("meta") is x, str(x.to(L.float64).device)


def test_the_keys_of_a_state_are_names():
    with pytest.raises(
        TypeError, match="Expected the keys of state_dict to be names of parameters, got 1, <class 'int'>"
    ):
        adjoint.nn.Linear(1, 1).load_state_dict({1: adjoint.ones(1)})
