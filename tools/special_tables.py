"""Fits the coefficient tables of the special functions and prints them as a C++ header.

    python tools/special_tables.py > csrc/cpu/special_tables.h

The header stands in the tree, because fitting takes ten seconds and always gives the same; a test fits a part of it.
Each table is a Chebyshev series in t on [-1, 1], found by interpolation in 60 digits and cut where it has reached
double precision; csrc/kernels/special_*.cpp say where each one is used. The last table holds Taylor series.
"""

from fractions import Fraction

from mpmath import mp, mpf

mp.dps = 60
POINTS = 90
ENOUGH = mpf("2e-18")
PI = mp.pi


def chebyshev(function):
    """Coefficients of the Chebyshev series of a function of t in [-1, 1], the first one halved."""
    nodes = [mp.cos(PI * (k + mpf(1) / 2) / POINTS) for k in range(POINTS)]
    values = [function(t) for t in nodes]
    series = []
    for j in range(POINTS):
        terms = (v * mp.cos(PI * j * (k + mpf(1) / 2) / POINTS) for k, v in enumerate(values))
        series.append(2 * mp.fsum(terms) / POINTS)
    series[0] /= 2
    size = max(map(abs, series))
    while abs(series[-1]) < ENOUGH * size:
        series.pop()
    return series


def over(low, high, function):
    """A function on [low, high] as one of t in [-1, 1]."""
    return lambda t: function((mpf(high) + low) / 2 + (mpf(high) - low) / 2 * t)


def bessel_small(function):
    """A function of x as one of t = 2 (x/5)^2 - 1."""
    return lambda t: function(5 * mp.sqrt((t + 1) / 2))


def hankel(order):
    """P and x Q of J = sqrt(2/(pi x)) (P cos - Q sin), Y = sqrt(2/(pi x)) (P sin + Q cos), for x > 5."""

    def parts(t):
        x = 5 / mp.sqrt((t + 1) / 2)
        angle = x - PI * (2 * order + 1) / 4
        j, y, c, s = mp.besselj(order, x), mp.bessely(order, x), mp.cos(angle), mp.sin(angle)
        scale = mp.sqrt(PI * x / 2)
        return scale * (j * c + y * s), scale * (y * c - j * s) * x

    return (lambda t: parts(t)[0]), (lambda t: parts(t)[1])


AIRY_EDGE = mpf(3)
AIRY_PHASE = 2 * AIRY_EDGE ** mpf("1.5") / 3


def airy_far(t):
    phase = AIRY_PHASE / ((t + 1) / 2)
    x = (phase * 3 / 2) ** (mpf(2) / 3)
    return 2 * mp.sqrt(PI) * x ** mpf("0.25") * mp.exp(phase) * mp.airyai(x)


def airy_wave(part):
    """P and Q times the phase, of Ai(-x) = (P sin - Q cos) / (sqrt(pi) x^(1/4))."""

    def function(t):
        phase = AIRY_PHASE / mp.sqrt((t + 1) / 2)
        x = (phase * 3 / 2) ** (mpf(2) / 3)
        a, b, s, c = mp.airyai(-x), mp.airybi(-x), mp.sin(phase + PI / 4), mp.cos(phase + PI / 4)
        scale = mp.sqrt(PI) * x ** mpf("0.25")
        return scale * (a * s + b * c) if part == 0 else scale * (b * s - a * c) * phase

    return function


def erfcx(t):
    x = mpf("3.75") * (1 + t) / (1 - t)
    return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)


def ndtri_centre(square):
    q = mp.sqrt(square)
    return mp.sqrt(2) * mp.erfinv(2 * q) / q


def ndtri_tail(r):
    """-ndtri(exp(-r^2)), by Newton's method."""
    goal = -r * r
    x = mp.sqrt(2) * r
    for _ in range(60):
        logarithm = mp.log(mp.erfc(x / mp.sqrt(2)) / 2)
        slope = -mp.exp(-x * x / 2 - logarithm) / mp.sqrt(2 * PI)
        step = (logarithm - goal) / slope
        x -= step
        if abs(step) < mpf(10) ** -50:
            break
    return x


def inverse(function, edge):
    """A function of x in [edge, inf) as one of t = 2 edge/x - 1."""
    return lambda t: function(2 * edge / (t + 1))


