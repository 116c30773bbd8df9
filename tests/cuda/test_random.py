"""Random numbers on the device: distributions, what they depend on, states and errors."""

import copy
import math
import pickle

import pytest

import adjoint as torch

FLOATS = ["float32", "float64", "float16", "bfloat16"]
WHOLE = ["int64", "int32", "int16", "int8", "uint8", "bool"]


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(11)


def empty(*shape, dtype="float32"):
    return torch.empty(shape, dtype=getattr(torch, dtype), device="cuda")


def here(tensor):
    """The values as doubles of the CPU."""
    assert tensor.device.type == "cuda"
    return tensor.cpu().double()


def assert_moments(values, mean, variance, fourth=None):
    """Mean and variance of independent numbers are what they should be, up to five deviations."""
    n = values.numel()
    assert abs(values.mean().item() - mean) < 5 * math.sqrt(variance / n)
    fourth = 3 * variance**2 if fourth is None else fourth
    assert abs(values.var().item() - variance) < 5 * math.sqrt((fourth - variance**2) / n) + 1e-12


def assert_quantiles(values, quantile, bins=20):
    """As many values fall between quantiles as should: chi squared, far out in its tail."""
    edges = torch.tensor([quantile(i / bins) for i in range(1, bins)], dtype=torch.float64)
    counts = torch.bucketize(values, edges, right=True).bincount(minlength=bins).double()
    expected = values.numel() / bins
    assert ((counts - expected) ** 2 / expected).sum().item() < bins - 1 + 6 * math.sqrt(2 * (bins - 1))


# ---- Distributions


def test_words_are_philox():
    # The known answer for a counter and a key of zeros.
    torch.manual_seed(0)
    words = (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
    assert torch.rand(4, device="cuda").tolist() == [(word >> 8) / 2**24 for word in words]
    torch.manual_seed(0)
    pairs = (words[0] << 32 | words[1], words[2] << 32 | words[3])
    assert torch.rand(2, device="cuda", dtype=torch.float64).tolist() == [(pair >> 11) / 2**53 for pair in pairs]


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform(dtype):
    values = here(empty(40001, dtype=dtype).uniform_(-1, 3))
    assert values.min() >= -1
    assert values.max() < 3
    assert_moments(values, 1, 16 / 12, 256 / 80)
    if dtype in ("float32", "float64"):
        assert_quantiles(values, lambda p: 4 * p - 1)


@pytest.mark.parametrize("dtype", FLOATS)
def test_normal(dtype):
    values = here(empty(40001, dtype=dtype).normal_(2, 0.5))
    assert_moments(values, 2, 0.25)
    normal = torch.distributions.Normal(2.0, 0.5)
    if dtype in ("float32", "float64"):
        assert_quantiles(values, lambda p: normal.icdf(torch.tensor(p)).item())
    # Neighbours, which come from one counter, are independent.
    centred = values - 2
    for gap in (1, 2, 3):
        assert abs((centred[:-gap] * centred[gap:]).mean().item()) < 5 * 0.25 / math.sqrt(values.numel())


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "complex32"])
def test_complex(dtype):
    x = empty(5001, dtype=dtype).normal_()
    parts = torch.view_as_real(x.to(torch.complex64).cpu()).double()
    assert_moments(parts[:, 0], 0, 0.5)
    assert_moments(parts[:, 1], 0, 0.5)
    y = torch.view_as_real(torch.rand(5001, dtype=getattr(torch, dtype), device="cuda").to(torch.complex64).cpu())
    assert_moments(y.double().flatten(), 0.5, 1 / 12, 1 / 80)


@pytest.mark.parametrize("dtype", FLOATS)
def test_exponential(dtype):
    values = here(empty(20000, dtype=dtype).exponential_(2))
    assert values.min() > 0 or dtype == "float16"
    assert_moments(values, 0.5, 0.25, 9 / 16)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "int16", "uint8", "bfloat16"])
def test_geometric(dtype):
    values = here(empty(20000, dtype=dtype).geometric_(0.4))
    assert values.min() == 1
    assert_moments(values, 2.5, 0.6 / 0.16, (0.6 / 0.16) ** 2 * (9 + 0.16 / 0.6))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cauchy_and_log_normal(dtype):
    values = here(empty(20000, dtype=dtype).cauchy_(1, 2))
    assert values.isfinite().all()
    assert_quantiles(values, lambda p: 1 + 2 * math.tan(math.pi * (p - 0.5)))
    values = here(empty(20000, dtype=dtype).log_normal_(0.2, 0.3))
    assert_moments(values.log(), 0.2, 0.09)


