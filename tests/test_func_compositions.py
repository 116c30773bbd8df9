"""Function transforms of functions that use the rest of autograd, beside torch.func.

Every function of a table goes through every transform: checkpoints, hooks on saved tensors, modes, in-place changes,
views, random numbers, losses and attention inside of derivatives and batches.
"""

import importlib

import pytest
import torch

import adjoint

from .compare import SUMS, VALUES, assert_same, difference, numbers, opening, plain, raised, same, tensors_in


def through(transforms, function, library, sizes=(2, 3)):
    """What each transform makes of a function (library, x) -> y, or the first words of what it raises."""
    x = numbers(library, *sizes)

    def applied(transform):
        return lambda: plain(transform(library, lambda x: function(library, x), x), VALUES)

    return {name: raised(applied(transform), 40) for name, transform in transforms.items()}


def number(f):
    return lambda x: f(x).sum()


# Of a function of a row and a matrix of two rows.
BATCHES = {
    "vmap": lambda L, f, x: L.vmap(f)(x),
    "vmap of columns": lambda L, f, x: L.vmap(f, in_dims=1, out_dims=-1)(x.mT),
    "vmap of vmap": lambda L, f, x: L.vmap(L.vmap(f))(L.stack([x, x + 1])),
}
FORWARD = {
    "jvp": lambda L, f, x: L.func.jvp(f, (x[0],), (x[1],)),
    "jacfwd": lambda L, f, x: L.func.jacfwd(f)(x[0]),
    "vmap of jvp": lambda L, f, x: L.vmap(lambda x: L.func.jvp(f, (x,), (x.sin(),)))(x),
    "jvp of vmap": lambda L, f, x: L.func.jvp(L.vmap(f), (x,), (x.sin(),)),
}
REVERSE = {
    "grad": lambda L, f, x: L.func.grad(number(f))(x[0]),
    "vjp": lambda L, f, x: pulled(L, f, x[0]),
    "jacrev": lambda L, f, x: L.func.jacrev(f)(x[0]),
    "jacrev of jacrev": lambda L, f, x: L.func.jacrev(L.func.jacrev(f))(x[0]),
}
REVERSE_IN_BATCHES = {
    "vmap of grad": lambda L, f, x: L.vmap(L.func.grad(number(f)))(x),
    "vmap of vmap of grad": lambda L, f, x: L.vmap(L.vmap(L.func.grad(number(f))))(L.stack([x, x + 1])),
}
REVERSE_OF_BATCHES = {"grad of vmap": lambda L, f, x: L.func.grad(lambda x: L.vmap(f)(x).sum())(x)}
FORWARD_OVER_REVERSE = {
    "hessian": lambda L, f, x: L.func.hessian(f)(x[0]),
    "jvp of grad": lambda L, f, x: L.func.jvp(L.func.grad(number(f)), (x[0],), (x[1],)),
}
BACKWARD = REVERSE | REVERSE_IN_BATCHES | REVERSE_OF_BATCHES
ALL = BATCHES | FORWARD | BACKWARD | FORWARD_OVER_REVERSE


def pulled(L, f, x):
    y, product = L.func.vjp(f, x)
    return y, product(y.cos())


def body(x):
    """A function that saves arguments and results of several ops."""
    return (x.sin() * x.exp()).cumsum(-1).tanh() * x


# ---- Modes, in-place changes and views


def autocast(L, x):
    with L.autocast("cpu", dtype=L.bfloat16):
        return (x.float() @ numbers(L, 3, 3).float()).double() * x


def autocast_of_doubles(L, x):
    with L.autocast("cpu", dtype=L.bfloat16):
        return x @ x


def a_constant_of_no_grad(L, x):
    with L.no_grad():
        constant = numbers(L, 3).sin()
    return constant * x


def grad_in_no_grad(L, x):
    with L.no_grad(), L.enable_grad():
        return body(x) * x


def a_constant_of_inference_mode(L, x):
    with L.inference_mode():
        constant = numbers(L, 3) * 2
    return constant + x


def a_saved_constant_of_inference_mode(L, x):
    with L.inference_mode():
        constant = numbers(L, 3) * 2
    return constant * x


def no_hooks_on_saved_tensors(L, x):
    with L.autograd.graph.disable_saved_tensors_hooks("none here"):
        return body(x)


def hooks_where_they_are_disabled(L, x):
    saved_tensors_hooks = L.autograd.graph.saved_tensors_hooks
    with L.autograd.graph.disable_saved_tensors_hooks("none here"), saved_tensors_hooks(id, id):
        return body(x)


def changes_in_place(L, x):
    y = x.clone()
    y.mul_(x).add_(1)
    return y.sin_() * x