def tables():
    """The Chebyshev tables: (name, function of t)."""
    sqrt, exp, log = mp.sqrt, mp.exp, mp.log
    i, j, k, y = mp.besseli, mp.besselj, mp.besselk, mp.bessely
    yield "I0_SMALL", over(0, 8, lambda x: exp(-x) * i(0, x))
    yield "I0_LARGE", inverse(lambda x: exp(-x) * sqrt(x) * i(0, x), 8)
    yield "I1_SMALL", over(0, 8, lambda x: exp(-x) * i(1, x) / x)
    yield "I1_LARGE", inverse(lambda x: exp(-x) * sqrt(x) * i(1, x), 8)
    yield "K0_SMALL", over(0, 4, lambda s: k(0, sqrt(s)) + log(sqrt(s) / 2) * i(0, sqrt(s)))
    yield "K0_LARGE", inverse(lambda x: exp(x) * sqrt(x) * k(0, x), 2)
    yield "K1_SMALL", over(0, 4, lambda s: (k(1, sqrt(s)) - log(sqrt(s) / 2) * i(1, sqrt(s))) * sqrt(s))
    yield "K1_LARGE", inverse(lambda x: exp(x) * sqrt(x) * k(1, x), 2)
    yield "J0_SMALL", bessel_small(lambda x: j(0, x))
    yield "J1_SMALL", bessel_small(lambda x: j(1, x) / x)
    yield "Y0_SMALL", bessel_small(lambda x: y(0, x) - 2 / PI * log(x) * j(0, x))
    yield "Y1_SMALL", bessel_small(lambda x: (y(1, x) - 2 / PI * (log(x) * j(1, x) - 1 / x)) / x)
    for order in (0, 1):
        yield from zip((f"P{order}", f"Q{order}"), hankel(order), strict=True)
    yield "AIRY_MIDDLE", over(-AIRY_EDGE, AIRY_EDGE, mp.airyai)
    yield "AIRY_FAR", airy_far
    yield "AIRY_P", airy_wave(0)
    yield "AIRY_Q", airy_wave(1)
    yield "ERFCX", erfcx
    yield "NDTRI_CENTRE", over(0, mpf("0.180625"), ndtri_centre)
    yield "NDTRI_TAIL", over(mpf("1.6"), 5, ndtri_tail)
    yield "NDTRI_FAR_TAIL", over(5, mpf("27.5"), ndtri_tail)


TERMS = 34  # of the power series below, before they are cut


def divided(a, b):
    """The quotient of two power series with exact coefficients."""
    result = []
    for n in range(len(a)):
        rest = a[n] - sum(result[m] * b[n - m] for m in range(n))
        result.append(rest / b[0])
    return result


def stirling():
    """The coefficients g(k) of Gamma(a) = sqrt(2 pi/a) (a/e)^a sum g(k) / a^k."""
    from mpmath import bernfrac

    logarithm = [Fraction(0)] * 20  # sum B(2m) / (2m (2m-1)) a^(1-2m)
    for m in range(1, 10):
        top, bottom = bernfrac(2 * m)
        logarithm[2 * m - 1] = Fraction(int(top), int(bottom)) / (2 * m * (2 * m - 1))
    g = [Fraction(1)]
    for n in range(1, 20):
        g.append(sum(k * logarithm[k] * g[n - k] for k in range(1, n + 1)) / n)
    return g


def incomplete_gamma():
    """Taylor coefficients of the functions c(k) of Temme's expansion of the incomplete gamma function at x = a."""
    # mu = lambda - 1 as a series in eta, where eta^2 / 2 = mu - log(1 + mu): mu' = eta (1 + mu) / mu.
    mu = [Fraction(0), Fraction(1)]
    for n in range(2, TERMS + 2):
        # (mu mu')_n = eta (1 + mu): the coefficient of eta^n on both sides gives mu_n.
        known = sum(mu[j] * (n + 1 - j) * mu[n + 1 - j] for j in range(2, n))
        mu.append((mu[n - 1] - known) / (n + 1))
    over_mu = divided([Fraction(1)] + [Fraction(0)] * TERMS, mu[1:])  # eta / mu
    g = stirling()
    c = [over_mu[n + 1] for n in range(TERMS)]  # 1/mu - 1/eta
    rows = [c]
    for k in range(1, 8):
        # c(k) = c(k-1)' / eta + (-1)^k g(k) / mu; the poles cancel.
        derivative = [(n + 1) * c[n + 1] for n in range(len(c) - 1)]
        sign = -1 if k % 2 else 1
        c = [derivative[n + 1] + sign * g[k] * over_mu[n + 1] for n in range(len(derivative) - 1)]
        rows.append(c)
    return rows


def listing(numbers):
    """Numbers as C++ text, in lines."""
    words = [f"{float(number)!r}" for number in numbers]
    lines, line = [], "   "
    for word in words:
        if len(line) + len(word) > 115:
            lines.append(line)
            line = "   "
        line += f" {word},"
    return "\n".join([*lines, line])


def chebyshev_table(name, function):
    """One Chebyshev table as C++ text."""
    return f"inline constexpr double {name}[] = {{\n{listing(chebyshev(function))}\n}};"


def taylor_table():
    """The table of Taylor series as C++ text."""
    rows = incomplete_gamma()
    wanted = 18
    head = f"/// Row k: the Taylor coefficients of c(k).\ninline constexpr double TEMME[{len(rows)}][{wanted}] = {{"
    return "\n".join([head, *(f"  {{\n{listing(row[:wanted])}\n  }}," for row in rows), "};"])


def main():
    print("// Coefficients of the special functions, fitted by tools/special_tables.py; do not edit.")
    print("#pragma once\n\nnamespace adjoint::fn::tables {\n\n// clang-format off")
    for name, function in tables():
        print(chebyshev_table(name, function))
    print(taylor_table())
    print("// clang-format on\n\n}  // namespace adjoint::fn::tables")


if __name__ == "__main__":
    main()