@pytest.mark.parametrize("dtype", [*WHOLE, *FLOATS])
def test_integers(dtype):
    values = here(empty(20003, dtype=dtype).random_(0, 2))
    assert set(values.tolist()) == {0, 1}
    assert abs(values.mean().item() - 0.5) < 0.02
    if dtype == "bool":
        return
    values = here(empty(20003, dtype=dtype).random_(3, 103))
    assert (values.min(), values.max()) == (3, 102)
    assert values.equal(values.round())
    assert_moments(values, 52.5, 9999 / 12, 2000**2)


def test_all_integers():
    for dtype, greatest in (("int8", 127), ("uint8", 255), ("int16", 32767), ("bool", 1), ("float16", 2048)):
        values = here(empty(60000, dtype=dtype).random_())
        assert values.min() >= 0
        assert greatest * 0.99 <= values.max() <= greatest
    values = empty(20000, dtype="int64").random_()
    assert values.cpu().min() >= 0
    assert values.cpu().max() > 2**62
    values = torch.randint(-(2**62), 2**62, (20000,), device="cuda").cpu()
    assert values.min() < -(2**61)
    assert values.max() > 2**61
    values = empty(5000, dtype="int64").random_(-(2**63), None).cpu()
    assert values.min() < -(2**62)
    assert values.max() > 2**62
    assert torch.randint(5, 260, (4000,), dtype=torch.uint16, device="cuda").dtype == torch.uint16


@pytest.mark.parametrize("dtype", [*WHOLE, *FLOATS])
def test_bernoulli(dtype):
    for p in (0.0, 0.3, 1.0):
        values = here(empty(20000, dtype=dtype).bernoulli_(p))
        assert set(values.tolist()) <= {0, 1}
        assert abs(values.mean().item() - p) <= 5 * math.sqrt(p * (1 - p) / 20000)


@pytest.mark.parametrize("dtype", FLOATS)
def test_bernoulli_each(dtype):
    p = torch.linspace(0, 1, 5, dtype=getattr(torch, dtype)).to("cuda")
    values = here(torch.bernoulli(p.expand(8000, 5)))
    for column, chance in zip(values.unbind(1), (0, 0.25, 0.5, 0.75, 1), strict=True):
        assert abs(column.mean().item() - chance) <= 5 * math.sqrt(chance * (1 - chance) / 8000)
    turned = here(torch.empty(5, 8000, device="cuda").t().bernoulli_(p))
    assert abs(turned[:, 1].mean().item() - 0.25) < 0.03
    assert (turned[:, 0] == 0).all()
    assert (turned[:, 4] == 1).all()
    assert (here(torch.zeros(50, device="cuda").bernoulli_(torch.ones(50))) == 1).all()


