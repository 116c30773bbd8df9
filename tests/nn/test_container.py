"""Sequential, ModuleList, ModuleDict, ParameterList and ParameterDict beside torch's."""

import collections
import copy
import inspect

import pytest
import torch

import adjoint
from tests.compare import programs

from .compare import check, check_signature, floats
from .test_module import told

program, test_program = programs()
NAMES = ["Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"]


def attempt(call):
    try:
        result = call()
    except Exception as error:
        kind, text = told(error)
        return kind, text.split(";")[0].split(". ")[0]  # what follows is this library's own
    return repr(result) if "adjoint" in repr(type(result)) or "torch" in repr(type(result)) else result


def attempts(*calls):
    return [attempt(call) for call in calls]


def three(L, kind):
    return getattr(L.nn, kind)(*three_modules(L)) if kind == "Sequential" else getattr(L.nn, kind)(three_modules(L))


def three_modules(L):
    return [L.nn.Linear(1, 2), L.nn.ReLU(), L.nn.Linear(2, 1)]


def names(container):
    return [(name, type(module).__name__) for name, module in container._modules.items()]


@pytest.mark.parametrize("name", NAMES)
def test_signatures(name):
    check_signature(name)


@pytest.mark.parametrize("name", NAMES)
def test_methods(name):
    def methods(library):
        own = vars(getattr(library.nn, name))
        public = [key for key in dir(getattr(library.nn, name)) if not key.startswith("_")]
        special = [key for key in own if key.startswith("__") and callable(own[key]) and key != "__annotate__"]
        return set(public), set(special)

    (ours, _), (theirs, special) = methods(adjoint), methods(torch)
    assert theirs - ours <= {"compile", "ipu", "xpu", "mtia", "T_destination"}
    assert all(hasattr(getattr(adjoint.nn, name), key) for key in special)


@pytest.mark.parametrize("name", ["ModuleList", "Sequential", "ModuleDict", "ParameterDict", "ParameterList"])
def test_argument_names(name):
    for method in ("append", "extend", "insert", "pop", "update", "setdefault", "get", "fromkeys"):
        theirs = getattr(getattr(torch.nn, name), method, None)
        if theirs is not None:
            ours = getattr(getattr(adjoint.nn, name), method)
            described = [
                [(p.name, p.default) for p in inspect.signature(function).parameters.values()]
                for function in (ours, theirs)
            ]
            assert described[0] == described[1], method


def test_sequential_computes():
    check(lambda L: L.nn.Sequential(L.nn.Linear(3, 4), L.nn.Tanh(), L.nn.Linear(4, 2)), floats(5, 3))


# ---- Sequential and ModuleList


def indexed(test):
    """Runs a program for Sequential and for ModuleList."""
    for kind in ("Sequential", "ModuleList"):

        def run(L, kind=kind):
            return test(L, lambda: three(L, kind))

        run.__name__ = f"{kind}_{test.__name__}"
        program(run)
    return test


@indexed
def places(L, make):
    box = make()
    found = [type(box[i]).__name__ for i in (0, 2, -1, -3)]
    found += attempts(lambda: box[3], lambda: box[-4], lambda: box["0"], lambda: box[1.5], lambda: box[None])
    return found, len(box), [type(m).__name__ for m in box], box[L.tensor(1)] is box[1], bool(box)


@indexed
def slices(L, make):
    box = make()
    cuts = [box[1:], box[:2], box[::2], box[::-1], box[5:], box[-2:]]
    return [(type(cut).__name__, names(cut)) for cut in cuts], cuts[0][0] is box[1]


@indexed
def setting(L, make):
    box = make()
    box[1] = L.nn.Tanh()
    box[-1] = L.nn.Identity()
    return (
        names(box),
        attempts(
            lambda: box.__setitem__(3, L.nn.Tanh()),
            lambda: box.__setitem__(-4, L.nn.Tanh()),
            lambda: box.__setitem__(0, 5),
            lambda: box.__setitem__(0, None),
            lambda: box.__setitem__("x", L.nn.Tanh()),
        ),
        names(box),
    )


@indexed
def deleting(L, make):
    boxes = [make() for _ in range(5)]
    del boxes[0][0]
    del boxes[1][-1]
    del boxes[2][1:]
    del boxes[3][::2]
    found = attempts(lambda: boxes[4].__delitem__(3), lambda: boxes[4].__delitem__(-4))
    return [names(box) for box in boxes], found


