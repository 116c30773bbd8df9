"""Ops that programs define (torch.library) and torch.ops, against torch."""

import sys
import typing

import pytest

import adjoint

from .compare import programs, raised

program, test_program = programs()


def fresh():
    """A namespace that no other program uses, the same in both libraries: torch keeps what is defined."""
    return f"adjoint_tests_{sys._getframe(1).f_code.co_name}"


def scaled(L, space):
    def function(x, factor=2.0):
        return x * factor

    function.__annotations__ = {"x": L.Tensor, "factor": float, "return": L.Tensor}
    return L.library.custom_op(f"{space}::scaled", function, mutates_args=())


def with_gradient(L, space):
    op = scaled(L, space)

    def setup(ctx, inputs, output):
        ctx.factor = inputs[1]

    op.register_autograd(lambda ctx, g: (g * ctx.factor, None), setup_context=setup)
    return op


@program
def a_custom_op_and_its_names(L):
    space = fresh()
    op = scaled(L, space)
    packet = getattr(L.ops, space).scaled
    texts = [repr(op), str(packet), str(packet.default), packet.default.name(), str(packet.default._schema), op._schema]
    return op(L.ones(2)), packet(L.ones(2), 3.0), packet.default(L.ones(2), factor=4.0), named(texts, space)


def named(texts, space):
    return [text.replace(space, "space") for text in texts]


@program
def gradients(L):
    op = with_gradient(L, fresh())
    x = L.ones(2, requires_grad=True)
    y = op(x, 3.0)
    (y * y).sum().backward()
    twice = L.autograd.grad(op(x, 5.0).sum(), x)
    return y.requires_grad, x.grad, twice, op(x.detach()).requires_grad


@program
def no_gradient_registered(L):
    space = fresh()
    x = L.ones(2, requires_grad=True)
    y = scaled(L, space)(x)
    kind, words = raised(lambda: y.sum().backward(), 200)
    return y.requires_grad, kind, words.replace(space, "space")


@program
def too_few_gradients(L):
    space = fresh()
    op = scaled(L, space)
    op.register_autograd(lambda ctx, g: ())
    x = L.ones(2, requires_grad=True)
    kind, words = raised(lambda: op(x, 3.0).sum().backward(), 90)
    return kind, words.replace(space, "space")


