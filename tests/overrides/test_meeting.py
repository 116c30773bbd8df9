"""Several classes in one call, foreign objects, and classes that take nothing over, against torch."""

from ..compare import programs, raised
from .told import answering, computing

program, test_program = programs()


def classes(L, **answers):
    """Classes by name, each answering what is given, and the order in which they were asked."""
    order = []

    def made(name, answer, base):
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            order.append((cls.__name__, [t.__name__ for t in types]))
            return answer

        return type(name, (base,), {"__torch_function__": classmethod(__torch_function__)})

    return order, {name: made(name, answer, base(L)) for name, (answer, base) in answers.items()}


def tensor(L):
    return L.Tensor


def thing(L):
    return object


@program
def the_first_of_unrelated_classes_answers(L):
    order, made = classes(L, A=(1, thing), B=(2, thing))
    a, b = made["A"](), made["B"]()
    answers = [L.add(a, b), L.add(b, a), L.cat([b, a]), L.where(a, b, a), L.add(L.ones(1), b, out=a)]
    return answers, order


@program
def a_subclass_is_asked_first(L):
    order, made = classes(L, Base=(NotImplemented, tensor))
    Derived = type("Derived", (made["Base"],), {})
    base, derived = L.ones(1).as_subclass(made["Base"]), L.ones(1).as_subclass(Derived)
    answers = [raised(lambda: L.add(base, derived), 90), raised(lambda: L.add(derived, base), 90)]
    answers.append(raised(lambda: L.nn.functional.mse_loss(base, derived), 90))
    return order, answers[0][0], answers[2][0]


@program
def who_declines_leaves_it_to_the_next(L):
    order, made = classes(L, A=(NotImplemented, thing), B=("b", thing), C=("c", tensor))
    a, b, c = made["A"](), made["B"](), L.ones(1).as_subclass(made["C"])
    return [L.add(a, b), L.add(a, c), a + c, c + a, L.nn.functional.relu(c), L.stack([L.ones(1), a, b, c])], order


@program
def all_decline(L):
    _, made = classes(L, A=(NotImplemented, thing), B=(NotImplemented, tensor))
    a, b, p = made["A"](), L.ones(1).as_subclass(made["B"]), L.ones(1)
    calls = [lambda: L.add(a, b), lambda: b.add(1), lambda: b.shape, lambda: L.cat([a, b]), lambda: b[0]]
    calls += [lambda: L.nn.functional.mse_loss(b, b), lambda: a + b, lambda: b + 1, lambda: 1 - b, lambda: b**2]
    calls += [lambda: setattr(b, "data", p), lambda: b.dim(), lambda: L.einsum("i,i", b, b), lambda: b.cos()]
    return [raised(call, 76) for call in calls], b == 1


@program
def two_subclasses_by_default(L):
    A, B = (type(name, (L.Tensor,), {}) for name in "AB")
    a, b = L.ones(1).as_subclass(A), L.ones(1).as_subclass(B)
    C = type("C", (A,), {})
    c = L.ones(1).as_subclass(C)
    kinds = [type(a + c).__name__, type(c + a).__name__, type(L.add(a, c)).__name__, type(L.cat([a, c])).__name__]
    return kinds, raised(lambda: L.add(a, b), 80), raised(lambda: a + b, 40), raised(lambda: L.cat([a, b]), 80)


