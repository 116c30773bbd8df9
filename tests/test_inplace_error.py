"""The error about a changed saved tensor: torch's opening words, then who saved it, who changed it, and its name."""

import gc
import inspect
import weakref

import pytest
import torch as reference

import adjoint


def line_of(function, text):
    """The place of the line of a function that holds `text`, as messages write it."""
    lines, first = inspect.getsourcelines(function)
    offset = next(i for i, line in enumerate(lines) if text in line)
    return f"{__file__}:{first + offset} in {function.__name__}"


def message(program):
    """What a program raises: the same opening words in both libraries."""
    texts = []
    for torch in (reference, adjoint):
        with pytest.raises(RuntimeError) as error:
            program(torch)
        texts.append(str(error.value))
    opening = "one of the variables needed for gradient computation has been modified by an inplace operation: "
    assert all(text.startswith(opening) for text in texts)
    # The type, shape and versions are torch's too.
    theirs = texts[0].split("inplace operation: ")[1].split("]]")[0]
    assert theirs in texts[1]
    versions = texts[0][texts[0].index("is at version") : texts[0].index(" instead.")]
    assert versions in texts[1]
    return texts[1]


def saved_result(torch):
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    z = y * 2
    y.add_(1)
    (z.sum() + y.sum()).backward()


def saved_argument(torch):
    x = torch.ones(2, 3, requires_grad=True)
    y = x.sin()
    z = y * y
    y[0] = x.detach()[1]
    z.sum().backward()


def through_a_view(torch):
    x = torch.ones(4, requires_grad=True)
    y = x.exp()
    part = y[1:]
    z = y.tanh() * y
    part.mul_(3)
    z.sum().backward()


def random_fill(torch):
    x = torch.ones(4, requires_grad=True)
    y = x * 1
    z = y * y
    y.normal_()
    z.sum().backward()


def out_argument(torch):
    x = torch.ones(4, requires_grad=True)
    y = torch.ones(4)
    z = x * y
    torch.add(y, 1, out=y)
    z.sum().backward()


def indices(torch):
    x = torch.ones(4, requires_grad=True)
    y = torch.ones(4)
    z = x * y
    y[torch.tensor([0, 2])] = 5.0
    z.sum().backward()


def several_changes(torch):
    x = torch.ones(4, requires_grad=True)
    y = x.exp()
    y.mul_(2)
    y.sub_(1)
    y.sum().backward()


@pytest.mark.parametrize(
    ("program", "saved", "changed"),
    [
        (saved_result, ("ExpBackward0", "x.exp()"), ("add_", "add_(1)")),
        (saved_argument, ("MulBackward0", "y * y"), ("copy_", "y[0] = ")),
        (through_a_view, ("MulBackward0", "tanh() * y"), ("mul_", "mul_(3)")),
        (random_fill, ("MulBackward0", "y * y"), ("normal_", "normal_()")),
        (out_argument, ("MulBackward0", "x * y"), ("add", "out=y")),
        (indices, ("MulBackward0", "x * y"), ("index_put_", "= 5.0")),
        (several_changes, ("ExpBackward0", "x.exp()"), ("sub_", "sub_(1)")),
    ],
)
def test_names_who_saved_and_who_changed(program, saved, changed):
    text = message(program)
    assert f"saved by {saved[0]} (made at {line_of(program, saved[1])})" in text
    assert f"It was last changed by {changed[0]} (at {line_of(program, changed[1])})" in text
    assert "clone()" in text


def update_between_backwards(torch):
    weight = torch.ones(3, requires_grad=True)
    first, second = (weight * weight).sum(), (weight * weight.exp()).sum()
    first.backward()
    with torch.no_grad():
        weight -= 0.1 * weight.grad
    second.backward()


def update_in_a_list(torch):
    parameters = [torch.ones(2, 2, requires_grad=True) for _ in range(3)]
    value = parameters[0]
    for parameter in parameters[1:]:
        value = value @ parameter.t()
    del parameter
    with torch.no_grad():
        parameters[2].mul_(2)
    value.sum().backward()


class Model:
    """A model without nn, as people write them."""

    def __init__(self, torch):
        self.weight = torch.ones(2, requires_grad=True)


@pytest.mark.parametrize(
    ("program", "name", "changed"),
    [
        (update_between_backwards, "weight", ("sub_", "weight -=")),
        (update_in_a_list, "parameters[2]", ("mul_", "mul_(2)")),
    ],
)
def test_names_the_parameter(program, name, changed):
    text = message(program)
    assert f"the leaf `{name}`" in text
    assert f"It was last changed by {changed[0]} (at {line_of(program, changed[1])})" in text
    assert "run the forward again" in text


def test_names_an_attribute():
    def program(torch):
        model = Model(torch)
        loss = (model.weight**3).sum()
        with torch.no_grad():
            model.weight.zero_()
        loss.backward()

    assert "the leaf `model.weight`" in message(program)


def test_the_name_keeps_nothing_alive():
    """Looking for the name reads local variables; the frame must not keep them."""

    def fails(weight, loss):
        with pytest.raises(RuntimeError, match="the leaf `weight`"):
            loss.backward()

    weight = adjoint.ones(3, requires_grad=True)
    loss = (weight * weight).sum()
    with adjoint.no_grad():
        weight.mul_(2)
    fails(weight, loss)
    seen = weakref.ref(loss)
    del loss
    gc.collect()
    assert seen() is None


def test_memory_that_was_freed_leaves_no_note():
    """A new tensor on the place of a changed one knows nothing of that change."""
    for _ in range(100):
        y = adjoint.ones(3)
        z = adjoint.ones(3, requires_grad=True) * y
        y.add_(1)
        del y, z
    y = adjoint.ones(3)
    z = adjoint.ones(3, requires_grad=True) * y
    adjoint.autograd.graph.increment_version(y)
    with pytest.raises(RuntimeError, match="last changed by increment_version"):
        z.sum().backward()
