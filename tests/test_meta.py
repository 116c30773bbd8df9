"""The meta device: shapes and types without values, of modules and of the results of every op."""

import copy
import io

import pytest

import adjoint

from .compare import outcome, programs, raised, tensors_in
from .samples import find
from .test_op_table import NAMES, samples_by_name

program, test_program = programs()
# Ops that look at values: for the shape of their result, for a choice, or to raise.
BY_VALUE = (
    *("argwhere", "bincount", "masked_select", "nonzero", "repeat_interleave", "where", "nn.functional.one_hot"),
    *("searchsorted", "ctc_loss", "nn.functional.ctc_loss"),
    *(
        "Tensor.cpu",
        "Tensor.to",
        "Tensor.type",
        "lstm",
        "gru",
        "rnn_tanh",
        "rnn_relu",
        "nn.functional.scaled_dot_product_attention",
    ),
    *("index_put", "scatter"),
    *("bernoulli", "binomial", "normal"),  # of parameters that are tensors
)


def on_meta(value):
    if isinstance(value, adjoint.Tensor):
        return value.detach().to("meta")
    if isinstance(value, list | tuple):
        return type(value)(on_meta(item) for item in value)
    return value


@pytest.mark.parametrize("name", NAMES)
def test_results_have_the_shape_that_they_have_on_the_cpu(name):
    for sample in samples_by_name()[name]:
        args, kwargs, tensors = sample.make(adjoint, None, "contiguous")
        expected = outcome(lambda L: find(L, name)(*args, **kwargs), adjoint, look=None)  # noqa: B023 - called at once
        if expected.error is not None or not tensors:
            continue
        args, kwargs = on_meta(args), {key: on_meta(value) for key, value in kwargs.items()}
        result = outcome(lambda L: find(L, name)(*args, **kwargs), adjoint, look=None)  # noqa: B023 - called at once
        if result.error is not None:
            assert name in BY_VALUE, f"{sample!r}: {result.error}"
            continue
        for meta, real in zip(tensors_in(result.value), tensors_in(expected.value), strict=True):
            assert meta.device.type == "meta"
            assert (meta.shape, meta.dtype, meta.stride()) == (real.shape, real.dtype, real.stride()), repr(sample)


@program
def modules_are_made_without_values_and_filled_later(L):
    nn = L.nn

    def make():
        return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Embedding(5, 4), nn.LSTM(4, 2), nn.Conv1d(1, 2, 3))

    with L.device("meta"):
        model = make()
    devices = {str(parameter.device) for parameter in model.parameters()}
    shapes = [(name, tuple(value.shape)) for name, value in model.state_dict().items()]
    L.manual_seed(0)
    filled = make()
    twin = copy.deepcopy(model)
    keys = str(model.load_state_dict(filled.state_dict(), assign=True))
    empty = twin.to_empty(device="cpu")
    empty.load_state_dict(filled.state_dict())
    x = L.ones(2, 3)
    return devices, shapes, keys, model[0](x), empty[0](x), nn.Linear(2, 2).to("meta").weight.shape


@program
def results_of_modules(L):
    nn, ones = L.nn, lambda *size: L.ones(size, device="meta")
    calls = [
        lambda: nn.Linear(3, 4, device="meta")(ones(2, 3)),
        lambda: nn.Conv2d(3, 4, 3, device="meta")(ones(2, 3, 8, 8)),
        lambda: nn.LSTM(4, 3, device="meta")(ones(5, 2, 4))[0],
        lambda: nn.TransformerEncoderLayer(8, 2, 16, device="meta")(ones(5, 2, 8)),
        lambda: nn.BatchNorm2d(3, device="meta")(ones(5, 3, 4, 4)),
        lambda: nn.functional.cross_entropy(ones(3, 4), L.zeros(3, dtype=L.int64, device="meta")),
        lambda: L.cat([ones(2, 3), ones(1, 3)]),
        lambda: ones(3, 4)[1:].t(),
        lambda: ones(3, 4)[L.tensor([0, 2])],
        lambda: ones(3, 4).add_(1).mul_(ones(4)),
        lambda: ones(3, 4).resize_(2, 2),
        lambda: ones(3, 4).unsqueeze_(0),
        lambda: ones(3, 4).copy_(L.ones(4)),
        lambda: L.add(ones(3), 1, out=L.empty(3, device="meta")),
        lambda: copy.deepcopy(ones(3)),
        lambda: nn.utils.parameters_to_vector([ones(2, 3), ones(2)]),
    ]
    return [(tuple(x.shape), tuple(x.stride()), str(x.dtype), str(x.device)) for x in (call() for call in calls)]


