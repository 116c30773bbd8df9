"""Direction numbers of Sobol sequences: those of S. Joe and F. Y. Kuo (new-joe-kuo-6), as torch and SciPy have them.

A dimension has a primitive polynomial over the integers modulo 2 and its first numbers; the rest follow by the
polynomial's recurrence. For the first 1111 dimensions, whose polynomials have degrees up to 13, they are in
directions.bin, bit by bit: the degree (5 bits), the coefficients between the first and the last, which are 1, and the
numbers m_2, m_3, ... (m_k is odd and below 2^k: its k - 1 upper bits). For more dimensions they are read from SciPy.
"""

import functools
import importlib.util
import pathlib

from .. import _C
from ..ops.language import arange, stack

BITS = 30  # of a coordinate
MOST = 21201
OWN = 1111


@functools.cache
def _own_table():
    """(polynomial, first numbers) of the dimensions from the second on."""
    data = pathlib.Path(__file__).with_name("directions.bin").read_bytes()
    text, place, rows = f"{int.from_bytes(data, 'big'):0{8 * len(data)}b}", 0, []

    def take(count):
        nonlocal place
        place += count
        return int(text[place - count : place] or "0", 2)

    for _ in range(1, OWN):
        degree = take(5)
        polynomial = 1 << degree | take(degree - 1) << 1 | 1
        rows.append((polynomial, [1, *(take(k - 1) << 1 | 1 for k in range(2, degree + 1))]))
    return rows


def _table(dimension):
    """The rows of the dimensions from the second to this one."""
    if dimension <= OWN:
        return _own_table()[: dimension - 1]
    try:
        found = importlib.util.find_spec("scipy")
    except ValueError:  # a program has put something else there
        found = None
    folders = found.submodule_search_locations if found else None
    file = pathlib.Path(*folders[:1], "stats", "_sobol_direction_numbers.npz") if folders else None
    if file is None or not file.exists():
        raise RuntimeError(
            f"SobolEngine: the direction numbers of more than {OWN} dimensions are taken from SciPy, which is not "
            f"installed; got dimension={dimension}: install SciPy, or use fewer dimensions"
        )
    import numpy

    with numpy.load(file) as numbers:
        polynomials, first = numbers["poly"][1:dimension].tolist(), numbers["vinit"][1:dimension].tolist()
    return [(p, row[: p.bit_length() - 1]) for p, row in zip(polynomials, first, strict=True)]


_known: dict = {}  # the largest tensor of them that was made


def direction_numbers(dimension):
    """The direction numbers of the first dimensions, as integers: a tensor of (dimension, BITS)."""
    if "numbers" not in _known or len(_known["numbers"]) < dimension:
        _known["numbers"] = _all_numbers(max(dimension, 64))
    return _known["numbers"][:dimension].clone()


def _all_numbers(dimension):
    result = _C.empty(dimension, BITS, dtype=_C.int64, device="cpu")
    result[0] = 1
    rows = _table(dimension)
    for degree in {polynomial.bit_length() - 1 for polynomial, _ in rows}:
        places = [place for place, (polynomial, _) in enumerate(rows) if polynomial.bit_length() - 1 == degree]
        result[_C.tensor(places, device="cpu") + 1] = _numbers([rows[place] for place in places], degree)
    return result << arange(BITS - 1, -1, -1, device="cpu")


def _numbers(rows, degree):
    """m_1, m_2, ... of dimensions whose polynomials have the same degree:

    m_k = 2 a_1 m_(k-1) + 4 a_2 m_(k-2) + ... + 2^s m_(k-s) + m_(k-s), sums and products bit by bit.
    """
    first = _C.tensor([numbers for _, numbers in rows], dtype=_C.int64, device="cpu")
    columns = list(first.unbind(1))
    polynomials = _C.tensor([polynomial for polynomial, _ in rows], dtype=_C.int64, device="cpu")
    coefficients = [polynomials >> (degree - j) & 1 for j in range(degree + 1)]
    for k in range(degree, BITS):
        value = columns[k - degree]
        for j in range(1, degree + 1):
            value = value ^ (columns[k - j] << j) * coefficients[j]
        columns.append(value)
    return stack(columns[:BITS], 1)