@indexed
def growing(L, make):
    box = make()
    same = box.append(L.nn.Tanh()) is box, box.extend([L.nn.GELU(), L.nn.SiLU()]) is box
    box.extend(make())
    return (
        same,
        names(box),
        attempts(
            lambda: box.append(3),
            lambda: box.append(None),
            lambda: box.extend(3),
            lambda: box.extend([3]),
            lambda: box.extend(L.nn.Tanh()),
        ),
        len(box),
    )


@indexed
def inserting(L, make):
    boxes = []
    for index in (0, 1, 3):
        box = make()
        box.insert(index, L.nn.Tanh())
        boxes.append(names(box))
    return boxes


@program
def inserting_from_the_end(L):
    """Of Sequential only: torch's ModuleList takes no negative places."""
    boxes = []
    for index in (-1, -3):
        box = three(L, "Sequential")
        box.insert(index, L.nn.Tanh())
        boxes.append(names(box))
    return boxes, attempts(
        lambda: box.insert(7, L.nn.Tanh()), lambda: box.insert(-9, L.nn.Tanh()), lambda: box.insert(0, 3)
    )


def test_list_inserts_modules_only():
    box = three(adjoint, "ModuleList")
    with pytest.raises(TypeError, match="int is not a Module subclass"):
        box.insert(0, 3)
    box.insert(-1, adjoint.nn.Tanh())
    assert [name for _, name in names(box)] == ["Linear", "ReLU", "Tanh", "Linear"]


@indexed
def inserting_gives_back(L, make):
    box = make()
    return box.insert(0, L.nn.Tanh()) is box


@indexed
def popping(L, make):
    box = make()
    taken = box.pop(1), box.pop(-1)
    return [type(m).__name__ for m in taken], names(box), attempts(lambda: box.pop(4))


@indexed
def adding(L, make):
    first, second = make(), make()
    total = first + second
    kept = id(first)
    first += second
    return (
        type(total).__name__,
        names(total),
        names(first),
        id(first) == kept,
        total[0] is first[0],
        attempts(lambda: make() + 3, lambda: make().__add__([L.nn.Tanh()]), lambda: make().__iadd__(3)),
    )


@indexed
def printing(L, make):
    return repr(make()), repr(make()[1:1]), repr(make()[::-1])


@indexed
def parameters_and_state(L, make):
    box = make()
    return [name for name, _ in box.named_parameters()], list(box.state_dict()), [n for n in dir(box) if n.isdigit()]


@indexed
def copies(L, make):
    box = make()
    other = copy.deepcopy(box)
    return names(other), other[0] is box[0], type(other).__name__


@indexed
def subclasses(L, make):
    class Mine(type(make())):
        pass

    box = Mine(*make()) if isinstance(make(), L.nn.Sequential) else Mine(make())
    return type(box[1:]).__name__, type(box + box).__name__, repr(box)


@program
def sequential_by_name(L):
    box = L.nn.Sequential(collections.OrderedDict(first=L.nn.Linear(1, 2), second=L.nn.ReLU()))
    found = [names(box), names(box[1:]), box.first is box[0], repr(box)]
    box.append(L.nn.Tanh())
    found.append(names(box))
    found.append(attempt(lambda: names(L.nn.Sequential({"a": L.nn.Tanh()}))))
    return found


@program
def sequential_deleting_by_name(L):
    box = L.nn.Sequential(collections.OrderedDict(first=L.nn.Linear(1, 2), second=L.nn.ReLU(), third=L.nn.Tanh()))
    del box[0]
    return names(box)


@program
def sequential_of_wrong_things(L):
    return attempts(
        lambda: L.nn.Sequential(3),
        lambda: L.nn.Sequential([L.nn.Tanh()]),
        lambda: L.nn.Sequential(L.nn.Tanh),
        lambda: L.nn.Sequential(None),
        lambda: L.nn.Sequential(L.nn.Tanh(), bias=1),
    )


@program
def sequential_times(L):
    box = L.nn.Sequential(L.nn.Linear(1, 1), L.nn.Tanh())
    found = [names(box * 2), names(3 * box), (box * 2)[0] is box[0], (box * 2)[2] is box[0]]
    box *= 2
    found.append(names(box))
    return found + attempts(lambda: box * 0, lambda: box * -1, lambda: box * 1.5, lambda: 1.5 * box, lambda: box * "a")


@program
def sequential_times_in_place_wrongly(L):
    box = L.nn.Sequential(L.nn.Tanh())
    return attempts(lambda: box.__imul__(0), lambda: box.__imul__("a"))


@program
def sequential_empty(L):
    return L.nn.Sequential()(L.ones(1)), repr(L.nn.Sequential()), len(L.nn.Sequential()), list(L.nn.Sequential())


