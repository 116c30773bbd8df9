"""utils._pytree against torch: taking apart and putting together, structures as texts, ways to leaves, own types."""

import copy
import dataclasses
import enum
import pickle
import time
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

import adjoint
from adjoint.utils import _pytree

from .compare import LIBRARIES, programs, raised

program, test_program = programs(warned=200)

Pair = namedtuple("Pair", "a b")


class DerivedPair(Pair):
    """A class that is derived from one of named tuples."""


class Color(enum.Enum):
    RED = 1


def everything():
    """A tree with one of each container."""
    return {
        "b": (1, [2, 3]),
        "a": Pair(4, OrderedDict(x=5)),
        "d": deque([6], maxlen=3),
        "dd": defaultdict(int, {"q": 7}),
        "none": None,
        "empty": [(), {}, []],
        "derived": DerivedPair(8, 9),
    }


def texts(value):
    """What a result prints as, without addresses."""
    return str(value).split(" at 0x")[0]


# ---- Taking apart and putting together


@program
def every_container(L):
    P = L.utils._pytree
    leaves, spec = P.tree_flatten(everything())
    rebuilt = P.tree_unflatten(leaves, spec)
    return leaves, repr(spec), rebuilt == everything(), type(rebuilt["derived"]).__name__, P.treespec_pprint(spec)


@program
def numbers_of_a_spec(L):
    spec = L.utils._pytree.tree_structure(everything())
    return spec.num_leaves, spec.num_nodes, spec.num_children, spec.is_leaf(), spec.context, len(spec.children())


@program
def leaves_of_ones_own(L):
    P = L.utils._pytree
    two = lambda x: isinstance(x, list) and len(x) == 2
    tree = [1, [2, 3], [4]]
    return (
        P.tree_leaves(tree, is_leaf=two),
        repr(P.tree_structure(tree, is_leaf=two)),
        P.tree_map(len, [[1, 2], [3, 4]], is_leaf=two),
        list(P.tree_iter(tree, is_leaf=two)),
        [P.tree_is_leaf(tree, is_leaf=two), P.tree_is_leaf([2, 3], is_leaf=two), P.tree_is_leaf(None)],
    )


@program
def types_that_are_no_containers(L):
    class Mine(list):
        pass

    class Fake(tuple):
        _fields = ("a",)

    P = L.utils._pytree
    return [P.tree_is_leaf(x) for x in (Mine([1]), Fake((1,)), time.gmtime(0), {1}, "ab", range(2), frozenset())]


@program
def torchs_own_containers(L):
    P = L.utils._pytree
    largest = L.tensor([1.0, 3.0]).max(0)
    doubled = P.tree_map(lambda x: x * 2, largest)
    way = P.tree_flatten_with_path(largest)
    return (
        [repr(P.tree_structure(L.ones(2, 3).shape)), P.tree_leaves(L.ones(2, 3).shape)],
        [repr(P.tree_structure(largest)), type(doubled).__name__, doubled.values, doubled.indices],
        [repr(w) for w, _ in way[0]],
    )


@program
def several_trees(L):
    P = L.utils._pytree

    def pairs(*trees):
        return raised(lambda: P.tree_map(lambda *leaves: leaves, *trees), 200)

    return [
        pairs([1, [2]], [3, [4]], [5, [6]]),
        pairs([1, 2], [1]),
        texts(pairs([1, 2], (1, 2))),
        pairs({"a": 1, "b": 2}, {"b": 3, "a": 4}),
        pairs({"a": 1}, {"b": 1}),
        pairs({"a": 1}, {"a": 1, "b": 1}),
        pairs({"a": 1}, OrderedDict(a=2)),
        pairs(deque([1], maxlen=2), deque([2])),
        pairs([1], [[2]]),
        pairs({}, {}),
    ]


