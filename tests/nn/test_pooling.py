"""Pooling layers beside torch's."""

import pytest

from tests.compare import LIBRARIES, same

from .compare import check, check_signature, floats

SIZES = {1: (9,), 2: (9, 8), 3: (6, 5, 6)}


@pytest.mark.parametrize(
    "name",
    [
        f"{kind}{dims}d"
        for kind in ("MaxPool", "AvgPool", "LPPool", "AdaptiveAvgPool", "AdaptiveMaxPool", "MaxUnpool")
        for dims in SIZES
    ]
    + ["FractionalMaxPool2d", "FractionalMaxPool3d"],
)
def test_signatures(name):
    check_signature(name)


@pytest.mark.parametrize("dims", SIZES)
@pytest.mark.parametrize(
    ("kind", "args", "options"),
    [
        ("MaxPool", (2,), {}),
        ("MaxPool", (3, 2, 1), {"ceil_mode": True}),
        ("MaxPool", (2, 1), {"dilation": 2, "return_indices": True}),
        ("AvgPool", (2,), {}),
        ("AvgPool", (3, 2, 1), {"ceil_mode": True, "count_include_pad": False}),
        ("LPPool", (2, 2), {}),
        ("LPPool", (3, 3, 2), {"ceil_mode": True}),
        ("AdaptiveAvgPool", (3,), {}),
        ("AdaptiveMaxPool", (2,), {"return_indices": True}),
        ("AdaptiveMaxPool", (3,), {}),
    ],
    ids=str,
)
def test_pools(dims, kind, args, options):
    make = lambda L: getattr(L.nn, f"{kind}{dims}d")(*args, **options)
    values = abs(floats(2, 3, *SIZES[dims])) if kind == "LPPool" else floats(2, 3, *SIZES[dims])
    check(make, values)
    check(make, values[0])


def equals_and_nans(L, sizes, dtype):
    """Few different numbers, so that many are equal, with NaN and infinities among them."""
    L.manual_seed(0)
    x = L.randint(-1, 3, sizes).to(getattr(L, dtype))
    return L.where(x == 2, L.nan, L.where(x == -1, -L.inf, x)) if x.is_floating_point() else x


