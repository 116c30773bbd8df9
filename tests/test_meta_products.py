"""Products and normalisations on the meta device: results too large for any memory, recorded and differentiated."""

from .compare import programs

program, test_program = programs()

LARGE = 10**6


def described(tensor):
    return tuple(tensor.shape), tensor.stride(), str(tensor.dtype), str(tensor.device), tensor.requires_grad


def twice(L, f, *inputs):
    """The result of f, its gradients, and the gradients of these."""
    result = f(*inputs)
    wanted = [x for x in inputs if x.requires_grad]
    first = L.autograd.grad(result, wanted, L.ones_like(result, requires_grad=True), create_graph=True)
    second = L.autograd.grad(first, wanted, [L.ones_like(g) for g in first], allow_unused=True)
    return described(result), [g if g is None else (g.shape, g.dtype, g.device) for g in (*first, *second)]


@program
def products(L):
    def make(*size, dtype=None):
        return L.empty(size, device="meta", dtype=dtype, requires_grad=True)

    matrix, vector, batch = make(LARGE, LARGE), make(LARGE), make(1000, LARGE, 1000)
    numbers = make(LARGE, LARGE, dtype=L.complex64)
    turned = batch.mT
    calls = [
        lambda: twice(L, L.matmul, matrix, matrix.detach().t()),
        lambda: twice(L, L.matmul, matrix, vector),
        lambda: twice(L, L.matmul, vector, matrix),
        lambda: twice(L, L.matmul, vector, vector),
        lambda: twice(L, L.matmul, batch, turned),
        lambda: twice(L, L.matmul, batch.detach(), make(1000, 7)),
        lambda: twice(L, L.matmul, numbers, numbers),
        lambda: twice(L, L.vdot, numbers[0], numbers[1]),
        lambda: twice(L, lambda *xs: L.addmm(*xs, beta=2, alpha=3), vector, matrix, matrix),
        lambda: twice(L, lambda *xs: L.addmv(*xs, beta=0), vector, matrix, vector),
        lambda: twice(L, lambda *xs: L.addr(*xs, alpha=3), matrix, vector, vector),
        lambda: twice(L, L.baddbmm, make(1), batch, turned),
        lambda: twice(L, L.addbmm, make(LARGE, LARGE), batch, turned),
        lambda: twice(L, L.nn.functional.linear, matrix, make(5, LARGE), make(5)),
        lambda: twice(L, L.nn.functional.linear, batch, make(5, 1000)),
        lambda: twice(L, lambda *xs: L.einsum("bij,bjk->bk", *xs), batch, turned),
        lambda: described(L.mm(matrix.detach(), matrix.detach(), out=L.empty(0, device="meta"))),
        lambda: described(matrix.detach().addmm_(matrix.detach(), matrix.detach())),
    ]
    return [call() for call in calls]


@program
def rows_that_are_normalised(L):
    nn = L.nn.functional

    def make(*size, dtype=None):
        return L.empty(size, device="meta", dtype=dtype, requires_grad=True)

    rows, weight, bias = make(LARGE, LARGE), make(LARGE), make(LARGE)
    halves = L.empty(3, LARGE, dtype=L.bfloat16, device="meta")
    normalised = nn.layer_norm(rows, (LARGE,), weight, bias)
    normalised.sum().backward()
    results = [normalised, rows.grad, weight.grad, bias.grad, nn.layer_norm(halves, (LARGE,))]
    results += [
        *L.native_layer_norm(rows, (LARGE,), None, None, 1e-5),
        nn.rms_norm(rows.t(), (LARGE,)),
        nn.normalize(rows, dim=0),
    ]
    calls = [
        lambda: twice(L, lambda *xs: nn.layer_norm(xs[0], (LARGE,), *xs[1:]), rows, weight, bias),
        lambda: twice(L, lambda x: nn.layer_norm(x, (LARGE, 4)), make(5, LARGE, 4)),
        lambda: twice(L, lambda *xs: nn.rms_norm(xs[0], (LARGE,), xs[1]), rows, weight),
    ]
    return [described(result) for result in results], [call() for call in calls]