@program
def sequential_reuses_a_module(L):
    layer = L.nn.Linear(1, 1)
    box = L.nn.Sequential(layer, L.nn.Tanh(), layer)
    return [name for name, _ in box.named_parameters()], list(box.state_dict()), len(list(box.children()))


@program
def list_is_not_called(L):
    return attempts(lambda: L.nn.ModuleList([L.nn.Tanh()])(L.ones(1)), lambda: L.nn.ModuleDict()(L.ones(1)))


@program
def list_of_wrong_things(L):
    return attempts(
        lambda: L.nn.ModuleList(3),
        lambda: L.nn.ModuleList([3]),
        lambda: L.nn.ModuleList([None]),
        lambda: L.nn.ModuleList(L.nn.Tanh()),
        lambda: L.nn.ModuleList(L.nn.Tanh() for _ in range(2)),
    )


@program
def list_repr_joins_equals(L):
    box = L.nn.ModuleList([L.nn.Linear(1, 1), L.nn.Linear(1, 1), L.nn.Tanh(), L.nn.Sequential(L.nn.Tanh())])
    box.extend([L.nn.Sequential(L.nn.Tanh()), L.nn.ModuleList()])
    return repr(box), repr(L.nn.Sequential(box)), repr(L.nn.ModuleList()), str(L.nn.ModuleList([L.nn.ModuleList([])]))


# ---- ModuleDict


def words(L):
    return L.nn.ModuleDict({"a": L.nn.Linear(1, 1), "b": L.nn.Tanh()})


@program
def dict_reading(L):
    box = words(L)
    return (
        list(box),
        list(box.keys()),
        [type(v).__name__ for v in box.values()],
        [k for k, _ in box.items()],
        "a" in box,
        "z" in box,
        len(box),
        box["a"] is box.a,
        attempts(lambda: box["z"], lambda: box[0]),
        repr(box),
        list(box.state_dict()),
    )


@program
def dict_changing(L):
    box = words(L)
    box["c"] = L.nn.ReLU()
    del box["a"]
    taken = box.pop("b")
    found = [names(box), type(taken).__name__]
    found += attempts(
        lambda: box.pop("z"),
        lambda: box.__delitem__("z"),
        lambda: box.__setitem__("d", 3),
        lambda: box.__setitem__("a.b", L.nn.Tanh()),
        lambda: box.__setitem__("keys", L.nn.Tanh()),
        lambda: box.__setitem__(3, L.nn.Tanh()),
        lambda: box.__setitem__("e", None),
    )
    box.clear()
    return found, len(box)


@program
def dict_updating(L):
    box = words(L)
    box.update({"b": L.nn.ReLU(), "c": L.nn.GELU()})
    box.update([("d", L.nn.Tanh()), ["e", L.nn.Tanh()]])
    box.update(L.nn.ModuleDict({"f": L.nn.Identity()}))
    box.update(collections.OrderedDict(z=L.nn.Tanh(), y=L.nn.Tanh()))
    return names(box), attempts(
        lambda: box.update(3),
        lambda: box.update([3]),
        lambda: box.update([("a",)]),
        lambda: box.update([("a", L.nn.Tanh(), 3)]),
        lambda: box.update([(3, L.nn.Tanh())]),
        lambda: L.nn.ModuleDict(3),
        lambda: names(L.nn.ModuleDict([("q", L.nn.Tanh())])),
    )


# ---- ParameterList


def numbers(L):
    return L.nn.ParameterList([L.nn.Parameter(L.ones(2)), L.zeros(3), L.nn.Parameter(L.ones(1), requires_grad=False)])


@program
def parameter_list_reading(L):
    box = numbers(L)
    return (
        len(box),
        [type(p).__name__ for p in box],
        [p.requires_grad for p in box],
        [name for name, _ in box.named_parameters()],
        list(box.state_dict()),
        box[-1] is box[2],
        box[L.tensor(1)].shape,
        [(type(cut).__name__, len(cut)) for cut in (box[1:], box[::-1], box[9:])],
        attempts(lambda: box[3], lambda: box[-4], lambda: box["a"], lambda: box(L.ones(1))),
        repr(box),
        repr(L.nn.ParameterList()),
        [n for n in dir(box) if n.isdigit()],
    )


