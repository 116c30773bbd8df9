"""Programs as people write them: tensors that log, carry notes, know they are diagonal, have units or masks."""

import functools

from ..compare import leaf, programs, raised

program, test_program = programs()


@program
def a_diagonal_tensor(L):
    handled = {}

    def implements(*functions):
        def register(function):
            handled.update(dict.fromkeys(functions, function))
            return function

        return register

    class Diagonal:
        def __init__(self, size, value):
            self.size, self.value = size, value

        def __repr__(self):
            return f"Diagonal({self.size}, {self.value})"

        def tensor(self):
            return self.value * L.eye(self.size)

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func not in handled or not all(issubclass(t, L.Tensor | Diagonal) for t in types):
                return NotImplemented
            return handled[func](*args, **(kwargs or {}))

    def dense(x):
        return x.tensor() if isinstance(x, Diagonal) else x

    @implements(L.mean)
    def mean(input):
        return float(input.value) / input.size

    @implements(L.mm, L.matmul, L.Tensor.matmul)
    def mm(a, b):
        if isinstance(a, Diagonal) and isinstance(b, Diagonal):
            return Diagonal(a.size, a.value * b.value)
        return L.mm(dense(a), dense(b))

    @implements(L.add, L.Tensor.add)
    def add(a, b, *, alpha=1):
        return L.add(dense(a), dense(b), alpha=alpha)

    @implements(L.nn.functional.linear)
    def linear(input, weight, bias=None):
        return L.nn.functional.linear(dense(input), dense(weight), bias)

    d, p = Diagonal(2, 3), L.ones(2, 2)
    results = [L.mean(d), repr(L.mm(d, d)), L.mm(d, p), L.matmul(p, d), L.add(d, p, alpha=2), p + d]
    results += [L.nn.functional.linear(p, d), L.nn.Linear(2, 2, bias=False)(d).shape, p @ d]
    return results, raised(lambda: L.mul(d, 2), 50), raised(lambda: L.exp(d), 50), raised(lambda: p * d, 40)


@program
def a_tensor_with_notes(L):
    class Noted(L.Tensor):
        @staticmethod
        def __new__(cls, data, notes=(), *args, **kwargs):
            return L.as_tensor(data, *args, **kwargs).as_subclass(cls)

        def __init__(self, data, notes=(), *args, **kwargs):
            self.notes = tuple(notes)

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            notes = []
            for arg in (*args, *(kwargs or {}).values()):
                inner = arg if isinstance(arg, list | tuple) else (arg,)
                notes += [note for item in inner for note in getattr(item, "notes", ())]
            result = super().__torch_function__(func, types, args, kwargs or {})
            if isinstance(result, cls):
                result.notes = (*notes, func.__name__)
            return result

    a, b = Noted([1.0, 2.0], ["a"]), Noted([3.0, 4.0], ["b"])
    values = [a + b, a.exp(), L.cat([a, b]), a[0], L.nn.functional.relu(b), (a * 2).sum(), a.view(2, 1), 1 - b]
    grown = a.requires_grad_()
    (grown * 2).sum().backward()
    return [(v.notes, v.tolist()) for v in values], type(a.shape).__name__, a.grad.tolist()