def changes_of_views(L, x):
    y = x * 2
    y[0] = x[1]
    y[1:].mul_(x[:-1])
    return y.exp()


def changes_of_new_zeros(L, x):
    y = x.new_zeros(5)
    y[1:4] = x
    y.index_put_((L.tensor([0]),), x[2:])
    return y.cumsum(0)


def changes_of_a_piece(L, x):
    y = x.clone()
    y.narrow(0, 1, 2).t().mul_(x[0])
    return y.sin() * y[0]


def a_hook_on_a_gradient(L, x):
    y = x * 2
    if y.requires_grad:
        y.register_hook(lambda g: g * 1)
    return y.sin()


def detached(L, x):
    return x.detach() * x


def other_types(L, x):
    return x.to(L.float32).double() * x * x.int()


def choices(L, x):
    return L.where(x > 1.2, x.sin(), x * x) * (x > 1.5)


def orders(L, x):
    return x.sin().sort().values * x + x.cos().topk(2)[0].sum()


def products(L, x):
    return L.einsum("i,j->i", x, x) + L.linalg.solve(L.outer(x, x) + L.eye(3, dtype=L.float64), x)


def waves(L, x):
    return L.fft.irfft(L.fft.rfft(x) * x[:2], 3) + L.complex(x, x * 2).exp().abs()


FUNCTIONS = [
    autocast, autocast_of_doubles, a_constant_of_no_grad, grad_in_no_grad, a_constant_of_inference_mode,
    a_saved_constant_of_inference_mode, no_hooks_on_saved_tensors, hooks_where_they_are_disabled, changes_in_place,
    changes_of_views, changes_of_new_zeros, changes_of_a_piece, a_hook_on_a_gradient, detached, other_types, choices,
    orders, products, waves,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_functions(function):
    same(lambda L: through(ALL, function, L), look=None, bound=SUMS)


# ---- Losses, distances and attention


def target(L):
    return numbers(L, 3, start=0.3)


def matrices(L, x):
    return L.outer(x, x), L.outer(x.sin(), x), L.outer(x.cos(), x)


def signs(L):
    return L.tensor([1, -1, 1])


LOSSES = {
    "mse_loss": lambda F, L, x: F.mse_loss(x.sin(), x.cos(), reduction="none"),
    "l1_loss": lambda F, L, x: F.l1_loss(x.sin(), target(L)),
    "binary_cross_entropy": lambda F, L, x: F.binary_cross_entropy(x.sigmoid(), target(L) / 2),
    "with logits": lambda F, L, x: F.binary_cross_entropy_with_logits(x, target(L) / 2, pos_weight=target(L)),
    "nll_loss": lambda F, L, x: F.nll_loss(x.log_softmax(0), L.tensor(1)),
    "cross_entropy": lambda F, L, x: F.cross_entropy(x, L.tensor(2), label_smoothing=0.1),
    "of probabilities": lambda F, L, x: F.cross_entropy(x, target(L).softmax(0)),
    "with weights": lambda F, L, x: F.cross_entropy(
        matrices(L, x)[1], L.tensor([2, 0, 1]), weight=target(L), ignore_index=0
    ),
    "kl_div": lambda F, L, x: F.kl_div(x.log_softmax(0), x.sin().log_softmax(0), reduction="sum", log_target=True),
    "poisson_nll_loss": lambda F, L, x: F.poisson_nll_loss(x, target(L), full=True),
    "hinge_embedding_loss": lambda F, L, x: F.hinge_embedding_loss(x, signs(L)),
    "cosine_embedding_loss": lambda F, L, x: F.cosine_embedding_loss(*matrices(L, x)[:2], signs(L)),
    "margin_ranking_loss": lambda F, L, x: F.margin_ranking_loss(x, x.sin() * 2, signs(L), margin=0.5),
    "triplet_margin_loss": lambda F, L, x: F.triplet_margin_loss(*matrices(L, x)),
    "multilabel_soft_margin_loss": lambda F, L, x: F.multilabel_soft_margin_loss(x, target(L)),
    "pairwise_distance": lambda F, L, x: F.pairwise_distance(*matrices(L, x)[:2]),
    "normalize": lambda F, L, x: F.normalize(x, dim=0),
    "embedding": lambda F, L, x: F.embedding(L.tensor([0, 2, 2]), L.outer(x, x)),
    "pad": lambda F, L, x: F.pad(x[None], (1, 2), mode="reflect"),
    "interpolate": lambda F, L, x: F.interpolate(x[None, None], size=5, mode="linear"),
    "attention": lambda F, L, x: F.scaled_dot_product_attention(*(m[None] for m in matrices(L, x))),
    "attention to what was before": lambda F, L, x: F.scaled_dot_product_attention(
        *(m[None] for m in matrices(L, x)), is_causal=True
    ),
    "attention with a mask": lambda F, L, x: F.scaled_dot_product_attention(
        *(m[None] for m in matrices(L, x)), attn_mask=L.outer(x, x)
    ),
}
# For these torch has no forward mode, or none of their gradients.
BACKWARD_ALONE = {
    "soft_margin_loss": lambda F, L, x: F.soft_margin_loss(x, signs(L).double()),
    "smooth_l1_loss": lambda F, L, x: F.smooth_l1_loss(x * x, x.sin()),
    "huber_loss": lambda F, L, x: F.huber_loss(x * x, x.sin(), delta=0.6),
    "ctc_loss": lambda F, L, x: F.ctc_loss(
        matrices(L, x)[1].log_softmax(-1)[:, None], L.tensor([[1]]), L.tensor([3]), L.tensor([1])
    ),
    "grid_sample": lambda F, L, x: F.grid_sample(
        L.outer(x, x)[None, None], L.outer(x.sin(), x[:2].cos())[None, None], align_corners=False
    ),
    "glu": lambda F, L, x: F.glu(L.cat([x, x.sin()]), 0),
}


def of_functional(call):
    return lambda L, x: call(L.nn.functional, L, x)


def plain_attention():
    """torch's attention by ordinary ops, which has all derivatives."""
    return torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)


