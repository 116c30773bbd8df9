"""Comparisons for tests: assert_close says how far two results are apart, and where."""

from collections.abc import Mapping, Sequence
from numbers import Number

from .. import _C

# dtype -> (rtol, atol)
_PRECISIONS = {
    _C.float16: (1e-3, 1e-5),
    _C.bfloat16: (1.6e-2, 1e-5),
    _C.float32: (1.3e-6, 1e-5),
    _C.float64: (1e-7, 1e-7),
    _C.complex32: (1e-3, 1e-5),
    _C.complex64: (1.3e-6, 1e-5),
    _C.complex128: (1e-7, 1e-7),
}
# Layout -> what it is called, and the methods that give its indices.
_LAYOUTS = {
    _C.sparse_coo: ("COO", ("_indices",)),
    _C.sparse_csr: ("CSR", ("crow_indices", "col_indices")),
    _C.sparse_bsr: ("BSR", ("crow_indices", "col_indices")),
    _C.sparse_csc: ("CSC", ("ccol_indices", "row_indices")),
    _C.sparse_bsc: ("BSC", ("ccol_indices", "row_indices")),
}
_OLDER_PRECISIONS = {_C.float16: (1e-3, 1e-3), _C.float32: (1e-4, 1e-5), _C.float64: (1e-5, 1e-8)}


def assert_close(
    actual,
    expected,
    *,
    allow_subclasses=True,
    rtol=None,
    atol=None,
    equal_nan=False,
    check_device=True,
    check_dtype=True,
    check_layout=True,
    check_stride=False,
    msg=None,
):
    """Raises AssertionError unless |actual - expected| <= atol + rtol * |expected| everywhere.

    Tensors, numbers, arrays, None, and sequences and mappings of them; the tolerances depend on the dtype.

    >>> import adjoint as torch
    >>> torch.testing.assert_close(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0 + 1e-7]))
    """
    if (rtol is None) != (atol is None):
        missing = "rtol" if rtol is None else "atol"
        raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.")
    checks = {"check_device": check_device, "check_dtype": check_dtype, "check_layout": check_layout}
    comparison = _Comparison(rtol, atol, equal_nan, allow_subclasses, check_stride=check_stride, **checks)
    failure = comparison.compare(actual, expected, ())
    if failure is not None:
        text, path = failure
        if path:
            text += f"\n\nThe failure occurred for item {''.join(f'[{key!r}]' for key in path)}"
        raise AssertionError(msg(text) if callable(msg) else msg or text)


