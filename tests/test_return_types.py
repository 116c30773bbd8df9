"""The tuples with names that ops return: struct sequences, as in torch."""

import copy
import pickle

import pytest
import torch

import adjoint

from .compare import programs, raised
from .processes import script

program, test_program = programs()


@program
def what_their_types_say(L):
    x = L.arange(6.0).reshape(2, 3)
    results = [x.max(0), x.sort(), x.topk(2), x.cummax(1), L.linalg.svd(x), L.linalg.slogdet(x[:, :2]), x.mode()]
    results += [x.aminmax(), L.frexp(x), L.linalg.qr(x), L.histogram(x, 3), L.linalg.lstsq(x, x), x.kthvalue(1)]
    said = []
    for result in results:
        kind = type(result)
        counts = kind.n_fields, kind.n_sequence_fields, kind.n_unnamed_fields
        names = kind.__module__, kind.__name__, kind.__qualname__, kind.__match_args__, kind.__doc__, repr(kind)
        own = sorted(set(dir(kind)) - set(dir(tuple)) - {"__module__", *kind.__match_args__})
        said.append((counts, names, own, kind.__bases__, type(vars(kind)[kind.__match_args__[0]]).__name__))
    return said


@program
def how_they_are_made(L):
    kind = type(L.ones(2).max(0))
    made = [lambda: kind((1, 2)), lambda: kind([1, 2]), lambda: kind(x for x in (1, 2)), lambda: kind((1, 2), {})]
    made += [lambda: kind(sequence=(1, 2)), lambda: kind((1, 2, 3)), lambda: kind((1,)), lambda: kind(1), kind]
    made += [lambda: kind(1, 2), lambda: kind(values=1, indices=2), lambda: type("Sub", (kind,), {})]
    return [raised(lambda call=call: repr(call()), 100) for call in made]


@program
def what_can_be_done_with_them(L):
    result = L.tensor([1.0, 3.0]).max(0)
    kind = type(result)
    pair = kind((1, 2))
    match result:
        case kind(values, indices):
            matched = values, indices
    set_one = raised(lambda: setattr(result, "values", 1), 100)
    set_other = raised(lambda: setattr(result, "other", 1), 100)
    kinds = [type(pair[:1]), type(pair * 1)]
    return matched, set_one, set_other, pair == (1, 2), hash(pair) == hash((1, 2)), kinds, repr(result), str(pair)


@program
def copies_of_them(L):
    result = L.tensor([1.0, 3.0]).max(0)
    copies = [pickle.loads(pickle.dumps(result, p)) for p in range(pickle.HIGHEST_PROTOCOL + 1)]
    copies += [copy.copy(result), copy.deepcopy(result)]
    return [(type(x) is type(result), x.values, x.indices) for x in copies]


def test_pickled_in_one_process_and_read_in_another():
    text = pickle.dumps(adjoint.ones(2, 3).max(0)).hex()
    done = script(f"import pickle; print(pickle.loads(bytes.fromhex('{text}')).indices.tolist())")
    assert done.stdout.split() == ["[0,", "0,", "0]"]


@pytest.mark.parametrize("name", [kind.__name__ for kind in adjoint.return_types.all_return_types])
def test_found_by_name(name):
    ours, theirs = getattr(adjoint.return_types, name), getattr(torch.return_types, name, None)
    assert ours.__name__ == name
    assert theirs is None or ours.__match_args__ == theirs.__match_args__


def test_the_type_of_a_result_is_the_one_that_is_named():
    assert type(adjoint.ones(2).max(0)) is adjoint.return_types.max
    assert type(adjoint.linalg.svd(adjoint.eye(2))) is adjoint.return_types.linalg_svd


def test_a_forward_that_gives_another_number_of_results_is_refused():
    """In a process of its own, because an op cannot be taken out of the table again."""
    declared = """
import adjoint as torch
from adjoint.ops import language
language.op("pair(input)", forward=lambda input: (input,), outputs=("first", "second"), gradient=False)
try:
    language.pair(torch.ones(2))
except TypeError as error:
    print(error)
"""
    assert script(declared).stdout.strip() == "torch.return_types.pair: expected 2 values; got 1"
