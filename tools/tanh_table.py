"""Fits the table of the hyperbolic tangent of floats and prints it as a C++ header.

    python tools/tanh_table.py > csrc/cpu/tanh_table.h

Row 0 of the table is for |x| below 1/16, row i for the i-th quarter of an octave from there on; beyond 9.1 the
function is 1. A row is the polynomial of degree 5 in the distance from the middle of its numbers, by interpolation at
Chebyshev's points. That of row 0 is odd, and that of the last row has 1 in the middle, where the function is half a
unit less: it is 1 from there on, then.
"""

from mpmath import mp, mpf

DIGITS = 40
DEGREE = 5
ROWS, LAST = 32, 29
FIRST = mpf(1) / 16


def interpolated(function, low, high, degree):
    """The polynomial through a function at Chebyshev's points, in powers of the argument."""
    count = degree + 1
    points = [(low + high + (high - low) * mp.cos(mp.pi * (2 * k + 1) / (2 * count))) / 2 for k in range(count)]
    powers = mp.matrix([[x**j for j in range(count)] for x in points])
    return list(mp.lu_solve(powers, mp.matrix([function(x) for x in points])))


def first_row():
    """x + a x^3 + b x^5."""
    a, b = interpolated(lambda square: (mp.tanh(mp.sqrt(square)) / mp.sqrt(square) - 1) / square, 0, FIRST**2, 1)
    return [mpf(0), mpf(1), mpf(0), a, mpf(0), b]


def row(i):
    """The polynomial of row i, around the middle of its numbers; rows without numbers are as the last one."""
    octave, quarter = divmod(min(i, LAST) - 1, 4)
    width = FIRST * 2**octave / 4
    low = FIRST * 2**octave + quarter * width
    middle = low + width / 2
    first, *others = interpolated(lambda r: mp.tanh(middle + r), -width / 2, width / 2, DEGREE)
    return [first if i < LAST else mpf(1), *others]


def hexadecimal(number):
    """The float nearest to a number, as C++ writes it exactly."""
    mantissa, exponent = mp.frexp(abs(number))
    whole = int(mp.nint(mantissa * 2**24))
    if whole == 0:
        return "0"
    while whole % 2 == 0:
        whole, exponent = whole // 2, exponent + 1
    return f"{'-' if number < 0 else ''}{whole:#x}p{exponent - 24}f"


def table():
    """The table as C++, an array for each column."""
    with mp.workdps(DIGITS):
        rows = [first_row(), *(row(i) for i in range(1, ROWS))]
    lines = [f"alignas(64) constexpr float TANH[{DEGREE + 1}][{ROWS}] = {{"]
    for column in zip(*rows, strict=True):
        words = [hexadecimal(number) + "," for number in column]
        lines.append("    {")
        line = "       "
        for word in words:
            if len(line) + 1 + len(word) > 118:
                lines.append(line)
                line = "       "
            line += " " + word
        lines += [line, "    },"]
    return "\n".join([*lines, "};"])


def main():
    print("// The table of the hyperbolic tangent of floats, fitted by tools/tanh_table.py; do not edit.")
    print("#pragma once\n")
    print("namespace adjoint::fn::tables {\n\n// clang-format off")
    print(table())
    print("// clang-format on\n\n}  // namespace adjoint::fn::tables")


if __name__ == "__main__":
    main()
