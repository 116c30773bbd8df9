"""Classes with `__torch_dispatch__`, and tensors made by `_make_wrapper_subclass`, against torch."""

import copy
import gc
import importlib
import pickle
import threading
import weakref

import pytest

import adjoint

from .compare import SUMS, numbers, programs, raised

program, test_program = programs(bound=SUMS)  # gradients of products, whose rounding depends on the machine


def holding(L, seen=None, plain=True):
    """A class of tensors that hold one, compute with it and hold the result."""
    tree_map = importlib.import_module(f"{L.__name__}.utils._pytree").tree_map

    class Holding(L.Tensor):
        @staticmethod
        def __new__(cls, held, requires_grad=False):
            return L.Tensor._make_wrapper_subclass(
                cls, held.shape, strides=held.stride(), dtype=held.dtype, requires_grad=requires_grad
            )

        def __init__(self, held, requires_grad=False):
            self.held = held

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            if seen is not None:
                seen.append((str(func), [kind.__name__ for kind in types]))
            inner = lambda x: x.held if isinstance(x, cls) else x
            outer = lambda x: cls(x) if isinstance(x, L.Tensor) else x
            return tree_map(outer, func(*tree_map(inner, args), **tree_map(inner, kwargs or {})))

    if plain:
        Holding.__torch_function__ = L._C._disabled_torch_function_impl
    return Holding


def shown(x):
    """What a tensor of such a class shows and holds."""
    if isinstance(x, tuple | list):
        return [shown(item) for item in x]
    return type(x).__name__, tuple(x.shape), x.stride(), str(x.dtype), x.held


@program
def what_they_show(L):
    x = L.Tensor._make_wrapper_subclass(holding(L), (2, 3), dtype=L.int64, strides=(1, 2))
    y = L.Tensor._make_wrapper_subclass(holding(L), [2], requires_grad=True)
    return [
        *(tuple(x.shape), x.stride(), str(x.dtype), str(x.device), x.is_contiguous(), x.numel(), len(x), x.data_ptr()),
        *(str(y.dtype), y.requires_grad, y.is_leaf, y.grad_fn, y.layout is L.strided, y.element_size()),
    ]


@program
def functions(L):
    w, x = holding(L)(numbers(L, 2, 3)), numbers(L, 2, 3, start=2.0)
    F = L.nn.functional
    results = [w + 1, 1 - w, w * x, x / w, w @ x.T, x.T @ w, w.sum(), w.mean(0), w.view(3, 2), w[0], w[:, 1:], w.T]
    results += [L.relu(w), L.softmax(w, 1), L.cat([w, x]), L.stack([x, w]), w.to(L.float64), w.clone(), L.ones_like(w)]
    results += [L.where(w > 2, w, x), w.max(1), w.split(1), F.linear(w, x), F.layer_norm(w, (3,)), F.gelu(w), w**2]
    results += [F.mse_loss(w, x), L.einsum("ij,kj->ik", w, x), w.std(), w.argmax(1), w.new_zeros(2), w == w, -w]
    return [shown(result) for result in results]


@program
def names_of_ops(L):
    seen = []
    w = holding(L, seen)(numbers(L, 2, 3))
    results = [w + 1, w * w, w.exp(), w.view(3, 2), w.clone(), w.detach(), w.mul_(2), w.t(), w.relu(), L.cat([w, w])]
    results += [w[0], w.to(L.float64), w.sum(0), w.fill_(1.0), w.zero_(), w.expand(2, 2, 3), L.mm(w, w.t())]
    return seen, [shown(result) for result in results]


@program
def changes_in_place(L):
    w = holding(L)(L.zeros(2, 2))
    row = w[0]
    row.add_(1)
    w[1] = 5.0
    w[0, 0] += 3
    w.view(-1).mul_(2)
    return shown(w), shown(row), w._version > 0, row._version > 0


@program
def first_gradients(L):
    w, x = holding(L)(numbers(L, 2, 3), requires_grad=True), numbers(L, 2, 3, start=2.0).requires_grad_()
    F = L.nn.functional
    losses = [
        (w * 3).exp().sum(),
        (w * w).sum() + (w.sin() * w).sum(),
        (w * x).sum(),
        F.layer_norm(w, (3,)).pow(3).sum(),
    ]
    losses += [F.cross_entropy(w, L.tensor([0, 2])), (L.softmax(w, 1) * x).sum(), L.cat([w, w * 2])[1:3].t().sum()]
    gradients = [L.autograd.grad(loss, (w, x), allow_unused=True) for loss in losses]
    return [[None if g is None else shown(g) for g in pair] for pair in gradients], [
        loss.grad_fn.name() for loss in losses
    ]


@program
def second_gradients(L):
    w = holding(L)(numbers(L, 3), requires_grad=True)
    (g,) = L.autograd.grad((w**3).sum(), w, create_graph=True)
    (h,) = L.autograd.grad((g * w).sum(), w)
    return shown(g), g.requires_grad, shown(h), h.requires_grad