@program
def choosing_leaves(L):
    P = L.utils._pytree
    tree = [1, 2.0, "a", True]
    seen = []
    return [
        P.tree_map_only(int, lambda x: -x, tree),
        P.tree_map_only((int, float), lambda x: -x, tree),
        P.tree_map_only(int | float, lambda x: -x, tree),
        P.tree_map_only(lambda x: x == 2, lambda x: -x, tree),
        raised(lambda: P.tree_map_only(3, lambda x: x, tree), 100),
        P.tree_map_only_(int, seen.append, tree) is tree,
        seen,
        P.tree_all(bool, [1, 0]),
        P.tree_any(bool, [1, 0]),
        P.tree_all_only(int, lambda x: x > 0, [1, -1.0]),
        P.tree_any_only(float, lambda x: x > 0, [1, -1.0]),
        P.map_only(int)(lambda x: x + 1)(1),
        P.arg_tree_leaves(1, [2], a={"b": 3}),
    ]


@program
def wrong_calls(L):
    P = L.utils._pytree
    spec = P.tree_structure([1, (2, 3)])
    return [
        raised(lambda: P.tree_unflatten([1], spec), 200),
        raised(lambda: P.tree_unflatten([1], 3), 200),
        raised(lambda: spec.flatten_up_to([1, 2]), 200),
        raised(lambda: spec.flatten_up_to(5), 200),
        raised(lambda: spec.child(7), 200),
        raised(lambda: P.TreeSpec(None, 1, []), 200),
        raised(lambda: P.TreeSpec(None, None, [P.treespec_leaf()]), 200),
        raised(lambda: P.treespec_tuple([1]), 200),
        raised(lambda: P.treespec_dict({"a": 1}), 200),
        raised(lambda: setattr(spec, "type", list), 200),
    ]


@program
def broadcast_to_a_structure(L):
    P = L.utils._pytree
    spec = P.tree_structure([[1, 2], 3])
    return [P._broadcast_to_and_flatten(tree, spec) for tree in ([1, 2], [1, 2, 3], 0, [[1, 2], 3], (1, 2), [1, [2]])]


# ---- Structures


@program
def equal_structures(L):
    P = L.utils._pytree
    spec = P.tree_structure([1, (2, 3)])
    again = P.tree_structure(["a", ("b", "c")])
    return [
        spec == again,
        hash(spec) == hash(again),
        spec == P.tree_structure([1, [2, 3]]),
        spec == 3,
        P.tree_structure({"a": 1, "b": 2}) == P.tree_structure({"b": 1, "a": 2}),
        P.tree_structure({"a": 1}) == P.tree_structure(OrderedDict(a=1)),
        P.treespec_tuple([P.treespec_leaf()] * 2) == P.tree_structure((1, 2)),
        P.treespec_dict({"a": P.treespec_leaf()}, b=P.treespec_leaf()) == P.tree_structure({"a": 1, "b": 2}),
        isinstance(P.treespec_leaf(), P.LeafSpec),
        isinstance(spec, P.LeafSpec),
        P.PyTreeSpec is P.TreeSpec,
    ]


@program
def old_names_warn(L):
    P = L.utils._pytree
    spec = P.tree_structure([1])
    return repr(spec.children_specs), P.str_to_pytree(P.pytree_to_str(spec)) == spec, repr(P.LeafSpec())


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_structures_are_copied(copied):
    spec = _pytree.tree_structure(everything())
    assert copied(spec) == spec


@program
def structures_as_texts(L):
    P = L.utils._pytree
    tree = {"a": (1, [2]), "d": deque([6], maxlen=3), "dd": defaultdict(int, {"q": 7}), "o": OrderedDict(z=L.Size([1]))}
    specs = [P.tree_structure(each) for each in (tree, 3, [], {Color.RED: 1}, [None, {1: {2: 3}}])]
    written = [P.treespec_dumps(spec) for spec in specs]
    return written, [P.treespec_loads(text) == spec for text, spec in zip(written, specs, strict=True)]