def test_counts():
    n = 20000
    for rate in (0.5, 4.0, 12.0, 300.0):
        values = here(torch.poisson(torch.full((n,), rate, device="cuda")))
        assert_moments(values, rate, rate, rate + 3 * rate**2)
    for trials, p in ((5, 0.2), (40, 0.1), (40, 0.4), (1000, 0.9)):
        values = here(
            torch.binomial(torch.full((n,), float(trials), device="cuda"), torch.full((n,), p, device="cuda"))
        )
        variance = trials * p * (1 - p)
        assert_moments(values, trials * p, variance, 3 * variance**2 + variance)
        assert values.min() >= 0
        assert values.max() <= trials
    edge = torch.binomial(torch.tensor([0.0, 7, 7]).to("cuda"), torch.tensor([0.5, 0, 1]).to("cuda"))
    assert edge.tolist() == [0, 0, 7]
    assert torch.poisson(torch.zeros(3, device="cuda")).tolist() == [0, 0, 0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gamma(dtype):
    for shape in (0.3, 1.0, 7.5):
        values = here(torch._standard_gamma(torch.full((20000,), shape, dtype=getattr(torch, dtype), device="cuda")))
        assert values.min() > 0
        assert_moments(values, shape, shape, 3 * shape**2 + 6 * shape)
    alpha = torch.tensor([2.0, 1, 1], dtype=getattr(torch, dtype)).to("cuda")
    rows = here(torch._sample_dirichlet(alpha.expand(8000, 3)))
    assert (rows.sum(1) - 1).abs().max() < 1e-6
    assert_moments(rows[:, 0], 0.5, 0.05)


def test_normal_of_tensors():
    mean, std = torch.tensor([0.0, 10.0]).to("cuda"), torch.tensor([1.0, 0.1]).to("cuda")
    values = here(torch.normal(mean.expand(9000, 2), std.expand(9000, 2)))
    assert_moments(values[:, 0], 0, 1)
    assert_moments(values[:, 1], 10, 0.01)
    with pytest.raises(RuntimeError, match="std >= 0"):
        torch.normal(mean, -std)


# ---- Orders


@pytest.mark.parametrize("n", [0, 1, 2, 31, 33, 1024, 1025, 4097, 70001])
def test_permutation(n):
    order = torch.randperm(n, device="cuda").cpu()
    assert order.sort().values.equal(torch.arange(n))
    if n > 1000:
        assert (order == torch.arange(n)).sum() < 12  # one in the mean
        assert abs((order.double() - torch.arange(n).double()).abs().mean().item() / n - 1 / 3) < 0.03
        assert not torch.randperm(n, device="cuda").cpu().equal(order)


def test_all_orders_are_as_likely():
    counts = {}
    for _ in range(1200):
        order = tuple(torch.randperm(3, device="cuda").tolist())
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 6
    assert sum((count - 200) ** 2 / 200 for count in counts.values()) < 5 + 6 * math.sqrt(10)


def test_shuffles_are_even():
    # Where the first, and the last of many, go: anywhere.
    places = torch.stack([torch.randperm(1500, device="cuda").cpu()[[0, 700, 1499]] for _ in range(400)]).double()
    for column in places.unbind(1):
        assert_moments(column, 749.5, 1500**2 / 12, 1500**4 / 80)
    assert abs(torch.corrcoef(places.t())[0, 1].item()) < 0.25


# ---- What numbers depend on


def test_seeds_and_order():
    first = [torch.rand(7, device="cuda"), torch.randn(1000, device="cuda"), torch.randperm(2000, device="cuda")]
    torch.manual_seed(11)
    again = [torch.rand(7, device="cuda"), torch.randn(1000, device="cuda"), torch.randperm(2000, device="cuda")]
    assert all(a.equal(b) for a, b in zip(first, again, strict=True))
    assert not torch.rand(7, device="cuda").equal(first[0])
    torch.manual_seed(12)
    assert not torch.rand(7, device="cuda").equal(first[0])


@pytest.mark.parametrize("dtype", [*FLOATS, "int64", "uint8"])
def test_elements_do_not_depend_on_how_many_there_are(dtype):
    def drawn(n):
        torch.manual_seed(3)
        x = empty(n, dtype=dtype)
        return (x.random_(0, 50) if "int" in dtype else x.normal_()).cpu()

    long = drawn(5000)
    for n in (1, 3, 17, 255, 1025, 4999):
        assert drawn(n).equal(long[:n])


def test_memory_decides_the_order():
    torch.manual_seed(3)
    plain = torch.randn(20, 30, device="cuda").cpu()
    torch.manual_seed(3)
    assert torch.empty(30, 20, device="cuda").t().normal_().t().cpu().flatten().equal(plain.flatten())
    torch.manual_seed(3)
    spread = torch.zeros(20, 60, device="cuda")
    spread[:, ::2].normal_()
    assert spread[:, ::2].cpu().equal(plain)
    assert (spread[:, 1::2].cpu() == 0).all()
    torch.manual_seed(3)
    odd = torch.zeros(601, device="cuda")  # at an address that is no multiple of 16
    odd[1:].normal_()
    assert odd[1:].cpu().equal(plain.flatten())


def test_the_cpu_has_numbers_of_its_own():
    torch.manual_seed(3)
    expected = torch.rand(5)
    torch.manual_seed(3)
    torch.rand(5, device="cuda")
    assert torch.rand(5).equal(expected)


# ---- Generators


def test_generator():
    generator = torch.Generator(device="cuda")
    assert generator.device == torch.device("cuda", 0)
    assert generator.initial_seed() == torch.Generator().initial_seed()
    first = torch.rand(5, device="cuda", generator=generator.manual_seed(5))
    assert generator.get_offset() == 4
    assert torch.rand(5, device="cuda", generator=torch.Generator("cuda").manual_seed(5)).equal(first)
    copies = (pickle.loads(pickle.dumps(generator)), copy.deepcopy(generator), generator.clone_state())
    second = torch.rand(5, device="cuda", generator=generator)
    for other in copies:
        assert torch.rand(5, device="cuda", generator=other).equal(second)
    assert torch.rand(5, device="cuda", generator=generator.set_offset(0)).equal(first)
    with pytest.raises(RuntimeError, match="multiple of 4"):
        generator.set_offset(3)
    with pytest.raises(RuntimeError, match="no offset"):
        torch.Generator().get_offset()


def test_generators_of_other_devices():
    with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator but found 'cpu'"):
        torch.rand(2, device="cuda", generator=torch.Generator())
    with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator but found 'cpu'"):
        torch.empty(2, device="cuda").normal_(generator=torch.default_generator)
    with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator but found 'cuda:0'"):
        torch.rand(2, generator=torch.Generator("cuda"))


def test_states():
    torch.cuda.manual_seed(2**40 + 7)
    torch.rand(3, device="cuda")
    state = torch.cuda.get_rng_state()
    assert (state.dtype, state.shape, state.device.type) == (torch.uint8, (16,), "cpu")
    assert state.view(torch.int64).tolist() == [2**40 + 7, 4]
    first = torch.rand(3, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.rand(3, device="cuda").equal(first)
    assert torch.cuda.initial_seed() == 2**40 + 7
    torch.cuda.set_rng_state_all([state] * torch.cuda.device_count())
    assert torch.rand(3, device="cuda").equal(first)
    assert len(torch.cuda.get_rng_state_all()) == torch.cuda.device_count()
    assert torch.cuda.default_generators[0].initial_seed() == 2**40 + 7
    torch.cuda.manual_seed_all(4)
    assert torch.cuda.initial_seed() == 4
    torch.cuda.seed()
    torch.cuda.seed_all()
    with pytest.raises(RuntimeError, match="wrong size"):
        torch.cuda.set_rng_state(torch.get_rng_state())


def test_fork_and_checkpoint():
    with torch.random.fork_rng():
        first = torch.rand(3, device="cuda")
    assert torch.rand(3, device="cuda").equal(first)
    x = torch.ones(200, device="cuda", requires_grad=True)
    y = torch.utils.checkpoint.checkpoint(torch.nn.functional.dropout, x, use_reentrant=False)
    torch.rand(3, device="cuda")
    y.sum().backward()
    assert x.grad.equal(y.detach())


# ---- What is made of fills


def test_dropout():
    x = torch.ones(4, 5000, device="cuda", requires_grad=True)
    y = torch.nn.functional.dropout(x, 0.25)
    kept = y.detach().cpu() != 0
    assert abs(kept.double().mean().item() - 0.75) < 0.02
    assert (y.detach().cpu()[kept] == 1 / 0.75).all()
    y.sum().backward()
    assert x.grad.equal(y.detach())
    channels = torch.nn.Dropout2d(0.5)(torch.ones(8, 50, 3, 3, device="cuda")).cpu()
    assert (channels.flatten(2) == channels[:, :, :1, 0]).all()
    torch.nn.functional.alpha_dropout(torch.ones(10, device="cuda"), 0.5, True)
    torch.nn.functional.gumbel_softmax(torch.ones(3, 4, device="cuda"))


def test_initialised_parameters():
    layer = torch.nn.Linear(60, 50, device="cuda")
    assert abs(here(layer.weight.detach()).std().item() - 1 / math.sqrt(60 * 3)) < 0.01
    torch.nn.init.orthogonal_(torch.empty(4, 4, device="cuda"))
    torch.nn.init.trunc_normal_(torch.empty(40, 4, device="cuda"))
    picked = torch.multinomial(torch.tensor([0.0, 1.0, 3.0]).to("cuda"), 4000, replacement=True)
    assert abs((picked.cpu() == 2).double().mean().item() - 0.75) < 0.05


# ---- Errors


def test_wrong_arguments():
    for call, words in (
        (lambda: empty(3).uniform_(2, 1), "found from=2 > to=1"),
        (lambda: empty(3).normal_(0, -1), "std >= 0.0"),
        (lambda: empty(3, dtype="int64").normal_(), "not implemented"),
        (lambda: empty(3).exponential_(0), "lambda > 0.0"),
        (lambda: empty(3).bernoulli_(1.5), "p to be in"),
        (lambda: empty(3, dtype="uint8").random_(0, 300), "out of bounds"),
        (lambda: empty(3).random_(3, 3), "to be less than"),
        (lambda: empty(3).geometric_(0), "p to be in"),
        (lambda: empty(3, dtype="complex64").bernoulli_(0.5), "not implemented"),
    ):
        with pytest.raises((RuntimeError, NotImplementedError), match=words):
            call()


def test_wrong_values():
    torch.bernoulli(torch.full((3,), 1.5, device="cuda"))
    with pytest.raises(RuntimeError, match="p_in"):
        torch.zeros(1, device="cuda").cpu()
    torch.poisson(torch.full((3,), -1.5, device="cuda"))
    with pytest.raises(RuntimeError, match="Poisson rate"):
        torch.zeros(1, device="cuda").cpu()


@pytest.mark.parametrize("shape", [(0,), (3, 0), ()])
def test_few_elements(shape):
    for fill in ("uniform_", "normal_", "exponential_", "cauchy_", "log_normal_", "random_", "bernoulli_"):
        assert getattr(torch.empty(shape, device="cuda"), fill)().shape == shape
    assert torch.poisson(torch.ones(shape, device="cuda")).shape == shape