@program
def leaves(L):
    w = holding(L)(numbers(L, 2), requires_grad=True)
    seen = []
    w.register_hook(lambda g: seen.append(type(g).__name__))
    y = w * 1
    y.mul_(3)
    y.add_(w)
    y.sum().backward()
    (w * 2).sum().backward()
    first = shown(w.grad)
    w.grad.zero_()
    with L.no_grad():
        w.add_(1)
    return first, shown(w.grad), shown(w), seen, w.is_leaf, w.detach().requires_grad, shown(w.data)


@program
def changed_after_it_was_saved(L):
    w = holding(L)(numbers(L, 2), requires_grad=True)
    y = w.exp()
    y.add_(1)
    return raised(lambda: y.sum().backward())


@program
def custom_functions(L):
    kinds = []

    class Square(L.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            kinds.append((type(x).__name__, type(g).__name__))
            return 2 * x * g

    w = holding(L)(numbers(L, 2), requires_grad=True)
    Square.apply(w).sum().backward()
    return shown(w.grad), kinds


@program
def classes_that_give_plain_tensors(L):
    tree_map = importlib.import_module(f"{L.__name__}.utils._pytree").tree_map

    class Scaled(L.Tensor):
        @staticmethod
        def __new__(cls, numbers, scale):
            return L.Tensor._make_wrapper_subclass(cls, numbers.shape, dtype=L.float32)

        def __init__(self, numbers, scale):
            self.numbers, self.scale = numbers, scale

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            if func is L.ops.aten.detach.default:
                return cls(args[0].numbers, args[0].scale)
            whole = lambda x: x.numbers.float() * x.scale if isinstance(x, cls) else x
            return func(*tree_map(whole, args), **tree_map(whole, kwargs or {}))

        __torch_function__ = L._C._disabled_torch_function_impl

    q, x = Scaled(L.tensor([[1, 2], [3, 4]]), 0.5), L.ones(1, 2, requires_grad=True)
    layer = L.nn.Linear(2, 2, bias=False)
    layer.weight = L.nn.Parameter(q, requires_grad=False)
    y = layer(x)
    y.sum().backward()
    return q + 1, q @ q, q.sum(), y.detach(), x.grad, type(layer.weight).__name__


@program
def parameters_and_optimizers(L):
    found = []
    for kind in (L.optim.SGD, L.optim.Adam, L.optim.AdamW, L.optim.RMSprop, L.optim.Adagrad):
        p = L.nn.Parameter(holding(L)(numbers(L, 2)))
        optimizer = kind([p], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            (p**2).sum().backward()
            optimizer.step()
        found.append((shown(p), isinstance(p, L.nn.Parameter), p.requires_grad))
    return found


@program
def modules(L):
    layer = L.nn.Linear(2, 2)
    layer.weight = L.nn.Parameter(holding(L)(L.eye(2)))
    twin = copy.deepcopy(layer)
    layer.load_state_dict(twin.state_dict())
    layer.bias.data.zero_()
    return (
        [shown(twin.weight), twin.weight.held is layer.weight.held, isinstance(twin.weight, L.nn.Parameter)],
        [
            shown(layer(L.ones(1, 2))),
            [name for name, _ in layer.named_parameters()],
            shown(layer.state_dict()["weight"]),
        ],
    )


@program
def copies(L):
    w = holding(L)(numbers(L, 2))
    deep, shallow = copy.deepcopy(w), copy.copy(w)
    return shown(deep), deep.held is w.held, shown(shallow), shallow.held is w.held


@program
def numbers_of_them(L):
    seen = []
    kind = holding(L, seen)
    w = kind(L.tensor(3.0))
    return [w.item(), float(w), int(w), bool(w > 2), 4 if kind(L.tensor(True)) else 5, seen]


@program
def transforms(L):
    w = holding(L)(numbers(L, 3))
    return (
        shown(L.func.grad(lambda x: (x**2).sum())(w)),
        shown(L.func.vmap(lambda x: x * 2)(w)),
        shown(L.func.jvp(lambda x: x * x, (w,), (w,))[1]),
    )


@program
def modes_are_asked_first(L):
    seen = []

    class Mode(importlib.import_module(f"{L.__name__}.utils._python_dispatch").TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(("mode", str(func), [kind.__name__ for kind in types]))
            return func(*args, **(kwargs or {}))

    w = holding(L, seen)(numbers(L, 2))
    with Mode():
        result = w + 1
    return shown(result), seen


@program
def one_inside_of_another(L):
    seen = []
    inner, outer = holding(L, seen), holding(L, seen)
    result = outer(inner(numbers(L, 2))) * 2
    return type(result.held).__name__, result.held.held, seen


@program
def subclasses_are_asked_first(L):
    class Base(L.Tensor):
        @staticmethod
        def __new__(cls):
            return L.Tensor._make_wrapper_subclass(cls, (2,))

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append((cls.__name__, [kind.__name__ for kind in types]))
            return NotImplemented

        __torch_function__ = L._C._disabled_torch_function_impl

    class Derived(Base):
        pass

    seen = []
    return raised(lambda: L.add(Base(), Derived())), seen


@program
def classes_with_memory(L):
    seen = []

    class Logged(L.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append(str(func))
            with L._C._DisableTorchDispatch():
                return func(*args, **(kwargs or {}))

        __torch_function__ = L._C._disabled_torch_function_impl

    x = L.Tensor._make_subclass(Logged, L.ones(2))
    return [(x + 1).tolist(), (x * 2).tolist(), seen]


@program
def under_the_default_function(L):
    w = holding(L, plain=False)(numbers(L, 2), requires_grad=True)
    y = (w * 2).exp().sum()
    y.backward()
    return shown(y.detach()), shown(w.grad), shown(L.add(w, 1).detach())


@program
def errors(L):
    make = L.Tensor._make_wrapper_subclass
    kind = holding(L)
    return [
        raised(lambda: make(type("A", (L.Tensor,), {}), (2,))),
        raised(lambda: make(int, (2,))),
        raised(lambda: make(3, (2,))),
        raised(lambda: make(kind, "a")),
        raised(lambda: make(kind)),
        raised(lambda: make(kind, (2,), dtype=L.int64, requires_grad=True)),
        raised(lambda: kind(L.ones(2)).numpy()),
        raised(lambda: kind(L.ones(2)).tolist()),
        raised(lambda: kind(L.ones(2)).item()),
        raised(lambda: bool(kind(L.ones(2)))),
        raised(lambda: kind(L.ones(2), requires_grad=True).add_(1)),
        raised(lambda: (kind(L.ones(2), requires_grad=True) * 2).backward()),
    ]


class Kept(adjoint.Tensor):
    """At the top of the module, for pickle."""

    @staticmethod
    def __new__(cls, held):
        return adjoint.Tensor._make_wrapper_subclass(cls, held.shape, dtype=held.dtype)

    def __init__(self, held):
        self.held = held

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        args = [x.held if isinstance(x, cls) else x for x in args]
        return cls(func(*args, **(kwargs or {})))


def test_they_can_be_pickled():
    again = pickle.loads(pickle.dumps(Kept(adjoint.tensor([1.0, 2.0]))))
    assert type(again) is Kept
    assert (again + 1).held.tolist() == [2, 3]


def test_they_can_be_saved(tmp_path):
    adjoint.save({"w": Kept(adjoint.ones(2))}, tmp_path / "w.pt", pickle_module=pickle)
    again = adjoint.load(tmp_path / "w.pt", weights_only=False)["w"]
    assert type(again) is Kept
    assert again.held.tolist() == [1, 1]


def test_memory_is_refused():
    w = Kept(adjoint.ones(2))
    for ask in (
        w.numpy,
        w.tolist,
        w.share_memory_,
        lambda: w.set_(adjoint.ones(2)),
        lambda: memoryview(w),
        w.__dlpack__,
    ):
        with pytest.raises((RuntimeError, BufferError, TypeError)):
            ask()
    assert repr(w) == "Kept(..., size=(2,), dtype=torch.float32)"


def test_they_die_and_leave_the_thread_as_it_was():
    flags = []

    def run():
        flags.append(adjoint._C._mode_flags())
        w = Kept(adjoint.ones(2))
        flags.append(adjoint._C._mode_flags())
        seen = weakref.ref(w)
        y = (w * 2).exp()
        del w, y
        gc.collect()
        flags.append(adjoint._C._mode_flags())
        flags.append(seen())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert flags == [0, flags[1], 0, None]
    assert flags[1] != 0


def test_recorded_changes_of_views_are_refused():
    w = Kept(adjoint.ones(2, 2)).requires_grad_()
    y = w * 1
    view = y[0]
    for change in (lambda: view.mul_(2), lambda: y.mul_(2)):
        with pytest.raises(RuntimeError, match="that has views, or is one, cannot be changed in place"):
            change()
    with adjoint.no_grad():
        y.detach()[0].mul_(2)


def test_an_error_of_the_class_leaves_all_as_it_was():
    class Failing(Kept):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            raise ValueError(str(func))

    w = Failing(adjoint.ones(2))
    with pytest.raises(ValueError, match=r"aten\.add\.Tensor"):
        w + 1
    with pytest.raises(ValueError, match=r"aten\.mul_\.Tensor"):
        w.mul_(2)
    assert (adjoint.ones(2) + 1).tolist() == [2, 2]


def test_too_few_results_are_refused():
    class Single(Kept):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return cls(adjoint.ones(2))

    w = Single(adjoint.ones(2, 2))
    w.requires_grad_()
    with pytest.raises(RuntimeError, match="__torch_dispatch__ returned 1 of 2 results"):
        w.max(1)


def test_another_thread_refuses_them():
    w, words = Kept(adjoint.ones(2)), []

    def run():
        try:
            w + 1
        except RuntimeError as error:
            words.append(str(error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert len(words) == 1
    assert (w + 1).held.tolist() == [2, 2]