@program
def values_that_are_not_there(L):
    x = L.ones(3, 4, device="meta")
    calls = [
        lambda: x.tolist(),
        lambda: x.cpu(),
        lambda: L.ones(3, 4).copy_(x),
        lambda: L.nonzero(x),
        lambda: x[x > 0],
        lambda: L.unique(x),
        lambda: x + L.ones(3, 4),
        lambda: L.add(x, 1, out=L.empty(3, 4)),
        lambda: L.add(L.ones(3, 4), 1, out=x),
        lambda: x.set_(L.ones(3)),
        lambda: x.numpy(),
        lambda: x.mul_(L.ones(7, device="meta")),
        lambda: bool(x[0, 0]),
    ]
    return [raised(call)[0] for call in calls]


def test_saved_without_values():
    file = io.BytesIO()
    adjoint.save({"x": adjoint.ones(2, 3, device="meta")}, file)
    file.seek(0)
    x = adjoint.load(file)["x"]
    assert (x.device.type, tuple(x.shape)) == ("meta", (2, 3))


def test_memory_that_is_not_there_is_never_read():
    number = adjoint.ones((), device="meta")
    places = adjoint.zeros(2, dtype=adjoint.int64, device="meta")
    x = adjoint.zeros(3)
    calls = [
        lambda: adjoint.arange(number),
        lambda: adjoint.full((2,), number),
        lambda: adjoint.linspace(0, number, 3),
        lambda: x.fill_(number),
        lambda: x.add_(1, alpha=number),
        lambda: x.uniform_(number, 2),
        lambda: x[number.long()],
        lambda: x[number.bool()],
        lambda: x[places],
        lambda: x.__setitem__(places, 1),
        lambda: x.index_put_((places,), adjoint.ones(2)),
        lambda: x.index_fill_(0, places, 1.0),
        lambda: x.masked_fill_(places.bool(), 1.0),
        lambda: adjoint.cat([x, number[None]]),
        lambda: float(number),
    ]
    for i, call in enumerate(calls):
        with pytest.raises((RuntimeError, NotImplementedError)):
            raise AssertionError(f"call {i} gave {call()}")
    assert x.tolist() == [0, 0, 0]


@program
def shapes_and_types_of_results_on_the_meta_device(L):
    x = L.ones(2, 3, device="meta")
    results = [x + 1, x * L.tensor(2.0), x @ x.t(), x.sum(0), x > 0, L.cat([x, x]), L.stack([x, x], 1), x[0], x[:, 1:]]
    results += [x.view(3, 2), x.t(), x.expand(4, 2, 3), x.softmax(-1), x.double(), x.half().mean(), x.argmax(1)]
    results += [*x.max(1), *x.split(2, 1), L.where(x > 0, x, 0.0), x[x.long()[0]], L.nn.functional.dropout(x)]
    results += [x.add_(1), x.mul_(x), x.zero_(), x.copy_(L.ones(2, 3)), x.to(L.int32), L.ones(2).to("meta")]
    x[0], x[:, L.tensor([0])] = 1.0, 2.0
    return [(r.is_meta, str(r.dtype), tuple(r.shape), r.stride()) for r in results], results[10].is_contiguous()


@program
def what_needs_values_is_refused_on_the_meta_device(L):
    x, y = L.ones(3, device="meta"), L.ones(3)
    calls = [lambda: x[0].item(), x.tolist, x.cpu, lambda: y.copy_(x), lambda: x + y, lambda: bool(x.sum())]
    refused = [raised(call)[0] for call in calls] + [raised(lambda: y.backward(x))[0]]
    for call in (x.nonzero, lambda: x[x > 0], lambda: L.unique(x), lambda: x.masked_select(x > 0)):
        refused.append(raised(call)[0])
    return refused, y