@program
def named_tuples_as_texts(L):
    P = L.utils._pytree
    local = namedtuple("local", "x y")
    spec = P.tree_structure(local(1, 2))
    before = texts(raised(lambda: P.treespec_dumps(spec), 60))
    P._register_namedtuple(local, serialized_type_name="tests.local")
    written = P.treespec_dumps(spec)
    return before, written, P.treespec_loads(written) == spec


@program
def texts_that_are_refused(L):
    P = L.utils._pytree
    empty = '"context": "null", "children_spec": []'
    return [
        raised(lambda: P.treespec_dumps(3), 200),
        raised(lambda: P.treespec_dumps(P.tree_structure([1]), 2), 200),
        raised(lambda: P.treespec_loads('[2, {"type": null, "context": null, "children_spec": []}]'), 200),
        raised(lambda: P.treespec_loads('[1, {"type": "no.such", ' + empty + "}]"), 200),
        raised(
            lambda: P.treespec_loads('[1, {"type": "collections.namedtuple", "context": "no", "children_spec": []}]'),
            200,
        ),
        raised(lambda: P.treespec_loads("nonsense"), 20),
    ]


# ---- Ways


@program
def ways_to_leaves(L):
    P = L.utils._pytree
    tree = everything()
    pairs, spec = P.tree_flatten_with_path(tree)
    named = P.tree_map_with_path(lambda way, leaf, other: (P.keystr(way), leaf, other), tree, tree)
    return (
        [repr(way) for way, _ in pairs],
        [P.keystr(way) for way, _ in pairs],
        [P.key_get(tree, way) == leaf for way, leaf in P.tree_leaves_with_path(tree)],
        spec == P.tree_structure(tree),
        named["b"],
    )


@program
def keys(L):
    P = L.utils._pytree
    some = [P.SequenceKey(1), P.MappingKey("a"), P.GetAttrKey("real")]
    return (
        [repr(key) for key in some],
        [str(key) for key in some],
        [some[0].get([5, 6]), some[1].get({"a": 2}), some[2].get(3)],
        [P.SequenceKey(1) == some[0], hash(P.SequenceKey(1)) == hash(some[0]), P.MappingKey(1) == some[0]],
    )


# ---- Types of one's own


class Box:
    def __init__(self, inside):
        self.inside = inside


@program
def registered_types(L):
    class Mine(Box):
        pass

    P = L.utils._pytree
    P.register_pytree_node(
        Mine,
        lambda box: ([box.inside], {"kind": 1}),
        lambda parts, context: Mine(*parts),
        serialized_type_name="tests.Mine",
        to_dumpable_context=lambda context: context["kind"],
        from_dumpable_context=lambda kind: {"kind": kind},
        flatten_with_keys_fn=lambda box: ([(P.GetAttrKey("inside"), box.inside)], {"kind": 1}),
    )
    spec = P.tree_structure(Mine([1, 2]))
    written = P.treespec_dumps(spec)
    twice = raised(lambda: P.register_pytree_node(Mine, None, None), 5)
    ways = [P.keystr(way) for way, _ in P.tree_leaves_with_path(Mine([1, 2]))]
    mapped = P.tree_map(lambda x: x + 1, Mine([1, 2])).inside
    P._deregister_pytree_node(Mine)
    return repr(spec), written, P.tree_is_leaf(Mine(1)), twice, ways, mapped


@program
def what_registering_asks_for(L):
    class Bare(Box):
        pass

    class Half(Box):
        pass

    class Odd(Box):
        pass

    P = L.utils._pytree
    P.register_pytree_node(Bare, lambda box: ([box.inside], None), lambda parts, _: Bare(*parts))
    P.register_pytree_node(Odd, lambda box: ([], Odd), lambda *_: Odd(1), serialized_type_name="tests.Odd")
    return [
        raised(lambda: P.treespec_dumps(P.tree_structure(Bare(1))), 34),
        raised(lambda: P.tree_flatten_with_path(Bare(1)), 48),
        raised(lambda: P.register_pytree_node(Half, None, None, to_dumpable_context=str), 60),
        raised(lambda: P.treespec_dumps(P.tree_structure(Odd(1))), 200),
    ]