@pytest.mark.parametrize("name", LOSSES)
def test_losses(name):
    with plain_attention():
        same(lambda L: through(ALL, of_functional(LOSSES[name]), L), look=None, bound=SUMS)


@pytest.mark.parametrize("name", BACKWARD_ALONE)
def test_losses_in_reverse_mode(name):
    function = of_functional(BACKWARD_ALONE[name])
    same(lambda L: through(BATCHES | BACKWARD, function, L), look=None, bound=SUMS)
    # Forward mode finds the same Jacobian.
    x = numbers(adjoint, 2, 3)
    forward = FORWARD["jacfwd"](adjoint, lambda x: function(adjoint, x), x)
    assert_same(forward, REVERSE["jacrev"](adjoint, lambda x: function(adjoint, x), x), bound=SUMS)


# ---- Checkpoints and hooks on saved tensors


def checkpoint(L, function, x, **options):
    return importlib.import_module(f"{L.__name__}.utils.checkpoint").checkpoint(function, x, **options)


def checkpointed(L, x):
    return checkpoint(L, body, x, use_reentrant=False)


def a_checkpoint_in_another(L, x):
    return checkpoint(L, lambda x: checkpointed(L, x), x, use_reentrant=False)


def checkpointed_in_two_parts(L, x):
    module = importlib.import_module(f"{L.__name__}.utils.checkpoint")
    functions = [lambda x: (x.sin() * x.exp()).cumsum(-1).tanh(), lambda y: y * x]
    return module.checkpoint_sequential(functions, 2, x, use_reentrant=False)


def packed(L, x):
    with L.autograd.graph.saved_tensors_hooks(lambda x: (x,), lambda pack: pack[0]):
        return body(x)


def packed_as_others(L, x):
    with L.autograd.graph.saved_tensors_hooks(lambda x: x * 2, lambda x: x / 2):
        return body(x)


def kept_on_the_cpu(L, x):
    with L.autograd.graph.save_on_cpu():
        return body(x)


def kept_in_functions(L, x):
    with L.autograd.graph.saved_tensors_hooks(lambda x: lambda: x, lambda pack: pack()):
        return checkpointed(L, x)


# A checkpoint runs again in backward: the batch that it ran in must not be over.
HOOKS = dict.fromkeys(
    (checkpointed, a_checkpoint_in_another, checkpointed_in_two_parts, kept_in_functions), REVERSE | REVERSE_IN_BATCHES
)
HOOKS |= {packed: BACKWARD, kept_on_the_cpu: BACKWARD, packed_as_others: REVERSE | REVERSE_OF_BATCHES}


@pytest.mark.parametrize(("function", "transforms"), HOOKS.items(), ids=[function.__name__ for function in HOOKS])
def test_hooks_on_saved_tensors(function, transforms):
    """They work in batches and in forward mode; in reverse mode they work here, while torch refuses them."""
    same(lambda L: through(BATCHES | FORWARD, function, L), look=None, bound=SUMS)
    plainly = through(transforms, lambda L, x: body(x), adjoint)
    assert difference(through(transforms, function, adjoint), plainly, bound=SUMS) is None
    refused = through(transforms, function, torch)
    assert set(refused.values()) == {("RuntimeError", "torch.func.{grad, vjp, jacrev, hessian} ")}