@pytest.mark.parametrize("kind", ["int32", "int64", "bool"])
def test_indices_without_values_do_not_write(kind):
    y, index = adjoint.ones(3), adjoint.ones(3, device="meta").to(getattr(adjoint, kind))
    with pytest.raises(RuntimeError, match=r"no data|expected device meta"):
        y[index] = 2.0
    with pytest.raises(RuntimeError, match=r"no data|expected device meta"):
        y.index_put_((index,), adjoint.zeros(3))
    assert y.tolist() == [1.0, 1.0, 1.0]


@program
def layers_on_more_elements_than_there_is_memory_for(L):
    F, n = L.nn.functional, 10**6
    image, plane = (1, 2, n, n), (1, 2, 10**4, 10**4)
    labels = L.zeros(n, n, dtype=L.int64, device="meta")
    calls = [
        (lambda x, w, b: F.conv2d(x, w, b, padding=1), image, (4, 2, 3, 3), (4,)),
        (lambda x, w, b: F.conv_transpose2d(x, w, b, stride=2), image, (2, 4, 3, 3), (4,)),
        (lambda x: F.max_pool2d(x, 3, 2, 1), image),
        (lambda x: F.avg_pool2d(x, 3, 2, 1), image),
        (lambda x: F.adaptive_avg_pool2d(x, (n // 2, 7)), image),
        (lambda x: F.adaptive_max_pool2d(x, (n // 2, 7)), image),
        (lambda x: F.fractional_max_pool2d(x, 3, output_size=n // 3), image),
        (lambda x: F.unfold(x, 3), image),
        (lambda x: F.fold(x, (n, n), 2, stride=2), (1, 8, n * n // 4)),
        (lambda x, grid: F.grid_sample(x, grid, align_corners=False), plane, (1, n, n, 2)),
        (lambda x: F.interpolate(x, scale_factor=2, mode="nearest"), image),
        (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), image),
        (lambda x: F.interpolate(x, scale_factor=0.5, mode="bicubic", antialias=True), image),
        (lambda x: F.pad(x, (3, 4, 1, 2), mode="reflect"), image),
        (lambda x: F.pad(x, (3, 4, 1, 2), mode="replicate"), image),
        (lambda x: F.binary_cross_entropy(x, L.empty(n, n, device="meta")), (n, n)),
        (lambda weight: F.embedding_bag(labels[:, 0], weight, labels[0, :9], mode="sum"), (n, n)),
    ]
    results = []
    for call, *shapes in calls:
        inputs = [L.empty(shape, device="meta", requires_grad=True) for shape in shapes]
        result = call(*inputs)
        gradients = L.autograd.grad(result.sum(), inputs)
        results.append([(tuple(x.shape), tuple(x.stride()), str(x.dtype)) for x in (result, *gradients)])
    return results


@program
def what_functions_make_for_themselves_is_where_their_input_is(L):
    def ones(*size, **options):
        return L.ones(size, device="meta", **options)

    x = ones(4, requires_grad=True)
    results = [
        L.nn.functional.affine_grid(ones(2, 2, 3), (2, 1, 4, 5), align_corners=True),
        L.trapezoid(ones(3, 0)),
        L.mvlgamma(ones(3), 2),
        L.stft(ones(64), 16, window=None, return_complex=True),
        L.multinomial(ones(3, 4), 2),
        *L.autograd.grad(x.expand(3, 4).as_strided((2, 2), (1, 1)).sum(), x),
    ]
    return [(tuple(y.shape), str(y.dtype), str(y.device)) for y in results]


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_of_indices_without_values(mode):
    n = 10**6
    table = adjoint.empty(n, n, device="meta", requires_grad=True)
    indices = adjoint.empty(n, 5, dtype=adjoint.int64, device="meta")
    bags = adjoint.nn.functional.embedding_bag(indices, table, mode=mode)
    assert (bags.shape, bags.device.type) == ((n, n), "meta")
    assert adjoint.autograd.grad(bags.sum(), table)[0].shape == table.shape


def test_losses_of_labels_without_values():
    F, n = adjoint.nn.functional, 10**6
    labels = adjoint.empty(n, n, dtype=adjoint.int64, device="meta")
    rows = adjoint.empty(n, n, device="meta", requires_grad=True)
    times = adjoint.empty(n, 2, n, device="meta", requires_grad=True)
    calls = [
        (rows, F.multilabel_margin_loss(rows, labels)),
        (times, F.ctc_loss(times, labels[:2, :3], [5, 5], [3, 2])),
    ]
    for scores, loss in calls:
        assert (loss.shape, loss.device.type) == ((), "meta")
        assert adjoint.autograd.grad(loss, scores)[0].shape == scores.shape


def test_lengths_of_sequences_without_values_are_refused():
    scores, labels = adjoint.empty(5, 2, 4, device="meta"), adjoint.zeros(2, 3, dtype=adjoint.int64, device="meta")
    lengths = adjoint.empty(2, dtype=adjoint.int64, device="meta")
    with pytest.raises(NotImplementedError, match="no data"):
        adjoint.nn.functional.ctc_loss(scores, labels, lengths, lengths)


def outlined(L, x):
    """What a meta tensor is, and where it came from."""
    node = None if x.grad_fn is None else x.grad_fn.name()
    return tuple(x.shape), str(x.dtype), str(x.device), tuple(x.stride()), x.requires_grad, node


@program
def choices_that_need_no_values(L):
    F, ones = L.nn.functional, lambda *size, **kinds: L.ones(size, device="meta", **kinds)
    x = ones(3).requires_grad_()
    F.rrelu(x, training=True).sum().backward()
    results = [x.grad, F.rrelu(x, training=True), F.rrelu(x), F.rrelu_(ones(3), training=True)]
    results += [L.isin(ones(3), ones(2)), L.isin(ones(3), 2.0), L.isin(2.0, ones(3)), L.isin(ones(3), ones(0))]
    results += [L.isin(ones(2, 3), L.ones(2), invert=True), L.isin(ones(3, dtype=L.int64), 2, assume_unique=True)]
    target = ones(3)
    loss = F.hinge_embedding_loss(x, target)
    results += [loss, F.hinge_embedding_loss(x, target, reduction="none"), F.hinge_embedding_loss(ones(3), target)]
    loss.backward()
    return [outlined(L, y) for y in [*results, x.grad]]


@program
def triangles_beyond_the_memory_there_is(L):
    results = [L.tril_indices(10**6, 10**6, device="meta"), L.triu_indices(3, 4, 1, dtype=L.int32, device="meta")]
    with L.device("meta"):
        results += [L.tril_indices(3, 3), L.triu_indices(2, 2, device="cpu")]
    return [outlined(L, y) for y in results]


@program
def moves_to_the_meta_device_are_recorded(L):
    x, y = L.ones(2, 3, requires_grad=True), L.ones(2, 3, device="meta").requires_grad_()
    moved = [x.to("meta"), x.t().to("meta"), x.to("meta", L.float64), x.to("meta", L.int64), (x * 2).to(y)]
    cast = [y.to(L.float64), y.to("meta", copy=True), y.double(), y.to(L.int32)]
    cast += [y.view(1, 1, 2, 3).to(memory_format=L.channels_last)]
    gradients = [L.autograd.grad(z, y, L.ones_like(z))[0] for z in cast if z.requires_grad]
    with L.no_grad():
        unrecorded = x.to("meta")
    return [outlined(L, z) for z in [*moved, *cast, *gradients, unrecorded]], y.to("meta") is y


@program
def gradients_go_back_to_where_their_tensor_is(L):
    """Which has values, and the gradient has none: that is what is said."""
    x, number = L.ones(3, requires_grad=True), L.tensor(2.0, requires_grad=True)

    def copied():
        y = L.ones(3, device="meta")
        return y.copy_(x)

    def assigned():
        y = L.ones(3, device="meta")
        y[:2] = x[:2]
        return y

    meta = L.ones(3, device="meta").requires_grad_()
    calls = [copied, assigned, lambda: x.to("meta"), lambda: L.ones(3, device="meta").fill_(number)]
    calls += [lambda: meta * number, lambda: L.where(meta > 0, number, meta)]
    refused = []
    for call in calls:
        result = call()
        leaf = x if call in calls[:3] else number
        refused.append((outlined(L, result), raised(lambda y=result, z=leaf: L.autograd.grad(y.sum(), z))))
    return refused, L.autograd.grad((meta * number).sum(), meta)[0].device.type


@program
def functions_must_give_gradients_on_the_device_of_their_input(L):
    class Elsewhere(L.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g.to("meta")

    return raised(lambda: Elsewhere.apply(L.ones(2, requires_grad=True)).sum().backward(), 80)
