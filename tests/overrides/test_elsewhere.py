"""Subclasses and foreign objects in the rest of the library: transforms, autocast, checkpoints, NumPy, modules."""

import numpy as np

from ..compare import leaf, programs, raised
from .told import answering, computing

program, test_program = programs(warned=None)  # torch warns of old methods of NumPy, which it has


def subclass(L):
    return type("Kept", (L.Tensor,), {})


def kinds(*values):
    return [kinds(*v) if isinstance(v, list | tuple) else type(v).__name__ for v in values]


@program
def transforms_of_functions(L):
    x = L.tensor([1.0, 2.0]).as_subclass(subclass(L))
    inside = []

    def f(a):
        inside.append(type(a).__name__)
        return (a.sin() * 2).sum()

    results = [L.func.grad(f)(x), L.func.jvp(f, (x,), (L.ones(2),)), L.func.vjp(f, x)[0], L.func.jacrev(f)(x)]
    results += [L.vmap(lambda a: a * 2)(x), L.func.hessian(f)(x)]
    return [np.asarray(r[0] if isinstance(r, tuple) else r).tolist() for r in results]


@program
def no_grad_and_inference(L):
    x = L.ones(2).as_subclass(subclass(L)).requires_grad_()
    with L.no_grad():
        a = x * 2
    with L.inference_mode():
        b = x.detach() * 2
    with L.enable_grad():
        c = x * 2
    return kinds(a, b, c), [v.requires_grad for v in (a, b, c)], b.is_inference()


@program
def autocast(L):
    m = L.ones(2, 2).as_subclass(subclass(L))
    Told, calls = computing(L)
    with L.autocast("cpu", dtype=L.bfloat16):
        product = m @ m
        L.exp(m.as_subclass(L.Tensor).as_subclass(Told))
    return kinds(product), str(product.dtype), [name for name, *_ in calls if name.endswith("exp")]


@program
def checkpoints(L):
    x = L.tensor([1.0, 2.0]).as_subclass(subclass(L)).requires_grad_()
    seen = []

    def f(a):
        seen.append(type(a).__name__)
        return (a * a).sum()

    y = L.utils.checkpoint.checkpoint(f, x, use_reentrant=False)
    y.backward()
    return seen, kinds(y, x.grad), x.grad.tolist()


@program
def custom_functions(L):
    inside = []

    class Square(L.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            inside.append(type(x).__name__)
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            inside.append((type(x).__name__, type(g).__name__))
            return 2 * x * g

    x = L.tensor([3.0]).as_subclass(subclass(L)).requires_grad_()
    y = Square.apply(x)
    y.sum().backward()
    return inside, kinds(y, x.grad), x.grad.tolist()


@program
def saved_tensor_hooks(L):
    packed = []
    x = L.tensor([1.0, 2.0]).as_subclass(subclass(L)).requires_grad_()
    with L.autograd.graph.saved_tensors_hooks(lambda t: packed.append(type(t).__name__) or t, lambda t: t):
        (x * x).sum().backward()
    return len(packed), x.grad.tolist()


@program
def optimizers(L):
    results = []
    for make in (L.optim.SGD, L.optim.Adam, L.optim.AdamW, L.optim.RMSprop, L.optim.Adagrad):
        w = L.nn.Parameter(L.tensor([1.0, 2.0]).as_subclass(subclass(L)))
        optimizer = make([w], lr=0.1)
        (w * w).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        results.append((type(w).__name__, w.grad, w.tolist()))
    return results


@program
def layers(L):
    L.manual_seed(0)
    Kept = subclass(L)
    x = L.rand(2, 3, 4, 4).as_subclass(Kept)
    row = L.rand(2, 3).as_subclass(Kept)
    nn = L.nn
    results = [
        nn.Conv2d(3, 2, 3)(x),
        nn.BatchNorm2d(3)(x),
        nn.MaxPool2d(2)(x),
        nn.AdaptiveAvgPool2d(1)(x),
        nn.Flatten()(x),
    ]
    results += [nn.Linear(3, 2)(row), nn.LayerNorm(3)(row), nn.GELU()(row), nn.Dropout(0.5)(row), nn.Softmax(1)(row)]
    results += [nn.GRU(3, 2)(row[None])[0], nn.LSTM(3, 2)(row[None])[0], nn.Embedding(4, 2)(L.ones(2).long())]
    results += [nn.MSELoss()(row, L.ones(2, 3)), nn.utils.clip_grad_norm_([nn.Parameter(row)], 1.0)]
    return kinds(*results)


@program
def a_transformer(L):
    L.manual_seed(0)
    x = L.rand(2, 3, 4).as_subclass(subclass(L))
    layer = L.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
    y = layer(x)
    y.sum().backward()
    return kinds(y, layer.linear1.weight.grad), tuple(y.shape)


@program
def calls_by_functions_of_numpy(L):
    Told, calls = computing(L)
    x = L.ones(2).as_subclass(Told)
    calls.clear()
    np.asarray(x)
    np.add(x, 1)
    asked = [name for name, *_ in calls]
    Foreign, told = answering(L, 7)
    return asked, x.__array_priority__, Foreign() + L.ones(2), raised(lambda: np.ones(2) * Foreign(), 0)[0], told[:1]


@program
def random_numbers(L):
    Told, calls = answering(L, base=L.Tensor)
    x = L.ones(2).as_subclass(Told)
    L.bernoulli(x), x.uniform_(), L.nn.init.uniform_(x), L.nn.init.ones_(x), L.nn.init.kaiming_uniform_(x)
    L.nn.init.normal_(x, std=2), L.nn.init.constant_(x, 1), L.multinomial(x, 1), L.rand_like(x), x.normal_(1, 2)
    return calls


@program
def hooks_and_handles(L):
    Told, calls = computing(L)
    x = leaf(L, 1.0, 2.0).as_subclass(Told)
    x.retain_grad()
    x.register_hook(lambda g: g * 2)
    calls.clear()
    y = x * 3
    L.autograd.backward(y, L.ones(2))
    return [name for name, *_ in calls], x.grad


@program
def tensors_as_keys_and_members(L):
    x = L.ones(2).as_subclass(subclass(L))
    table = {x: 1}
    return x in table, table[x], hash(x) == hash(x), len({x, x}), any(x is y for y in [x])


@program
def shapes_and_sequences(L):
    m = L.arange(4.0).reshape(2, 2).as_subclass(subclass(L))
    a, b = m
    return (
        kinds(a, b, *m, *reversed(m), max(m[0]), sum(m)),
        len(m),
        [v.tolist() for v in m],
        float(m[0, 1]),
        int(m[1, 1]),
    )


@program
def missing_arguments_of_initialisations(L):
    x = L.ones(2).as_subclass(type("Kept", (L.Tensor,), {}))
    return [raised(lambda: L.nn.init.constant_(x), 12), raised(lambda: L.nn.init.uniform_(x, 0, 1, wrong=2), 12)]