@program
def foreign_objects_anywhere(L):
    Told, calls = answering(L, "told")
    f, p = Told(), L.ones(2)
    answers = [L.add(p, f), L.add(f, 1), L.add(input=p, other=f), L.add(p, p, out=f), L.cat([p, f]), L.stack((f, p))]
    answers += [p + f, f + p, p - f, f - p, p * f, p / f, f / p, p @ f, f @ p, p**f, f**p, p // f, p % f, p == f, p < f]
    answers += [p[f], p[0, f], p.add(f), p.add_(f), p.copy_(f), p.expand_as(f), L.where(p > 0, f, p), L.exp(f)]
    answers += [L.nn.functional.relu(f), L.nn.functional.linear(f, p), L.ones_like(f), L.sum(f), L.einsum("i,i", p, f)]
    answers += [L.autograd.grad(f, p), L.autograd.backward(f), L.equal(p, f), L.split(f, 1), L.unique(f), L.norm(f)]
    answers += [L.broadcast_tensors(p, f), L.meshgrid(f, f), L.max(f), L.nn.init.uniform_(f), L.nn.Linear(2, 2)(f)]
    p[0] = f
    p[f] = 1
    return answers, calls


@program
def where_foreign_objects_are_refused(L):
    Told, calls = answering(L, "told")
    f, p = Told(), L.ones(2)
    refused = [lambda: L.Tensor.add(f, p), lambda: L.Tensor.relu(f), lambda: L.tensor(f), lambda: L.tensor([f])]
    refused += [
        lambda: setattr(p, "data", f),
        lambda: f in p,
        lambda: L.Tensor.shape.__get__(f),
        lambda: p.__add__([f]) + 1,
    ]
    return [raised(call, 0) for call in refused], calls, L.is_tensor(f), L.overrides.is_tensor_like(f)


@program
def assignments_ask_the_tensor_alone(L):
    Told, calls = computing(L)
    p, x = L.ones(2), L.ones(2).as_subclass(Told)
    calls.clear()
    p.data, p.grad = x, x
    told_of_others = list(calls)
    x.data, x.grad, x.requires_grad = p, p, True
    del x.grad
    return told_of_others, calls


@program
def classes_that_take_nothing_over(L):
    class Silent(L.Tensor):
        __torch_function__ = L._C._disabled_torch_function_impl

    Told, calls = computing(L)
    s, x, p = L.ones(2).as_subclass(Silent), L.ones(2).as_subclass(Told), L.nn.Parameter(L.ones(2))
    calls.clear()
    kinds = [type(v).__name__ for v in (s + 1, s.exp(), L.add(s, p), p * 2, s[0], s.add_(1), L.nn.functional.relu(s))]
    L.add(s, x), L.nn.functional.mse_loss(p, x), s + x
    return kinds, calls, L.overrides.has_torch_function((s, p)), L.overrides.has_torch_function((s, x))


@program
def keywords_are_told_as_they_come(L):
    Told, calls = answering(L)
    f, p, F = Told(), L.ones(2, 2), L.nn.functional
    L.sum(f, 0), L.sum(f, dim=0, keepdim=True), L.sum(input=f), L.add(f, 1, alpha=2), L.softmax(f, dim=0)
    F.softmax(f, 0), F.softmax(f, dim=0, dtype=L.float64), F.cross_entropy(f, p, reduction="sum"), F.pad(f, (1, 1))
    F.linear(p, f), F.linear(p, weight=f, bias=None), F.conv2d(f, f, stride=2), F.dropout(f, training=False)
    F.layer_norm(p, (2,), weight=f), F.batch_norm(p, None, None, f), F.embedding(p, f), F.interpolate(f, scale_factor=2)
    F.max_pool2d(f, 2), F.gelu(f, approximate="tanh"), F.one_hot(f), F.mse_loss(f, p), F.normalize(f, dim=0)
    L.norm(f), L.einsum("ij,jk", f, p), L.einsum("ij,jk", [f, p]), L.cdist(f, p), L.unique(f)
    L.split(f, 1), L.stft(f, 4), L.meshgrid(f, f, indexing="ij"), L.linalg.norm(f, ord=2), L.fft.fft(f, n=4)
    return calls


@program
def defaults_of_ones_own(L):
    """A class whose kwargs are {} unless they are given."""

    class Own(L.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs={}):  # noqa: B006 as programs write it
            with L._C.DisableTorchFunctionSubclass():
                return func(*args, **kwargs)

    x = L.ones(2).as_subclass(Own)
    return x + 1, x.sum(dim=0), x.shape, L.nn.functional.relu(x), x.exp(), x[0]


@program
def ways_to_define_it(L):
    class Static:
        @staticmethod
        def __torch_function__(func, types, args=(), kwargs=None):
            return func.__name__

    class Plain:
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return type(self).__name__

    class Tuple(tuple):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return cls.__name__, func.__name__

    return L.add(Static(), 1), raised(lambda: L.add(Plain(), 1)), L.add(Tuple((1, 2)), 1), L.exp(Tuple())


@program
def what_is_not_callable(L):
    results = []
    for wrong in (None, 5, "text"):
        x = L.ones(1).as_subclass(type("Wrong", (L.Tensor,), {"__torch_function__": wrong}))
        results.append(raised(lambda x=x: x.add(1), 0))
    return results


@program
def a_class_that_changes(L):
    """Taking over begins and ends with the attribute of the class."""

    class Foreign:
        pass

    f, seen = Foreign(), []
    seen.append(raised(lambda: L.exp(f), 0))
    Foreign.__torch_function__ = classmethod(lambda cls, func, types, args=(), kwargs=None: "now")
    seen.append(L.exp(f))
    del Foreign.__torch_function__
    seen.append(raised(lambda: L.exp(f), 0))
    x = L.ones(1).as_subclass(type("Kept", (L.Tensor,), {}))
    seen.append(type(x + 1).__name__)
    type(x).__torch_function__ = classmethod(lambda cls, func, types, args=(), kwargs=None: "then")
    seen.append(x + 1)
    type(x).__torch_function__ = L._C._disabled_torch_function_impl
    seen.append(type(x + 1).__name__)
    return seen
