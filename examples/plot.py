"""Draws a loss curve as SVG or PNG with nothing but NumPy and zlib."""

import math
import struct
import zlib
from itertools import pairwise
from xml.sax.saxutils import escape

import numpy

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 624, 40, 352  # the box in which the curve is
GREY, PALE, BLUE = "#888888", "#b8d0f0", "#1f5fbf"
FINE = 3  # a PNG is drawn so many times as large, and made smaller: that smooths its lines

# Letters of 3 x 5 points for the PNG: five rows, each an octal digit whose bits are points.
LETTERS = "0123456789.-+ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
ROWS = """
75557 26227 71747 71717 55711 74717 74757 71111 75757 75717 00002 00700 02720
75755 65656 34443 65556 74647 74644 34553 55755 72227 11152 55655 44447 57755
65555 25552 65644 25563 65655 34216 72222 55557 55552 55775 55255 55222 71247 00007
"""
FONT = dict(zip(LETTERS, ROWS.split(), strict=True))


def scale(values):
    """The function that spreads a range over 0..1, logarithmic if it spans more than a decade; and ticks to label."""
    low, high = min(values), max(values)
    if low > 0 and high / low > 10:
        return spread(math.log10, low, high), [
            10.0**n for n in range(math.ceil(math.log10(low)), 99) if 10.0**n <= high
        ]
    if low == high:
        low, high = low - 1, high + 1
    unit = 10 ** math.floor(math.log10((high - low) / 2))
    unit *= next(factor for factor in (5, 2, 1) if (high - low) / (unit * factor) >= 2)
    first = math.ceil(low / unit)
    return spread(lambda value: value, low, high), [n * unit for n in range(first, math.floor(high / unit) + 1)]


def spread(curve, low, high):
    return lambda value: (curve(value) - curve(low)) / (curve(high) - curve(low))


def smooth(losses):
    """Means over windows of 1/50 of the curve."""
    window = max(1, len(losses) // 50)
    sums = numpy.cumsum([0.0, *losses])
    ends = numpy.arange(1, len(losses) + 1)
    starts = numpy.maximum(ends - window, 0)
    return (sums[ends] - sums[starts]) / (ends - starts)


def drawing(losses, title):
    """The picture as lines (points, colour, width) and texts (x, y, text, where x is in it: 0 left, 1 right)."""
    known = [(n, loss) for n, loss in enumerate(losses, 1) if math.isfinite(loss)] or [(1, 0.0)]
    steps, values = zip(*known, strict=True)
    place_y, ticks_y = scale(values)
    last = max(2, len(losses))
    place_x, ticks_x = spread(lambda step: step, 1, last), sorted({1, last // 2, last})

    def at(step, value):
        return LEFT + place_x(step) * (RIGHT - LEFT), BOTTOM - place_y(value) * (BOTTOM - TOP)

    lines = [([(LEFT, TOP), (LEFT, BOTTOM), (RIGHT, BOTTOM)], GREY, 1)]
    lines.append(([at(*point) for point in known], PALE, 1))
    lines.append(([at(*point) for point in zip(steps, smooth(values), strict=True)], BLUE, 2))
    texts = [(LEFT, TOP - 14, f"{title} loss", 0), (RIGHT, HEIGHT - 8, "step", 1)]
    texts += [(LEFT - 6, at(1, tick)[1] + 4, f"{tick:.4g}", 1) for tick in ticks_y]
    texts += [(at(tick, values[0])[0], BOTTOM + 20, f"{tick:.0f}", 0.5) for tick in ticks_x]
    return lines, texts


def svg(lines, texts):
    """The picture as the text of an SVG file."""
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif">']
    out.append(f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>')
    for points, colour, width in lines:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>')
    for x, y, text, inside in texts:
        anchor = {0: "start", 0.5: "middle", 1: "end"}[inside]
        out.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="12" text-anchor="{anchor}">{escape(text)}</text>')
    return "\n".join([*out, "</svg>\n"]).encode()


def png(lines, texts):
    """The picture as the bytes of a PNG file."""
    canvas = numpy.full((HEIGHT * FINE, WIDTH * FINE, 3), 255, numpy.uint8)

    def dot(x, y, size, colour):
        top, left = max(0, round(y)), max(0, round(x))
        canvas[top : top + size, left : left + size] = colour

    for points, colour, width in lines:
        rgb = [int(colour[n : n + 2], 16) for n in (1, 3, 5)]
        for (x0, y0), (x1, y1) in pairwise(points):
            for part in numpy.linspace(0, 1, 1 + math.ceil(FINE * max(abs(x1 - x0), abs(y1 - y0)))):
                dot(FINE * (x0 + part * (x1 - x0)) - width, FINE * (y0 + part * (y1 - y0)) - width, FINE * width, rgb)
    point = 2 * FINE  # of a letter
    for x, y, text, inside in texts:
        x = FINE * x - inside * 4 * point * len(text)
        for letter, row in ((i, j) for i in range(len(text)) for j in range(5)):
            bits = int(FONT.get(text[letter].upper(), "00000")[row], 8)
            for column in (0, 1, 2):
                if bits & 4 >> column:
                    dot(x + (4 * letter + column) * point, FINE * y + (row - 5) * point, point, 0)
    small = canvas.reshape(HEIGHT, FINE, WIDTH, FINE, 3).mean(axis=(1, 3)).astype(numpy.uint8)
    rows = b"".join(b"\0" + row.tobytes() for row in small)  # each row after the number of its filter: none

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


FORMATS = {".svg": svg, ".png": png}


def write_plot(path, losses, title):
    """Draws the losses into a file; its ending says in which format."""
    path.write_bytes(FORMATS[path.suffix](*drawing(losses, title)))