@program
def attention(L):
    nn = L.nn.functional

    def make(*size, dtype=None):
        return L.empty(size, device="meta", dtype=dtype, requires_grad=True)

    query, key, value = make(8, 16, LARGE, 64), make(8, 16, LARGE, 64), make(8, 16, LARGE, 64)
    halves, mask = make(1, 2, LARGE, 64, dtype=L.float16), L.empty(5, 7, device="meta")
    causal = nn.scaled_dot_product_attention(query, key, value, is_causal=True)
    causal.sum().backward()
    results = [causal, query.grad, key.grad, value.grad, nn.scaled_dot_product_attention(halves, halves, halves)]
    results.append(nn.scaled_dot_product_attention(make(2, 5, 4), make(2, 7, 4), make(2, 7, 4), mask))
    results.append(nn.scaled_dot_product_attention(make(5, 4), make(5, 4), make(5, 4), is_causal=True).detach())
    heads = L.nn.MultiheadAttention(8, 2, add_zero_attn=True, device="meta")
    parts = heads(make(5, 3, 8), make(7, 3, 8), make(7, 3, 8))
    shapes = [(r.shape, r.dtype, r.device) for r in (*results, *parts)]
    return shapes, twice(L, nn.scaled_dot_product_attention, query, key, value)


@program
def planes_that_are_normalised(L):
    nn = L.nn.functional

    def make(*size, dtype=None):
        return L.empty(size, device="meta", dtype=dtype, requires_grad=True)

    batch, weight, bias = make(LARGE, 12, 1000, 1000), make(12), make(12)
    running = L.empty(12, device="meta"), L.empty(12, device="meta")
    normalised = nn.batch_norm(batch, *running, weight, bias, training=True)
    normalised.sum().backward()
    plain = L.empty(7, 12, 5, 5, device="meta")
    turned = plain.to(memory_format=L.channels_last)
    results = [normalised, batch.grad, weight.grad, bias.grad, nn.batch_norm(turned, *running)]
    results += [nn.batch_norm(turned, None, None, training=True), nn.group_norm(plain, 3), nn.instance_norm(plain)]
    results += [
        nn.group_norm(make(3, 4, dtype=L.bfloat16), 2),
        *L.native_group_norm(plain, None, None, 7, 12, 25, 3, 0),
    ]
    calls = [
        lambda: twice(L, lambda *xs: nn.batch_norm(xs[0], None, None, *xs[1:], training=True), batch, weight, bias),
        lambda: twice(L, lambda *xs: nn.batch_norm(xs[0], *running, *xs[1:]), batch, weight, bias),
        lambda: twice(L, lambda *xs: nn.group_norm(xs[0], 3, *xs[1:]), batch, weight, bias),
    ]
    return [described(result) for result in results], [call() for call in calls]


@program
def recurrent_networks(L):
    nn, results = L.nn, []
    network, given = nn.LSTM(1000, 1000, device="meta"), L.empty(2, LARGE, 1000, device="meta", requires_grad=True)
    output, states = network(given)
    output.sum().backward()
    results += [output, *states, given.grad, *(weight.grad for weight in network.parameters())]
    results += [result for kind in (nn.GRU, nn.RNN) for result in kind(1000, 1000, device="meta")(given.detach())]
    cell = nn.LSTMCell(4, LARGE, device="meta")
    results += cell(L.empty(LARGE, 4, device="meta"))
    several = nn.LSTM(4, 3, num_layers=2, bidirectional=True, batch_first=True, device="meta")
    results.append(several(L.empty(5, 6, 4, device="meta"))[0])
    return [(r.shape, r.dtype, r.device) for r in results]


@program
def fourier_transforms(L):
    fft = L.fft

    def make(*size, dtype=None):
        return L.empty(size, device="meta", dtype=dtype, requires_grad=True)

    real, values = make(LARGE, LARGE), make(LARGE, LARGE, dtype=L.complex64)
    calls = [
        lambda: twice(L, fft.fft, values),
        lambda: twice(L, lambda x: fft.ifftn(x, norm="ortho"), values),
        lambda: twice(L, lambda x: fft.irfft(x, n=2 * LARGE - 2), values),
        lambda: [described(f(real)) for f in (fft.fft, fft.rfft, fft.ihfft)],
        lambda: [(x.shape, x.dtype) for x in (fft.rfft2(real), fft.hfftn(make(1000, 7, 3, dtype=L.complex128)))],
    ]
    return [call() for call in calls]


@program
def distances(L):
    def make(*size):
        return L.empty(size, device="meta", requires_grad=True)

    vectors, rows, others = make(LARGE, LARGE, 3), make(LARGE, 5), make(LARGE, 5)
    calls = [
        lambda: twice(L, L.linalg.cross, vectors, make(1, 1, 3)),
        *(lambda p=p: described(L.cdist(rows, others, p=p)) for p in (0, 1.0, 2.0, 3.5)),
        lambda: described(L.pdist(rows)),
        lambda: twice(L, L.trace, vectors[0, :3]),
    ]
    L.cdist(rows, others, p=1.0).sum().backward()
    L.pdist(vectors[0], 3.0).sum().backward()
    return [call() for call in calls], described(rows.grad), described(others.grad), described(vectors.grad)