@pytest.mark.parametrize("sizes", [(8, 8), (9, 8), (7, 7), (6, 40), (60, 12), (200, 14), (12, 9)], ids=str)
@pytest.mark.parametrize("kernel", [2, 3, (3, 2), (2, 3)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_greatest_of_equals_and_nans(sizes, kernel, dtype):
    """The first of equals and the last NaN, in rows short and long, with windows that fit and that leave a rest."""

    def program(L):
        pool, x = L.nn.functional.max_pool2d, equals_and_nans(L, (3, 2, *sizes), dtype)
        return [tensor.tolist() for tensor in (*pool(x, kernel, return_indices=True), pool(x, kernel))]

    same(program)


@pytest.mark.parametrize(
    ("name", "sizes", "size"),
    [
        ("max_pool1d", (70, 5, 64), 2),
        ("max_pool1d", (3, 2, 100), 9),
        ("max_pool2d", (3, 2, 30, 200), 10),
        ("max_pool3d", (9, 5, 8, 8, 8), 2),
        ("max_pool3d", (2, 3, 6, 7, 9), 3),
        ("max_pool3d", (2, 3, 7, 4, 4), 2),
        ("adaptive_max_pool1d", (3, 2, 33), 4),
        ("adaptive_max_pool2d", (3, 2, 32, 32), 2),
        ("adaptive_max_pool2d", (3, 2, 9, 50), (2, 3)),
        ("adaptive_max_pool2d", (3, 2, 9, 50), (4, 20)),
        ("adaptive_max_pool3d", (2, 2, 5, 6, 25), (2, 1, 2)),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_greatest_in_tiles_and_wide_windows(name, sizes, size, dtype):
    """As above, where many planes are pooled together and where windows are wide."""

    def program(L):
        pool, x = getattr(L.nn.functional, name), equals_and_nans(L, sizes, dtype)
        return [tensor.tolist() for tensor in (*pool(x, size, return_indices=True), pool(x, size))]

    same(program)


@pytest.mark.parametrize("sizes", [(1, 40), (9, 33), (5, 300)], ids=str)
@pytest.mark.parametrize("kernel", [1, 2, 3, 5], ids=str)
@pytest.mark.parametrize("stride", [1, 2, 3], ids=str)
@pytest.mark.parametrize(
    "options", [{}, {"ceil_mode": True, "count_include_pad": False}, {"divisor_override": 3}], ids=str
)
def test_means_of_long_rows(sizes, kernel, stride, options):
    make = lambda L: L.nn.AvgPool2d(kernel, stride, kernel // 2, **options)
    if sizes[0] + 2 * (kernel // 2) >= kernel:
        check(make, floats(2, 3, *sizes))


@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize("options", [{"output_size": 3}, {"output_ratio": 0.5, "return_indices": True}], ids=str)
def test_fractional_pools(dims, options):
    make = lambda L: getattr(L.nn, f"FractionalMaxPool{dims}d")(2, **options)
    check(make, floats(2, 3, *SIZES[dims]))


@pytest.mark.parametrize("dims", SIZES)
def test_unpools(dims):
    class Pair:
        """There and back again."""

        def __new__(cls, L):
            class Both(L.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.pool = getattr(L.nn, f"MaxPool{dims}d")(2, return_indices=True)
                    self.unpool = getattr(L.nn, f"MaxUnpool{dims}d")(2)

                def forward(self, x):
                    return self.unpool(*self.pool(x), output_size=x.shape)

            return Both()

    check(Pair, floats(2, 3, *SIZES[dims]))


@pytest.mark.parametrize(
    "program",
    [
        lambda L: repr(L.nn.MaxPool2d((3, 2), stride=(2, 1), padding=(1, 0), dilation=2, ceil_mode=True)),
        lambda L: repr(L.nn.AvgPool1d(3)),
        lambda L: L.nn.AvgPool1d(3).stride,
        lambda L: repr(L.nn.AvgPool2d((3, 2), divisor_override=3)),
        lambda L: L.nn.AvgPool2d((3, 2), 0).stride,
        lambda L: L.nn.AvgPool2d(2, divisor_override=3)(L.ones(1, 4, 4)),
        lambda L: repr(L.nn.LPPool3d(1.5, (3, 2, 1))),
        lambda L: repr(L.nn.AdaptiveMaxPool2d((3, None))),
        lambda L: L.nn.AdaptiveAvgPool2d((3, None))(L.ones(1, 5, 7)).shape,
        lambda L: repr(L.nn.FractionalMaxPool2d(3, output_ratio=0.5)),
        lambda L: L.nn.FractionalMaxPool3d(2, output_ratio=0.5).output_ratio,
        lambda L: L.nn.FractionalMaxPool2d(2, output_size=3, _random_samples=L.full((1, 1, 2), 0.5))(
            L.arange(64.0).reshape(1, 1, 8, 8)
        ),
        lambda L: list(L.nn.FractionalMaxPool2d(2, output_size=3, _random_samples=L.ones(1, 1, 2)).state_dict()),
        lambda L: repr(L.nn.MaxUnpool2d(2, (3, 1), 1)),
        lambda L: L.nn.MaxPool2d(2)(L.ones(1, 4, 4, dtype=L.int64)),
        lambda L: L.nn.FractionalMaxPool2d(3),
        lambda L: L.nn.FractionalMaxPool3d(3, output_size=5, output_ratio=0.5),
        lambda L: L.nn.FractionalMaxPool2d(3, output_ratio=1.5),
        lambda L: L.nn.FractionalMaxPool2d(2, output_size=(9, 9))(L.ones(1, 1, 8, 8)),
        lambda L: L.nn.MaxPool2d(3, padding=2)(L.ones(1, 5, 5)),
        lambda L: L.nn.MaxPool2d(0)(L.ones(1, 5, 5)),
        lambda L: L.nn.AvgPool2d(3, divisor_override=0)(L.ones(1, 5, 5)),
        lambda L: L.nn.AdaptiveAvgPool2d((2, 2, 2))(L.ones(1, 5, 7)),
        lambda L: L.nn.AdaptiveMaxPool3d(2)(L.ones(1, 5, 7)),
        lambda L: L.nn.MaxUnpool2d(2)(*L.nn.MaxPool2d(2, return_indices=True)(L.ones(1, 5, 5)), output_size=(9, 9)),
        lambda L: L.nn.MaxUnpool2d(2)(*L.nn.MaxPool2d(2, return_indices=True)(L.ones(1, 5, 5)), output_size=(9,)),
    ],
)
def test_attributes_and_errors(program):
    same(program)


def test_the_mean_of_a_long_row_keeps_its_digits():
    x = 1000 + floats(1, 2, 100003)
    exact = x.astype("float64").mean(-1).reshape(-1)
    for library in LIBRARIES:
        found = library.nn.functional.adaptive_avg_pool1d(library.from_numpy(x.astype("float32")), 1)
        assert max(abs(found.double().reshape(-1).numpy() / exact - 1)) < 3e-7
    same(lambda L: L.nn.functional.adaptive_avg_pool1d(L.ones(2, 3, 4, requires_grad=True), 1))
