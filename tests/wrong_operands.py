"""Calls every op with something wrong in the place of a tensor; run by test_robustness.py in a process of its own.

An in-place call that fails must leave its tensor as it was. A crash ends the process, and the last line on stderr names
the call. With "torch" as its argument the program runs torch instead and prints how its in-place calls fail.
"""

import faulthandler
import functools
import itertools
import json
import sys
import warnings

import numpy as np


class Empty:
    """Has no attributes of a tensor or number."""


def wrong(L):
    """Name -> something that is no operand."""
    w = L.ones(2, requires_grad=True)
    computed = L.ones(2, requires_grad=True) * 2
    return {
        "[w]": [w],
        "(w, w)": (w, w),
        "[computed]": [computed],
        "[[w]]": [[w], [w]],
        "[w, None]": [w, None],
        "{w}": {"a": w},
        "str": "a",
        "None": None,
        "object": Empty(),
        "type": int,
        "bytes": b"ab",
        "...": ...,
        "slice": slice(None),
        "array of objects": np.array(["a", None], dtype=object),
    }


def targets(L):
    """Tensors that an op may be asked to change."""
    leaf = L.ones(2, requires_grad=True)
    yield "plain", L.ones(2)
    yield "int", L.ones(2, dtype=L.int64)
    yield "matrix", L.ones(2, 2)
    yield "computed", leaf * 2
    yield "view", (leaf * 2).view(1, 2)[0]


def state(tensor):
    return (tensor.tolist(), tuple(tensor.shape), tensor._version, tensor.requires_grad, id(tensor.grad_fn))


def calls(things, L):
    """Argument lists with a wrong thing in each place, tensors and numbers in the others."""
    w, index = L.ones(2, requires_grad=True), L.tensor([0, 1])
    for beside, fill in {"w": w, "0": 0, "index": index}.items():
        for n in (1, 2, 3):
            for place in range(n):
                for label, thing in things.items():
                    args = [fill] * n
                    args[place] = thing
                    yield f"{label} in place {place} of {n}, {beside} beside it", args


def ending(call):
    try:
        call()
        return "value"
    except Exception as error:
        return type(error).__name__


# What torch is asked, too.
METHODS = [
    "add_",
    "addmm_",
    "copy_",
    "fill_diagonal_",
    "gt_",
    "lerp_",
    "logical_or_",
    "masked_fill_",
    "mul_",
    "renorm_",
]


def in_place_names(L):
    return [name for name in sorted(dir(L.Tensor)) if name.endswith("_") and not name.endswith("__")]


def run_in_place(L, names, log):
    """How each call failed, by its label."""
    outcomes = {}
    for name in names:
        for kind, _ in targets(L):
            things = wrong(L)
            for label, args in calls(things, L):
                target = dict(targets(L))[kind]
                before = state(target)
                log(f"Tensor.{name} {kind} {label}")
                how = ending(functools.partial(getattr(target, name), *args))
                if how != "value":
                    assert state(target) == before, (name, kind, label)
                outcomes[f"{name} {kind} {label}"] = how
    return outcomes


def run_others(L, log):
    """Out of place, with out=, and by assignment; returns the number of calls."""
    things, count = wrong(L), 0
    functions = [(name, value) for name, value in sorted(vars(L).items()) if type(value).__name__ == "Op"]
    for namespace in (L.linalg, L.special, L.nn.functional, L.fft):
        functions += [(name, v) for name, v in sorted(vars(namespace).items()) if type(v).__name__ == "Op"]
    w = L.ones(2, requires_grad=True)
    for name, function in functions:
        for label, thing in things.items():
            for args in ([thing], [w, thing], [thing, w], [w, w, thing], [[w, w], thing]):
                for options in ({}, {"out": L.ones(2)}, {"out": thing}):
                    log(f"{name} {label} of {len(args)} {list(options)}")
                    ending(lambda function=function, args=args, options=options: function(*args, **options))
                    count += 1
    keys = [0, [0], L.tensor([0]), L.tensor([True, False]), slice(None), ..., None, (0,), "a", [[0], "a"], True]
    for (kind, _), key, (label, thing) in itertools.product(list(targets(L)), keys, things.items()):
        target = dict(targets(L))[kind]
        before = state(target)
        log(f"{kind}[{key!r}] = {label}")
        if ending(lambda target=target, key=key, thing=thing: target.__setitem__(key, thing)) != "value":
            assert state(target) == before, (kind, key, label)
        log(f"{kind}[{label}] = 1")
        ending(lambda target=target, thing=thing: target.__setitem__(thing, 1))
        count += 2
    return count


def main(library):
    faulthandler.enable()
    warnings.simplefilter("ignore")
    if library == "torch":
        import torch

        print(json.dumps(run_in_place(torch, METHODS, lambda _: None)))
        return
    import adjoint

    def log(text):
        print(text, file=sys.stderr)

    ours = run_in_place(adjoint, in_place_names(adjoint), log)
    print(json.dumps({**ours, "others": run_others(adjoint, log)}))


if __name__ == "__main__":
    main(sys.argv[1])