def test_a_checkpoint_whose_batch_is_over():
    def run(L):
        x = numbers(L, 2, 3).requires_grad_()
        L.vmap(lambda x: checkpointed(L, x))(x).sum().backward()

    same(run, error=opening(72))


@pytest.mark.parametrize("transform", [*REVERSE_IN_BATCHES, "jacrev", "hessian"])
def test_checkpoints_around_derivatives_of_batches(transform):
    def run(L):
        x = numbers(L, 2, 3).requires_grad_()
        return checkpoint(L, lambda x: ALL[transform](L, body, x), x, use_reentrant=False)

    same(run, error=opening(77))


@pytest.mark.parametrize("transform", [*BATCHES, *FORWARD])
def test_checkpoints_around_transforms(transform):
    def run(L):
        x = numbers(L, 2, 3).requires_grad_()
        results = tensors_in(checkpoint(L, lambda x: ALL[transform](L, body, x), x, use_reentrant=False))
        return results, L.autograd.grad(sum(y.sin().sum() for y in results), x)

    assert same(run, look=VALUES, bound=SUMS).error is None


@pytest.mark.parametrize("transform", BATCHES | REVERSE_IN_BATCHES | FORWARD)
def test_reentrant_checkpoints(transform):
    """Such a checkpoint is a Function without setup_context."""

    def run(L):
        return ALL[transform](L, lambda x: checkpoint(L, body, x, use_reentrant=True), numbers(L, 2, 3))

    same(run, error=opening(60))


# ---- Custom Functions


def custom(L, forward, backward, setup_context=lambda ctx, inputs, output: None, **members):
    """A Function with these methods, for which vmap makes a rule unless it has one."""
    methods = {"forward": forward, "backward": backward, "setup_context": setup_context}
    methods |= {name: members.pop(name) for name in ("jvp", "vmap") if name in members}
    members |= {name: staticmethod(method) for name, method in methods.items()}
    members.setdefault("generate_vmap_rule", "vmap" not in methods)
    return type(L.autograd.Function)("Custom", (L.autograd.Function,), members)


def saving(*which):
    """A setup_context that saves these of (inputs, outputs) for both modes."""

    def setup_context(ctx, inputs, output):
        outputs = output if isinstance(output, tuple) else (output,)
        kept = [(*inputs, *outputs)[i] for i in which]
        ctx.save_for_backward(*kept)
        ctx.save_for_forward(*kept)

    return setup_context


def a_saved_result(L, x):
    def slope(ctx, g):
        return g * ctx.saved_tensors[0]

    return custom(L, lambda x: x.exp(), slope, saving(1), jvp=slope).apply(x)


def a_result_without_derivative(L, x):
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        saving(0)(ctx, inputs, output)

    def forward(x):
        return x.sin(), x.cos()

    def backward(ctx, g, _):
        return g * ctx.saved_tensors[0].cos()

    y, fixed = custom(L, forward, backward, setup_context).apply(x)
    return y * fixed


def a_gradient_that_is_not_there(L, x):
    def setup_context(ctx, inputs, output):
        ctx.set_materialize_grads(False)

    def backward(ctx, g, unused):
        assert unused is None
        return 2 * g

    return custom(L, lambda x: (2 * x, x.sin()), backward, setup_context).apply(x)[0]


def arguments_of_several_kinds(L, x):
    def setup_context(ctx, inputs, output):
        ctx.factor = inputs[2]
        ctx.save_for_backward(*inputs[:2])
        ctx.save_for_forward(*inputs[:2])

    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return (
            g * y * ctx.factor if ctx.needs_input_grad[0] else None,
            g * x * ctx.factor if ctx.needs_input_grad[1] else None,
            None,
        )

    def jvp(ctx, x_t, y_t, _):
        x, y = ctx.saved_tensors
        return (x_t * y + x * y_t) * ctx.factor

    function = custom(L, lambda x, y, factor: x * y * factor, backward, setup_context, jvp=jvp)
    return function.apply(x, numbers(L, 3), 3.0) + function.apply(x, x.sin(), 2.0)


