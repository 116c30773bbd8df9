"""Tensors of subclasses, and `_grad`, against torch."""

from .compare import programs

program, test_program = programs()


def history(L, y, x):
    """What ties a tensor to the graph and to the tensor that it was made from."""
    name = y.grad_fn.name() if y.grad_fn is not None else None
    same = (y.data_ptr() == x.data_ptr(), y._is_view(), y._base is x)
    return type(y).__name__, y.requires_grad, y.is_leaf, name, y._version, *same


def kinds(L):
    x = L.ones(3, requires_grad=True)
    return x, x * 2, (x * 2)[1:], L.ones(3), L.ones(3, dtype=L.int64), x.detach()


def subclass(L):
    return type("Named", (L.Tensor,), {})


@program
def as_subclass_keeps_the_history(L):
    return [history(L, x.as_subclass(subclass(L)), x) for x in kinds(L)]


@program
def as_subclass_without_grad_mode(L):
    with L.no_grad():
        return [history(L, x.as_subclass(subclass(L)), x) for x in kinds(L)]


@program
def as_subclass_in_inference_mode(L):
    tensors = kinds(L)
    with L.inference_mode():
        return [history(L, x.as_subclass(subclass(L)), x) for x in tensors]


@program
def the_base_class_gives_a_view(L):
    x = L.ones(2, requires_grad=True)
    return history(L, x.as_subclass(L.Tensor), x), history(L, x.as_subclass(cls=L.nn.Parameter), x)


@program
def gradients_pass(L):
    t = L.tensor([0.5, 1.0], requires_grad=True)
    y = L.exp(t).as_subclass(subclass(L))
    y.sum().backward()
    leaf = t.as_subclass(subclass(L))
    leaf.retain_grad()
    (leaf * 3).sum().backward()
    return t.grad, L.Tensor.as_subclass(leaf.grad, L.Tensor)


@program
def changes_in_place_are_shared(L):
    plain = L.ones(2)
    plain.as_subclass(subclass(L)).add_(1)
    leaf = L.ones(2, requires_grad=True)
    y = leaf * 2
    s = y.as_subclass(subclass(L))
    s.mul_(3)
    y.sum().backward()
    return plain, plain._version, leaf.grad, y.grad_fn.name(), s.grad_fn.name(), y._version


@program
def a_saved_value_notices_a_change_through_a_subclass(L):
    leaf = L.ones(2, requires_grad=True)
    y = leaf.exp()
    with L.no_grad():
        y.as_subclass(subclass(L)).add_(1)
    return y.sum().backward()


@program
def changing_a_leaf_in_place_is_refused(L):
    return L.ones(2, requires_grad=True).as_subclass(subclass(L)).add_(1)


@program
def constructors_are_not_called(L):
    def refuse(*args):
        raise ValueError("called")

    x = L.ones(2)
    x.note = 1
    y = x.as_subclass(type("Guarded", (L.Tensor,), {"__new__": refuse, "__init__": refuse}))
    return type(y).__name__, hasattr(y, "note")


@program
def a_class_that_is_no_tensor(L):
    return L.ones(2).as_subclass(int)


@program
def no_class(L):
    return L.ones(2).as_subclass(3)


def outcomes(L, values):
    p = L.ones(2, requires_grad=True)
    results = []
    for value in values(L, p):
        p.grad = L.zeros(2)
        try:
            p._grad = value
        except (RuntimeError, TypeError) as error:
            results.append((type(error).__name__, str(error)[:35]))
        results.append(p.grad)
        results.append(p._grad)
    return results


@program
def assigning_the_gradient(L):
    return outcomes(L, lambda L, p: [L.ones(2), None, L.ones(3), "a", 3, L.ones(2, dtype=L.float64), p, [L.ones(2)]])


@program
def deleting_the_gradient(L):
    p = L.ones(2, requires_grad=True)
    p.sum().backward()
    before = p._grad
    del p._grad
    return before, p.grad, p._grad


@program
def the_gradient_of_a_result(L):
    y = L.ones(2, requires_grad=True) * 2
    return y._grad