@program
def the_former_register(L):
    class Mine(Box):
        pass

    P = L.utils._pytree
    P._register_pytree_node(Mine, lambda box: ([box.inside], None), lambda parts, _: Mine(*parts))
    return P.tree_leaves(Mine([1]))


@program
def data_classes(L):
    @dataclasses.dataclass
    class Point:
        x: int
        y: int = 2
        z: int = dataclasses.field(default=3, init=False)

    @dataclasses.dataclass
    class Other:
        x: int
        y: int = 2

    P = L.utils._pytree
    P.register_dataclass(Point)
    P.register_dataclass(Other, field_names=["x"], drop_field_names=["y"])
    spec = P.tree_structure(Point(1, None))
    return (
        P.tree_leaves(Point(1, [5])),
        repr(spec),
        dataclasses.astuple(spec.unflatten([7])),
        [P.keystr(way) for way, _ in P.tree_leaves_with_path(Point(1, [5]))],
        P.tree_leaves(Other(1, 5)),
        dataclasses.astuple(P.tree_map(lambda x: x + 1, Other(1, 5))),
        raised(lambda: P.register_dataclass(int), 200),
        raised(lambda: P.register_dataclass(Other, field_names=["x", "q"], drop_field_names=["y"]), 200),
        raised(lambda: P.register_dataclass(Other, field_names=["x"]), 200),
    )


@program
def constants(L):
    @dataclasses.dataclass(frozen=True)
    class Label:
        name: str

    class Bare:
        pass

    class Unhashable:
        def __eq__(self, other):
            return True

    P = L.utils._pytree
    P.register_constant(Label)
    spec = P.tree_structure([Label("a"), 1])
    return [
        spec.num_leaves,
        spec == P.tree_structure([Label("a"), 2]),
        spec == P.tree_structure([Label("b"), 2]),
        P.tree_map(lambda x: x + 1, [Label("a"), 1])[0].name,
        P.is_constant_class(Label),
        P._is_constant_holder(spec.child(0)),
        P._retrieve_constant(spec.child(0)).name,
        raised(lambda: P.register_constant(Bare), 200),
        raised(lambda: P.register_constant(Unhashable), 200),
    ]


@program
def kinds_of_tuples(L):
    P = L.utils._pytree
    largest, moment = L.ones(2).max(0), time.gmtime(0)
    values = (Pair(1, 2), Pair, DerivedPair, (1,), tuple, largest, type(largest), moment, type(moment), 3)
    asked = (P.is_namedtuple, P.is_namedtuple_instance, P.is_namedtuple_class)
    asked += (P.is_structseq, P.is_structseq_instance, P.is_structseq_class)
    return [[ask(value) for value in values] for ask in asked]


@program
def containers_one_by_one(L):
    P = L.utils._pytree
    values = {
        "list": [1, 2],
        "tuple": (1, 2),
        "dict": {"a": 1},
        "ordereddict": OrderedDict(a=1),
        "defaultdict": defaultdict(int, a=1),
        "deque": deque([1], maxlen=2),
        "namedtuple": Pair(1, 2),
    }
    results = []
    for name, value in values.items():
        children, context = getattr(P, f"_{name}_flatten")(value)
        keyed, _ = getattr(P, f"_{name}_flatten_with_keys")(value)
        built = getattr(P, f"_{name}_unflatten")(children, context)
        results.append((list(children), str(context), [str(key) for key, _ in keyed], built == value))
    return results, P._is_leaf(1), P._is_leaf([1]), P._get_node_type([1]), P._get_node_type(1)


def test_the_same_names():
    theirs, ours = (L.utils._pytree for L in LIBRARIES)
    assert [name for name in theirs.__all__ if not hasattr(ours, name)] == []
    assert ours.SUPPORTED_NODES[list].flatten_fn([1]) == ([1], None)
    assert adjoint.Size in ours.SUPPORTED_NODES