class _Comparison:
    """The settings of a comparison; compare() gives None, or (what differs, the keys that lead there)."""

    def __init__(self, rtol, atol, equal_nan, allow_subclasses, **checks):
        self.rtol, self.atol, self.equal_nan = rtol, atol, equal_nan
        self.allow_subclasses = allow_subclasses
        self.check_device, self.check_dtype = checks["check_device"], checks["check_dtype"]
        self.check_layout, self.check_stride = checks["check_layout"], checks["check_stride"]

    def compare(self, actual, expected, path):
        """Compares by kind."""
        if actual is None or expected is None:
            same = actual is None and expected is None
            return None if same else (f"None mismatch: {actual} is not {expected}", path)
        if self._both(actual, expected, str):
            self._refuse(actual, expected)
        if self._both(actual, expected, Mapping):
            return self._mappings(actual, expected, path)
        if self._both(actual, expected, bool):
            same = actual is expected
            return None if same else (f"Booleans mismatch: {actual} is not {expected}", path)
        if self._both(actual, expected, Number):
            return self._tensors(self._of_number(actual), self._of_number(expected), path)
        if self._both(actual, expected, _C.Tensor) or self._are_arrays(actual, expected):
            if not self.allow_subclasses and type(actual) is not type(expected):
                self._refuse(actual, expected)
            return self._tensors(_C.as_tensor(actual).detach(), _C.as_tensor(expected).detach(), path)
        if self._both(actual, expected, Sequence):
            return self._sequences(actual, expected, path)
        self._refuse(actual, expected)

    @staticmethod
    def _both(actual, expected, kind):
        return isinstance(actual, kind) and isinstance(expected, kind)

    @staticmethod
    def _are_arrays(actual, expected):
        return all(type(x).__module__ == "numpy" for x in (actual, expected))

    @staticmethod
    def _of_number(value):
        kinds = {int: _C.int64, float: _C.float64, complex: _C.complex128}
        return _C.tensor(value, dtype=kinds.get(type(value)))

    @staticmethod
    def _refuse(actual, expected):
        raise TypeError(f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.")

    def _mappings(self, actual, expected, path):
        if set(actual) != set(expected):
            missing = sorted((key for key in expected if key not in actual), key=str)
            more = sorted((key for key in actual if key not in expected), key=str)
            return (
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {missing}\nAdditional keys in the actual mapping: {more}",
                path,
            )
        return self._first(((key, actual[key], expected[key]) for key in expected), path)

    def _sequences(self, actual, expected, path):
        if len(actual) != len(expected):
            return f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", path
        return self._first(((i, a, e) for i, (a, e) in enumerate(zip(actual, expected, strict=True))), path)

    def _first(self, items, path):
        for key, actual, expected in items:
            failure = self.compare(actual, expected, (*path, key))
            if failure is not None:
                return failure
        return None

    def _tensors(self, actual, expected, path):
        strided = actual.layout == expected.layout == _C.strided
        attributes = (
            ("shape", True),
            ("layout", self.check_layout),
            ("stride()", self.check_stride and strided),
            ("device", self.check_device),
            ("dtype", self.check_dtype),
        )
        for name, checked in attributes:
            if not checked:
                continue
            ours, theirs = (x.stride() if name == "stride()" else getattr(x, name) for x in (actual, expected))
            if ours != theirs:
                return f"The values for attribute '{name}' do not match: {ours} != {theirs}.", path
        if actual.device != expected.device:
            if actual.is_meta or expected.is_meta:
                return None  # there are no values to compare
            actual, expected = actual.cpu(), expected.cpu()
        if actual.layout != expected.layout:
            actual, expected = actual.to_dense(), expected.to_dense()
        rtol, atol = self._tolerances(actual)
        if actual.dtype != expected.dtype:
            common = _C.promote_types(actual.dtype, expected.dtype)
            rtol, atol = (max(pair) for pair in zip((rtol, atol), self._tolerances(expected), strict=True))
            actual, expected = actual.to(common), expected.to(common)
        if actual.layout != _C.strided:
            return self._sparse(actual, expected, rtol, atol, path)
        return self._values(actual, expected, rtol, atol, path)

    def _sparse(self, actual, expected, rtol, atol, path):
        """Tensors of one layout: as many entries, at the same places, with values that are close."""
        kind, indices = _LAYOUTS[actual.layout]
        counts = [("specified values", "_nnz")]
        if actual.layout == _C.sparse_coo:
            counts.insert(0, ("sparse dimensions", "sparse_dim"))
        for name, method in counts:
            ours, theirs = getattr(actual, method)(), getattr(expected, method)()
            if ours != theirs:
                return f"The number of {name} in sparse {kind} tensors does not match: {ours} != {theirs}", path
        for name in indices:
            ours, theirs = getattr(actual, name)(), getattr(expected, name)()
            failure = self._values(ours, theirs, 0, 0, path, f"Sparse {kind} {name.lstrip('_')}")
            if failure is not None:
                return failure
        values = "_values" if actual.layout == _C.sparse_coo else "values"
        ours, theirs = getattr(actual, values)(), getattr(expected, values)()
        return self._values(ours, theirs, rtol, atol, path, f"Sparse {kind} values")

    def _values(self, actual, expected, rtol, atol, path, what="Tensor-likes"):
        if actual.is_meta or expected.is_meta:  # there is nothing to compare
            return None
        if actual.is_floating_point() and actual.element_size() == 1:
            return self._bits(actual, expected, rtol, atol, path, what)
        close = actual.isclose(expected, rtol=rtol, atol=atol, equal_nan=self.equal_nan)
        return None if bool(close.all()) else (_describe(actual, expected, ~close, rtol, atol, what), path)

    def _bits(self, actual, expected, rtol, atol, path, what):
        """Floats of 8 bits are the same, or they are not."""
        if rtol != 0 or atol != 0:
            return (
                f"Rtol={rtol} and atol={atol} are not supported for bitwise comparison of low dimensional floats. "
                "Please use rtol=0.0 and atol=0.0.",
                path,
            )
        actual, expected = actual.float(), expected.float()
        wrong = ~actual.isclose(expected, rtol=0, atol=0, equal_nan=self.equal_nan)
        if not bool(wrong.any()):
            return None
        if actual.dim() == 0:
            return _describe(actual, expected, wrong, 0, 0, what), path
        first = f"The first mismatched element is at index {tuple(wrong.nonzero()[0].tolist())}."
        return f"{what} are not 'equal'!\n\n{_mismatched(wrong)}\n{first}", path

    def _tolerances(self, tensor):
        if self.rtol is not None:
            return self.rtol, self.atol
        return _PRECISIONS.get(tensor.dtype, (0.0, 0.0))


def _mismatched(wrong):
    count = int(wrong.sum())
    return f"Mismatched elements: {count} / {wrong.numel()} ({count / wrong.numel():.1%})"


def _describe(actual, expected, wrong, rtol, atol, what):
    exact = rtol == 0 and atol == 0
    verdict = "equal" if exact else "close"
    if actual.dtype == _C.bool:
        actual, expected = actual.to(_C.uint8), expected.to(_C.uint8)
    if not (actual.is_floating_point() or actual.is_complex()):
        actual, expected = actual.to(_C.int64), expected.to(_C.int64)
    absolute = (actual - expected).abs()
    relative = absolute / expected.abs()
    allowed = ["" if exact else f" (up to {limit} allowed)" for limit in (atol, rtol)]
    if actual.dim() == 0:
        return (
            f"Scalars are not {verdict}!\n\nExpected {expected.item()} but got {actual.item()}.\n"
            f"Absolute difference: {absolute.item()}{allowed[0]}\nRelative difference: {relative.item()}{allowed[1]}"
        )

    def greatest(difference):
        flat = difference.masked_fill(~wrong, 0).reshape(-1)
        place = rest = int(flat.argmax())
        index = ()
        for size in reversed(difference.shape):
            rest, i = divmod(rest, size)
            index = (i, *index)
        return f"{flat[place].item()} at index {index}"

    return (
        f"{what} are not {verdict}!\n\n{_mismatched(wrong)}\n"
        f"Greatest absolute difference: {greatest(absolute)}{allowed[0]}\n"
        f"Greatest relative difference: {greatest(relative)}{allowed[1]}"
    )


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg=""):
    """assert_close() under its older name, with wider tolerances and without a check of the type.

    >>> import adjoint as torch
    >>> torch.testing.assert_allclose(torch.tensor([1.0]), torch.tensor([1.00001], dtype=torch.float64))
    """
    if not isinstance(actual, _C.Tensor):
        actual = _C.tensor(actual)
    if not isinstance(expected, _C.Tensor):
        expected = _C.tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        both = (_OLDER_PRECISIONS.get(tensor.dtype, (0.0, 0.0)) for tensor in (actual, expected))
        rtol, atol = (max(pair) for pair in zip(*both, strict=True))
    assert_close(
        actual,
        expected,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_device=True,
        check_dtype=False,
        msg=msg or None,
    )
