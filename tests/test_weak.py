"""utils.weak against torch: references and dicts that tell tensors apart by identity, and do not keep them."""

import copy

import pytest

import adjoint

from .compare import programs, raised

program, test_program = programs()


@program
def references(L):
    W = L.utils.weak
    a, b = L.ones(2), L.ones(2)
    refs = W.WeakIdRef(a), W.WeakIdRef(a), W.WeakIdRef(b)
    gone = W.WeakIdRef(L.ones(1))
    return (
        [refs[0]() is a, refs[0] == refs[1], refs[0] == refs[2], hash(refs[0]) == id(a)],
        [gone() is None, gone == refs[0], gone == gone],
        [W.TensorWeakRef(a)() is a, W.TensorWeakRef(L.ones(1))() is None],
        raised(lambda: W.TensorWeakRef(3), 60),
    )


@program
def a_dict_by_identity(L):
    table = L.utils.weak.WeakIdKeyDictionary()
    a, b = L.ones(2), L.ones(2)
    table[a] = 1
    basics = [table[a], b in table, a in table, 3 in table, len(table), table.get(b), table.get(b, 5)]
    table[b] = 2
    shown = [
        next(iter(table)) is a,
        list(table.values()),
        [key is each for key, each in zip(table, (a, b), strict=True)],
    ]
    taken = [table.setdefault(a, 7), table.pop(b), table.pop(b, 9), table.popitem()[1], len(table)]
    return basics, shown, taken, raised(lambda: table[a], 0), raised(lambda: table[3], 60), raised(table.popitem, 0)


@program
def entries_go_with_their_keys(L):
    table = L.utils.weak.WeakTensorKeyDictionary()
    kept = L.ones(1)
    table[kept] = 1
    table[L.ones(1)] = 2
    references = table.keyrefs()
    return len(table), [reference() is kept for reference in references], next(iter(table.values()))


@program
def dicts_together(L):
    W = L.utils.weak
    a, b = L.ones(1), L.ones(1)
    one, other = W.WeakIdKeyDictionary({a: 1}), W.WeakIdKeyDictionary({a: 3, b: 2})
    both, turned = one | other, {b: 5} | one
    one |= {b: 7}
    twin, deep = copy.copy(other), copy.deepcopy(other)
    del other[b]
    return (
        [sorted(each.values()) for each in (both, turned, one, other, twin, deep)],
        [other == {a: 3}, other == W.WeakIdKeyDictionary({a: 3}), other == twin, other == 3, other.copy() == other],
    )


def test_a_key_that_goes_while_the_dict_is_walked_through():
    table = adjoint.utils.weak.WeakIdKeyDictionary()
    keys = [adjoint.ones(1) for _ in range(3)]
    for number, key in enumerate(keys):
        table[key] = number
    seen = []
    del key
    for value in table.values():
        seen.append(value)
        keys.clear()
    assert seen == [0]
    assert len(table) == 0


def test_it_has_no_hash():
    with pytest.raises(TypeError, match="unhashable"):
        hash(adjoint.utils.weak.WeakIdKeyDictionary())
