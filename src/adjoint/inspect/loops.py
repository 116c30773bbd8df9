"""Finds what repeats in a sequence: the steps of a loop, in the list of the nodes that it made."""

from bisect import bisect_right
from typing import NamedTuple

FEWEST_STEPS = 3
MOST_TRIES = 12  # repetitions of its first token that a step may contain


class Loop(NamedTuple):
    """`steps` times the same `period` tokens from `start` on; `rest`: where an incomplete step finds its tokens."""

    start: int
    period: int
    steps: int
    rest: tuple[int, ...]

    @property
    def end(self):
        return self.start + self.period * self.steps + len(self.rest)


def find_loops(tokens):
    """The loops of a sequence that do not overlap, from left to right, each as long as it can be.

    >>> from adjoint.inspect.loops import find_loops
    >>> find_loops("xabcabcabcacy")
    [Loop(start=1, period=3, steps=3, rest=(0, 2))]
    """
    places, agreed, found, at = {}, {}, [], 0
    for i, token in enumerate(tokens):
        places.setdefault(token, []).append(i)
    while at < len(tokens):
        best = None
        same = places[tokens[at]]
        here = bisect_right(same, at)
        for again in same[here : here + MOST_TRIES]:
            period = again - at
            if agreed.get(period, -1) < at:
                agreed[period] = _agreement(tokens, at, period)
            steps = (agreed[period] - at) // period + 1
            if steps >= FEWEST_STEPS and (best is None or steps * period > best.steps * best.period):
                best = Loop(at, period, steps, ())
        if best is None:
            at += 1
            continue
        best = best._replace(rest=_incomplete(tokens[at : at + best.period], tokens[best.end : best.end + best.period]))
        found.append(best)
        at = best.end
    return found


def _agreement(tokens, at, period):
    """Where the sequence stops being equal to itself, `period` later."""
    while at + period < len(tokens) and tokens[at] == tokens[at + period]:
        at += 1
    return at


def _incomplete(step, following):
    """The places in a step of the tokens that follow the last one, while they are in its order; half of it at least.

    The first step of a loop records less where what it begins with requires no gradient.
    """
    found, at = [], 0
    for token in following:
        while at < len(step) and step[at] != token:
            at += 1
        if at == len(step):
            break
        found.append(at)
        at += 1
    return tuple(found) if 2 * len(found) >= len(step) else ()