@program
def parameter_list_changing(L):
    box = numbers(L)
    box[0] = L.zeros(4)
    box[1] = L.nn.Parameter(L.zeros(5))
    found = [box.append(L.ones(6)) is box, box.extend([L.ones(7), L.ones(8)]) is box]
    box += [L.ones(9)]
    found += [[tuple(p.shape) for p in box], [p.requires_grad for p in box]]
    return found + attempts(
        lambda: box.extend(3),
        lambda: box.extend(L.ones(2)),
        lambda: box.__iadd__(3),
        lambda: box.__setitem__(99, L.ones(1)),
        lambda: L.nn.ParameterList(3),
        lambda: box.pop(),
        lambda: box.insert(0, L.ones(1)),
        lambda: box.__delitem__(0),
    )


@program
def parameter_list_of_anything(L):
    box = L.nn.ParameterList([L.ones(1), 5, "text", L.nn.Identity(), None])
    return len(box), list(box.state_dict()), repr(box), box[1], box[4]


@program
def parameter_list_moves(L):
    box = numbers(L).double()
    return [p.dtype.is_floating_point and p.element_size() for p in box], len(copy.deepcopy(box))


# ---- ParameterDict


def named(L):
    return L.nn.ParameterDict({"b": L.nn.Parameter(L.ones(2)), "a": L.zeros(3)})


@program
def parameter_dict_reading(L):
    box = named(L)
    return (
        list(box),
        list(box.keys()),
        [tuple(v.shape) for v in box.values()],
        [k for k, _ in box.items()],
        list(reversed(box)),
        len(box),
        "a" in box,
        "z" in box,
        box["a"] is box.a,
        box.get("a") is box.a,
        box.get("z"),
        box.get("z", 3),
        box["a"].requires_grad,
        attempts(lambda: box["z"], lambda: box[3], lambda: box(L.ones(1))),
        list(box.state_dict()),
        repr(box),
        repr(L.nn.ParameterDict()),
    )


@program
def parameter_dict_changing(L):
    box = named(L)
    box["c"] = L.ones(4)
    box["a"] = L.ones(5)
    found = [list(box), [tuple(v.shape) for v in box.values()]]
    del box["b"]
    found += [list(box), box.pop("a").shape, list(box), box.setdefault("q", L.ones(1)).shape, type(box["q"]).__name__]
    found += [box.setdefault("q").shape, list(box)]
    key, value = box.popitem()
    found += [key, value.shape, list(box)]
    found += attempts(
        lambda: box.pop("z"),
        lambda: box.__delitem__("z"),
        lambda: box.__setitem__(3, L.ones(1)),
        lambda: box.__setitem__("keys", L.ones(1)),
    )
    box.clear()
    return found, len(box), list(box.parameters())


@program
def parameter_dict_updating(L):
    box = named(L)
    box.update({"z": L.ones(1), "c": L.ones(1)})
    box.update([("y", L.ones(1)), ["x", L.ones(1)]])
    box.update(L.nn.ParameterDict({"w": L.ones(1)}))
    box.update(collections.OrderedDict(v=L.ones(1), u=L.ones(1)))
    return list(box), attempts(
        lambda: box.update(3),
        lambda: box.update([3]),
        lambda: box.update([("a",)]),
        lambda: L.nn.ParameterDict(3),
    )


@program
def parameter_dict_combining(L):
    first, second = named(L), L.nn.ParameterDict({"a": L.ones(7), "z": L.ones(1)})
    joined = first | second
    found = [list(joined), tuple(joined["a"].shape), type(joined).__name__, list(first)]
    other = second | {"k": L.ones(1)} if hasattr(dict, "__or__") else None
    found.append(list(other))
    first |= second
    found += [list(first), list(first.copy()), first.copy()["a"] is first["a"]]
    found.append(list(first.fromkeys(["m", "n"], L.ones(2))))
    return found, attempts(lambda: list({"k": L.ones(1)} | second), lambda: first | 3)


@program
def parameter_dict_of_anything(L):
    box = L.nn.ParameterDict({"a": L.ones(1), "b": 5, "c": "text", "d": L.nn.Identity(), "e": None})
    return list(box), list(box.state_dict()), repr(box), box["b"], box["e"]


@program
def parameter_dict_copies(L):
    box = named(L)
    other = copy.deepcopy(box)
    return list(other), other["a"] is box["a"], [type(v).__name__ for v in other.values()]


@program
def nested_containers(L):
    net = L.nn.Module()
    net.layers = L.nn.ModuleDict(
        {"x": L.nn.ModuleList([L.nn.ParameterList([L.ones(1)]), L.nn.ParameterDict({"k": L.ones(1)})])}
    )
    return list(net.state_dict()), repr(net), net.get_parameter("layers.x.0.0").shape
