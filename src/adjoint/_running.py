"""The transforms that run a function in this thread: what it may not do, and how its tensors are printed."""

from _thread import _local as thread_local  # threading's, without the rest of threading

from . import _C

KINDS = {"gradient": 1, "vmap": 2, "tangent": 3}  # as in csrc/python/running.h


class _Stack(thread_local):
    differentiated: tuple = ()  # those whose gradients are being computed


_stack = _Stack()


class Running:
    """While a transform runs a function.

    Of reverse mode, `inputs` are pairs of a tensor that the function gets and the one that was given; of the others,
    `level` is the number of theirs, and `hooked` says whether a tensor got a hook that belongs to this transform.
    """

    hooked = False

    def __init__(self, kind, level=None, inputs=()):
        self.kind, self.level, self.inputs = KINDS[kind], level, inputs

    def __enter__(self):
        _C._begin_running(self, self.kind)

    def __exit__(self, *error):
        _C._end_running()
        self.inputs = ()  # a hook of one of them may hold this object


class Differentiated:
    """While the gradients are computed that a transform is to give."""

    def __init__(self, running):
        self.running = running

    def __enter__(self):
        _stack.differentiated = (*_stack.differentiated, self.running)

    def __exit__(self, *error):
        _stack.differentiated = _stack.differentiated[:-1]


def levels():
    """The transforms that are running, outermost first."""
    return _C._runnings()


def refuse_inside(words):
    """Refuses what functions that a transform runs may not do."""
    if levels():
        raise RuntimeError(words)


def own_hook(tensor, hook):
    """The hook of a tensor's gradient, silent in gradients by other transforms than the innermost that records it."""
    running = _recorded_by(tensor)
    if running is None:
        return hook
    running.hooked = True

    def own(gradient):
        return hook(gradient) if running in (*levels(), *_stack.differentiated) else None

    return own


def _recorded_by(tensor):
    """The innermost transform of reverse mode that a tensor's history leads to the inputs of; None if there is none."""
    reached = None
    for running in reversed(levels()):
        if running.inputs:
            reached = _reached(tensor) if reached is None else reached
            if any(_end(inside) in reached for inside, _ in running.inputs):
                return running
    return None


def unwrapped(tensor):
    """(what the transforms make of a tensor, innermost first, by name and number; what it is outside of them)."""
    layers, reached, recorded = [], None, False
    for number, running in reversed(tuple(enumerate(levels(), 1))):
        if running.level is None:
            given = [given for inside, given in running.inputs if tensor is inside]
            reached = _reached(tensor) if reached is None else reached
            if given:
                layers.append(("GradTrackingTensor", number))
                tensor, reached = given[0], None
            elif any(_end(inside) in reached for inside, _ in running.inputs):
                layers.append(("GradTrackingTensor", number))
                recorded = True
        elif (held := _C._batch_level(tensor)) is not None and held[0] == running.level:
            if not held[2]:
                layers.append(("BatchedTensor", number))
            tensor, reached, recorded = held[1], None, False
        elif _C._tangent(tensor, running.level) is not None:
            layers.append(("GradTrackingTensor", number))
            tensor = _C._taken_apart(tensor, running.level)[0]
    if recorded:
        inputs = [inside for running in levels() for inside, _ in running.inputs]
        tensor = _C._finished(tensor, inputs)
    return layers, tensor


def _end(tensor):
    """Where a graph ends that leads to a tensor: the node that made it, or the leaf itself."""
    return id(tensor) if tensor.grad_fn is None else tensor.grad_fn


def _reached(tensor):
    """All ends in the graph of a tensor."""
    found, pending = {_end(tensor)}, [tensor.grad_fn]
    while pending:
        node = pending.pop()
        for following, _ in node.next_functions if node is not None else ():
            if following is None or following in found:
                continue
            found.add(following)
            pending.append(following)
            if hasattr(following, "variable"):
                found.add(id(following.variable))
    return found