def a_rule_by_hand(L, x):
    def slope(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.sum() + (g * x).sum()

    def vmap(info, in_dims, x):
        x = x.movedim(in_dims[0], 0)
        return x.sum(-1, keepdim=True) * x, 0

    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return t * x.sum() + t.sum() * x

    return custom(L, lambda x: x.sum() * x, slope, saving(0), jvp=jvp, vmap=vmap).apply(x)


def an_argument_as_the_result(L, x):
    return custom(L, lambda x: x, lambda ctx, g: 3 * g, jvp=lambda ctx, t: t).apply(x)


def a_view_as_the_result(L, x):
    return custom(L, lambda x: x.view(1, 3), lambda ctx, g: g.view(3)).apply(x)


def derivatives_inside(L, x):
    def forward(x):
        return L.func.grad(lambda x: (x**3).sum())(x)

    return custom(L, forward, lambda ctx, g: g * 6 * ctx.saved_tensors[0], saving(0)).apply(x)


def no_gradient(L, x):
    return custom(L, lambda x: 2 * x, lambda ctx, g: None).apply(x) * x


CUSTOM = [
    a_saved_result, a_result_without_derivative, a_gradient_that_is_not_there, arguments_of_several_kinds,
    a_rule_by_hand, an_argument_as_the_result, a_view_as_the_result, derivatives_inside, no_gradient,
]  # fmt: skip
# Where torch fails by an assertion of its own.
FAILING_IN_TORCH = ("AssertionError", "flat_bdims must not be None")


@pytest.mark.parametrize("function", CUSTOM, ids=lambda function: function.__name__)
def test_custom_functions(function):
    ours, theirs = (through(ALL, function, library) for library in (adjoint, torch))
    for name in [name for name, result in theirs.items() if result == FAILING_IN_TORCH]:
        del theirs[name]
        assert ours.pop(name)[1].startswith("You must implement the jvp function")
    assert difference(ours, theirs, bound=SUMS) is None


WRONG_METHODS = {
    "too many tangents": ("jvp", {"jvp": lambda ctx, t: (t, t)}),
    "a tangent of another size": ("jvp", {"jvp": lambda ctx, t: t.new_ones(7)}),
    "a tangent of another size for a batch": ("jvp of vmap", {"jvp": lambda ctx, t: t.new_ones(7)}),
    "a rule without dimensions": ("vmap", {"vmap": lambda info, dims, x: x}),
    "a rule with too many dimensions": ("vmap", {"vmap": lambda info, dims, x: (x, (0, 0))}),
}


@pytest.mark.parametrize("name", WRONG_METHODS)
def test_methods_that_give_something_wrong(name):
    transform, members = WRONG_METHODS[name]

    def run(L):
        function = custom(L, lambda x: 2 * x, lambda ctx, g: 2 * g, **members)
        return ALL[transform](L, function.apply, numbers(L, 2, 3))

    same(run, error=opening(100))


# ---- Random numbers

RANDOM = {
    "rand": lambda L, x: x * L.rand(3, dtype=L.float64),
    "randn_like": lambda L, x: x.sin() * L.randn_like(x),
    "randperm": lambda L, x: x[L.randperm(3)] * x,
    "normal_": lambda L, x: L.empty_like(x).normal_() * x,
    "dropout": lambda L, x: L.nn.functional.dropout(x, 0.4) * x,
    "a module": lambda L, x: L.nn.Dropout(0.3)(x) * L.rand(3, dtype=L.float64),
    "attention": lambda L, x: L.nn.functional.scaled_dot_product_attention(
        *(m[None] for m in matrices(L, x)), dropout_p=0.3
    ),
}
WITH_RANDOM_NUMBERS = {
    "vmap": lambda L, f, x, r: L.vmap(f, randomness=r)(x),
    "in chunks": lambda L, f, x, r: L.vmap(f, randomness=r, chunk_size=1)(x),
    "vmap of grad": lambda L, f, x, r: L.vmap(L.func.grad(number(f)), randomness=r)(x),
    "grad of vmap": lambda L, f, x, r: L.func.grad(number(L.vmap(f, randomness=r)))(x),
    "vmap of jvp": lambda L, f, x, r: L.vmap(lambda x: L.func.jvp(f, (x,), (x,)), randomness=r)(x),
    "jacrev of jacrev": lambda L, f, x, r: L.func.jacrev(L.func.jacrev(f))(x[0]),
    "jacfwd": lambda L, f, x, r: L.func.jacfwd(f, randomness="same")(x[0]),
}


@pytest.mark.parametrize("randomness", ["same", "different"])
@pytest.mark.parametrize("name", RANDOM)
def test_random_numbers(name, randomness):
    def run(L):
        L.manual_seed(3)
        x = numbers(L, 2, 3)
        transforms = WITH_RANDOM_NUMBERS.items()
        return {key: transform(L, lambda x: RANDOM[name](L, x), x, randomness) for key, transform in transforms}

    with plain_attention():
        assert same(run, look=VALUES, bound=SUMS).error is None