@program
def overloads_of_one_name(L):
    space = fresh()
    L.library.define(f"{space}::f", "(Tensor x) -> Tensor")
    L.library.define(f"{space}::f.two", "(Tensor x, Tensor y) -> Tensor")
    L.library.impl(f"{space}::f", "default", lambda x: x + 1)
    L.library.impl(f"{space}::f.two", "default", lambda x, y: x * y)
    f, x = getattr(L.ops, space).f, L.arange(3.0)
    taken = f(x), f(x, x), f.two(x, x + 1), f.default(x)
    library = L.library.Library(f"{space}_more", "DEF")
    library.define("g.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
    library.impl("g.out", lambda x, out: out.copy_(x * 2), "CPU")
    out = L.zeros(3)
    written = getattr(L.ops, f"{space}_more").g.out(x, out=out)
    again = raised(lambda: L.library.define(f"{space}::f.two", "(Tensor x) -> Tensor"), 30)
    library._destroy()
    return *taken, sorted(f.overloads()), str(f.two._schema), f.two.name(), written, out, again


def test_a_batch_without_a_rule():
    """vmap computes one by one, with gradients; torch does, too, and warns from C++."""
    space = fresh()
    op = scaled(adjoint, space)
    op.register_autograd(
        lambda ctx, g: (g * ctx.factor, None),
        setup_context=lambda ctx, inputs, output: setattr(ctx, "factor", inputs[1]),
    )
    x = adjoint.arange(6.0).reshape(3, 2)
    assert adjoint.vmap(lambda x: op(x, 3.0), in_dims=1)(x).tolist() == (3 * x.T).tolist()
    assert adjoint.vmap(adjoint.func.grad(lambda x: op(x, 3.0).sum()))(x).tolist() == [[3.0, 3.0]] * 3


@program
def what_changes_its_arguments(L):
    space = fresh()

    def add(x, y):
        x.add_(y)

    add.__annotations__ = {"x": L.Tensor, "y": L.Tensor, "return": None}
    op = L.library.custom_op(f"{space}::add", add, mutates_args=("x",))
    checked = L.library.opcheck(op, (L.ones(2), L.ones(2)))  # needs no fake kernel: it returns nothing
    add.__annotations__["y"] = int
    wrong = [
        raised(lambda: L.library.infer_schema(add, mutates_args=("y",)), 60),
        raised(lambda: L.library.infer_schema(add, mutates_args=("z",)), 60),
    ]
    return checked, wrong


@program
def what_is_not_what_it_says(L):
    space = fresh()

    def three(x):
        return 3

    three.__annotations__ = {"x": L.Tensor, "return": L.Tensor}
    op = L.library.custom_op(f"{space}::three", three, mutates_args=())
    x = L.ones(2, requires_grad=True)
    unregistered = scaled(L, space)
    unregistered.register_fake(lambda x, factor=2.0: L.empty_like(x))
    kind, words = raised(lambda: L.library.opcheck(unregistered, (x,)), 90)
    return (
        raised(lambda: op(L.ones(2)), 24),
        (kind, words.replace(space, "space")),
        raised(lambda: L.library.opcheck(unregistered, (x,), test_utils="nothing"), 200),
        raised(lambda: L.library.opcheck("f", (x,)), 60),
    )


@program
def saved_tensors_and_second_gradients(L):
    space = fresh()

    def cube(x):
        return x**3

    cube.__annotations__ = {"x": L.Tensor, "return": L.Tensor}
    op = L.library.custom_op(f"{space}::cube", cube, mutates_args=())
    op.register_autograd(
        lambda ctx, g: 3 * g * ctx.saved_tensors[0] ** 2,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    x = L.tensor([1.0, 2.0], requires_grad=True)
    (first,) = L.autograd.grad(op(x).sum(), x, create_graph=True)
    (second,) = L.autograd.grad(first.sum(), x)
    return first, second


@program
def several_tensors_in_and_out(L):
    space = fresh()

    def both(x, y):
        return x * y, x + y

    both.__annotations__ = {"x": L.Tensor, "y": L.Tensor, "return": tuple[L.Tensor, L.Tensor]}
    op = L.library.custom_op(f"{space}::both", both, mutates_args=())
    op.register_autograd(
        lambda ctx, g, h: (g * ctx.saved_tensors[1] + h, g * ctx.saved_tensors[0] + h),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    x, y = L.tensor([2.0], requires_grad=True), L.tensor([3.0], requires_grad=True)
    product, total = op(x, y)
    (product + 2 * total).sum().backward()
    return product, total, x.grad, y.grad


@program
def lists_of_tensors(L):
    space = fresh()

    def total(xs):
        return sum(xs) * 1.0

    total.__annotations__ = {"xs": list[L.Tensor], "return": L.Tensor}
    op = L.library.custom_op(f"{space}::total", total, mutates_args=())
    op.register_autograd(lambda ctx, g: [g, g * 2])
    a, b = L.ones(2, requires_grad=True), L.ones(2, requires_grad=True)
    y = op([a, b])
    y.sum().backward()
    return y, a.grad, b.grad, str(getattr(L.ops, space).total.default._schema).replace(space, "space")


@program
def changes_are_counted(L):
    space = fresh()

    def increase(x):
        x.add_(1)

    increase.__annotations__ = {"x": L.Tensor, "return": None}
    op = L.library.custom_op(f"{space}::increase", increase, mutates_args={"x"})
    x = L.ones(2)
    result = op(x)
    schema = getattr(L.ops, space).increase.default._schema
    return result, x, x._version, schema.is_mutable, str(schema).replace(space, "space")


@program
def on_the_meta_device(L):
    op = scaled(L, fresh())
    missing = raised(lambda: op(L.ones(2, device="meta")), 40)
    op.register_fake(lambda x, factor=2.0: L.empty_like(x))
    return missing, op(L.ones(2, device="meta")).shape


@program
def wrong_arguments(L):
    space = fresh()
    op = scaled(L, space)
    x = L.ones(1)
    calls = [lambda: op(1), lambda: op(), lambda: op(x, "a"), lambda: op(x, 1.0, 2), lambda: op(x, wrong=1)]
    return [(kind, words.replace(space, "space")[:60]) for kind, words in (raised(call, 150) for call in calls)]


@program
def a_result_that_is_an_argument(L):
    space = fresh()

    def same(x):
        return x

    same.__annotations__ = {"x": L.Tensor, "return": L.Tensor}
    kind, words = raised(lambda: L.library.custom_op(f"{space}::same", same, mutates_args=())(L.ones(1)), 400)
    return kind, "must not also be an input to this custom operator" in words


@program
def schemas_from_annotations(L):
    def make(**kinds):
        def function():
            """Stands for one with these annotations."""

        import inspect

        kinds, defaults = dict(kinds), {"n": 3, "s": "a", "flag": False, "w": None}
        result = kinds.pop("result")
        parameters = [
            inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=kind,
                              default=defaults.get(name, inspect.Parameter.empty))
            for name, kind in kinds.items()
        ]  # fmt: skip
        function.__signature__ = inspect.Signature(parameters, return_annotation=result)
        function.__annotations__ = kinds | {"return": result}
        return function

    T = L.Tensor
    functions = [
        make(x=T, result=T),
        make(x=T, n=int, result=T),
        make(x=T, s=str, flag=bool, result=T),
        make(x=T, w=T | None, result=T),
        make(xs=typing.Sequence[T], ns=typing.Sequence[int], result=tuple[T, T]),
        make(x=T, number=float, kind=L.dtype, place=L.device, result=list[T]),
        make(x=T, result=None),
    ]
    texts = [L.library.infer_schema(function, mutates_args=()) for function in functions]
    written = L.library.infer_schema(functions[0], mutates_args={"x"})
    return texts, written


@program
def schemas_that_cannot_be_inferred(L):
    def bare(x):
        return x

    def no_result(x):
        return x

    def odd(x):
        return x

    no_result.__annotations__ = {"x": L.Tensor}
    odd.__annotations__ = {"x": set, "return": L.Tensor}
    return [raised(lambda f=f: L.library.infer_schema(f, mutates_args=()), 45) for f in (bare, no_result, odd)]


@program
def libraries(L):
    space = fresh()
    library = L.library.Library(space, "DEF")
    name = library.define("pair(Tensor x, int[] d=[1], *, str s='a') -> (Tensor, Tensor)")
    library.impl("pair", lambda x, d=(1,), s="a": (x + 1, x + len(s)), "CPU")
    packet = getattr(L.ops, space).pair
    again = raised(lambda: library.define("pair(Tensor x) -> Tensor"), 30)
    results = packet(L.ones(1)), packet(L.ones(1), [2], s="abc")
    schema = str(packet.default._schema).replace(space, "space")
    wrong_kind = raised(lambda: L.library.Library(space, "ODD"))
    return name, results, schema, again, wrong_kind


@program
def define_and_impl(L):
    space = fresh()
    L.library.define(f"{space}::twice", "(Tensor x) -> Tensor")
    L.library.impl(f"{space}::twice", "cpu", lambda x: x * 2)
    L.library.register_autograd(f"{space}::twice", lambda ctx, g: g * 2)
    x = L.ones(1, requires_grad=True)
    y = getattr(L.ops, space).twice(x)
    y.backward()
    return y, x.grad


@program
def composites_are_recorded(L):
    space = fresh()
    L.library.define(f"{space}::square", "(Tensor x) -> Tensor")
    L.library.impl(f"{space}::square", "CompositeImplicitAutograd", lambda x: x * x)
    x = L.tensor([3.0], requires_grad=True)
    getattr(L.ops, space).square(x).backward()
    return x.grad


@program
def under_vmap(L):
    op = with_gradient(L, fresh())
    op.register_vmap(lambda info, in_dims, x, factor: (x * factor, in_dims[0]))
    return L.vmap(lambda x: op(x, 3.0))(L.arange(6.0).reshape(3, 2))


@program
def under_autocast(L):
    op = with_gradient(L, fresh())
    op.register_autocast("cpu", L.bfloat16)
    with L.autocast("cpu"):
        inside = op(L.ones(2))
    return inside, op(L.ones(2)).dtype


@program
def in_a_dispatch_mode(L):
    from importlib import import_module

    seen = []
    base = import_module(f"{L.__name__}.utils._python_dispatch").TorchDispatchMode

    class Log(base):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    space = fresh()
    op = scaled(L, space)
    with Log():
        y = op(L.ones(2), 3.0)
    return y, seen[-1].replace(space, "space")


@program
def kernels_that_are_off(L):
    op = scaled(L, fresh())
    op.register_kernel("cpu", lambda x, factor=2.0: x * 100)
    before = op(L.ones(1))
    with op.set_kernel_enabled("cpu", enabled=False):
        off = op(L.ones(1))
    return before, off, op(L.ones(1))


@program
def ops_by_name(L):
    aten, x = L.ops.aten, L.arange(6.0).reshape(2, 3)
    return [
        aten.add.Tensor(x, x, alpha=2),
        aten.add(x, 1),
        aten.sum.default(x),
        aten.sum.dim_IntList(x, [0], True),
        aten.mean.dim(x, [1]),
        aten.view.default(x, [3, 2]),
        aten.transpose.int(x, 0, 1),
        aten.select.int(x, 0, 1),
        aten.slice.Tensor(x, 1, 0, 2),
        aten.mm.default(x, x.t()),
        aten.addmm.default(L.zeros(2, 2), x, x.t()),
        aten._softmax.default(x, 1, False),
        aten.relu.default(x - 2),
        aten.pow.Tensor_Scalar(x, 2),
        aten.clamp.default(x, 1, 3),
        aten.where.self(x > 2, x, -x),
        aten.cat.default([x, x], 1),
        aten.expand.default(x[:1], [2, 3]),
        aten.unsqueeze.default(x, 0),
        aten.permute.default(x, [1, 0]),
        aten.index.Tensor(x, [None, L.tensor([0, 2])]),
        aten._to_copy.default(x, dtype=L.float64),
        aten.max.dim(x, 1),
        aten.add_.Tensor(x.clone(), 1),
        aten.convolution.default(L.ones(1, 1, 3), L.ones(1, 1, 2), None, [1], [0], [1], False, [0], 1),
    ]


@program
def names_of_ops(L):
    aten = L.ops.aten
    overloads = [aten.add.Tensor, aten.sum.dim_IntList, aten.exp.default, aten.mul_.Tensor, aten.max.dim]
    texts = [
        (str(op), op.name(), op.__name__, op.namespace, op._overloadname, str(op.overloadpacket)) for op in overloads
    ]
    missing = [raised(lambda: aten.no_such_op), raised(lambda: L.ops.no_such_space.op), raised(lambda: aten.exp.odd)]
    return texts, missing, aten.add.Tensor is aten.add.Tensor, aten.exp.default is aten.exp


def test_opcheck_finds_what_is_wrong():
    def careless(x):
        x.add_(1)
        return x * 2

    careless.__annotations__ = {"x": adjoint.Tensor, "return": adjoint.Tensor}
    op = adjoint.library.custom_op(f"{fresh()}::careless", careless, mutates_args=())
    results = adjoint.library.opcheck(op, (adjoint.ones(2),), raise_exception=False)
    assert "mutated" in str(results["test_schema"])
    assert "no fake impl" in str(results["test_faketensor"])
    with pytest.raises(Exception, match="test_schema failed"):
        adjoint.library.opcheck(op, (adjoint.ones(2),))
    op.register_fake(lambda x: adjoint.empty(3))
    assert "gives" in str(adjoint.library.opcheck(op, (adjoint.ones(2),), raise_exception=False)["test_faketensor"])


def test_what_is_not_possible_says_so():
    library = adjoint.library.Library("aten", "IMPL")
    with pytest.raises(RuntimeError, match="cannot be replaced"):
        library.impl("add.Tensor", lambda *args: None, "CPU")
    with pytest.raises(RuntimeError, match="could not find the operator"):
        adjoint.library.impl(f"{fresh()}::nothing", "cpu", lambda x: x)
    with pytest.raises(ValueError, match="Expected `qualname` to be of the form"):
        adjoint.library.custom_op("bare", lambda x: x, mutates_args=(), schema="(Tensor x) -> Tensor")
    adjoint.library.define(f"{fresh()}::f", "(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="Unknown device type"):
        adjoint.library.impl(f"{fresh()}::f", "abacus", lambda x: x)
    with pytest.raises(RuntimeError, match="expected a schema"):
        adjoint.library.define(f"{fresh()}::g", "Tensor x")
    with pytest.raises(NotImplementedError, match="GPU"):
        adjoint.library.wrap_triton(None)


def test_a_library_takes_its_ops_away():
    space = fresh()
    with adjoint.library._scoped_library(space, "DEF") as library:
        library.define("f(Tensor x) -> Tensor")
        library.impl("f", lambda x: x + 1, "CPU")
        assert getattr(adjoint.ops, space).f(adjoint.zeros(1)).item() == 1
    with pytest.raises(AttributeError, match="no attribute 'f'"):
        _ = getattr(adjoint.ops, space).f


def test_gradients_in_transforms():
    op = with_gradient(adjoint, fresh())
    x = adjoint.ones(2)
    assert adjoint.func.grad(lambda x: op(x, 3.0).sum())(x).tolist() == [3.0, 3.0]
    assert adjoint.func.jacrev(lambda x: op(x, 3.0).sum())(x).tolist() == [3.0, 3.0]