@program
def a_tensor_that_logs(L):
    log = []

    class Logging(L.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func is not L.Tensor.__repr__:
                log.append(L.overrides.resolve_name(func))
            return super().__torch_function__(func, types, args, kwargs or {})

    L.manual_seed(0)
    x = L.linspace(-1, 1, 6).reshape(2, 3).as_subclass(Logging)
    net = L.nn.Sequential(L.nn.Linear(3, 3), L.nn.ReLU(), L.nn.LayerNorm(3), L.nn.Linear(3, 2), L.nn.Softmax(dim=1))
    loss = L.nn.CrossEntropyLoss()(net(x), L.tensor([0, 1]))
    loss.backward()
    kinds = type(loss).__name__, type(net[0].weight.grad).__name__
    return [name for name in log if name.startswith(("torch.nn", "torch.Tensor.backward"))], kinds, loss.item()


@program
def a_tensor_with_a_unit(L):
    class Quantity:
        def __init__(self, value, **unit):
            self.value = L.as_tensor(value)
            self.unit = {name: power for name, power in unit.items() if power}

        def __repr__(self):
            return f"{self.value.tolist()} {self.unit}"

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if not all(issubclass(t, Quantity | L.Tensor) for t in types):
                return NotImplemented
            rule = RULES.get(func.__name__)
            return rule(func, *args, **(kwargs or {})) if rule else NotImplemented

        def __mul__(self, other):
            return L.mul(self, other)

        def __truediv__(self, other):
            return L.div(self, other)

        def __add__(self, other):
            return L.add(self, other)

        __rmul__ = __mul__

    def parts(x):
        return (x.value, x.unit) if isinstance(x, Quantity) else (x, {})

    def product(sign, func, a, b):
        (a, one), (b, other) = parts(a), parts(b)
        names = {**one, **other}
        return Quantity(func(a, b), **{name: one.get(name, 0) + sign * other.get(name, 0) for name in names})

    def total(func, a, b):
        (a, one), (b, other) = parts(a), parts(b)
        if one != other:
            raise TypeError(f"cannot add {one} and {other}")
        return Quantity(func(a, b), **one)

    def same(func, a, *args, **kwargs):
        return Quantity(func(a.value, *args, **kwargs), **a.unit)

    RULES = {"mul": functools.partial(product, 1), "div": functools.partial(product, -1), "add": total}
    RULES |= dict.fromkeys(("sum", "mean", "neg", "reshape", "abs", "relu"), same)

    way, time = Quantity([6.0, 9.0], m=1), Quantity([2.0, 3.0], s=1)
    results = [way / time, way * time, way * 2, way + way, L.sum(way), L.mean(way, dim=0), L.abs(way), 2 * way]
    results += [L.ones(2) * way, L.nn.functional.relu(way), L.div(way, way)]
    return list(map(repr, results)), raised(lambda: way + time, 40), raised(lambda: L.exp(way), 50)


@program
def a_tensor_with_a_mask(L):
    class Masked(L.Tensor):
        @staticmethod
        def __new__(cls, data, mask):
            self = L.as_tensor(data).as_subclass(cls)
            self.mask = mask
            return self

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            masks = [arg.mask for arg in args if isinstance(arg, cls) and hasattr(arg, "mask")]
            if func in (L.sum, L.Tensor.sum):
                plain = args[0].as_subclass(L.Tensor)
                return L.where(args[0].mask, plain, L.zeros(())).sum(*args[1:], **kwargs)
            if func in (L.mean, L.Tensor.mean):
                return L.sum(args[0]) / masks[0].sum()
            result = super().__torch_function__(func, types, args, kwargs)
            if isinstance(result, cls) and masks and result.shape == masks[0].shape:
                result.mask = functools.reduce(L.logical_and, masks)
            return result

    a = Masked([1.0, 2.0, 3.0], L.tensor([True, False, True]))
    b = Masked([10.0, 20.0, 30.0], L.tensor([True, True, False]))
    c = a + b
    return [x.mask.tolist() for x in (a, c, a.exp(), -a)], a.sum(), c.sum(), a.mean(), L.mean(c), type(a.sum()).__name__


@program
def a_tensor_that_wraps_another(L):
    class Wrapper:
        def __init__(self, data):
            self.data = data

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            def unwrap(value):
                if isinstance(value, list | tuple):
                    return type(value)(map(unwrap, value))
                return value.data if isinstance(value, cls) else value

            result = func(*unwrap(tuple(args)), **{name: unwrap(value) for name, value in (kwargs or {}).items()})
            return cls(result) if isinstance(result, L.Tensor) else result

        def __getattr__(self, name):
            value = getattr(self.data, name)
            if not callable(value):
                return value
            return lambda *args, **kwargs: Wrapper.__torch_function__(value, (), args, kwargs)

    x, w = Wrapper(leaf(L, 1.0, 2.0)), L.tensor([[1.0, 2.0], [3.0, 4.0]])
    results = [L.add(x, 1), L.cat([x, x]), L.nn.functional.linear(x, w), L.stack([x, L.ones(2)]), w @ x, w + x, x.exp()]
    total = L.sum(L.mul(results[2], results[5]))
    total.backward()
    return [r.data for r in results], x.data.grad, x.shape, L.equal(x, x), L.is_floating_point(x)


@program
def a_subclass_that_counts_and_a_mode_that_counts(L):
    counts = {"class": 0, "mode": 0}

    class Counted(L.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            counts["class"] += 1
            return super().__torch_function__(func, types, args, kwargs or {})

    class Counting(L.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            counts["mode"] += 1
            return func(*args, **(kwargs or {}))

    x = L.ones(2).as_subclass(Counted)
    with Counting():
        y = x + 1
        z = L.ones(2) * y
    return counts, type(z).__name__, z.tolist()


@program
def a_lazy_tensor_that_remembers_calls(L):
    class Lazy:
        def __init__(self, func, args):
            self.func, self.args = func, args

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return cls(func, args)

        def value(self):
            return self.func(*[arg.value() if isinstance(arg, Lazy) else arg for arg in self.args])

        def __add__(self, other):
            return L.add(self, other)

    x = Lazy(L.ones, (2,))
    y = L.exp(L.mul(x + 1, L.tensor([1.0, 2.0])))
    z = L.ones(2) - L.nn.functional.relu(L.matmul(y, L.ones(2)))
    return y.value(), z.value()


@program
def symbols_that_are_traced(L):
    lines = []

    class Symbol:
        def __init__(self):
            self.name = f"v{len(lines)}"

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            result = cls()
            shown = [arg.name if isinstance(arg, cls) else type(arg).__name__ for arg in args]
            named = [f"{key}={type(value).__name__}" for key, value in (kwargs or {}).items()]
            lines.append(f"{result.name} = {L.overrides.resolve_name(func)}({', '.join(shown + named)})")
            return result

    net = L.nn.Sequential(L.nn.Linear(2, 3), L.nn.ReLU(), L.nn.BatchNorm1d(3), L.nn.GELU(), L.nn.Linear(3, 1))
    for module in (net[0], net[1], net[3], net[4], L.nn.Softplus(), L.nn.Dropout(0.1), L.nn.Tanh()):
        module(Symbol())
    return lines
