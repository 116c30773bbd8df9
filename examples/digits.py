"""Images of the digits 0 to 9, drawn on the spot: strokes of varying place, size, slant and width, with noise."""

from itertools import pairwise

import numpy

import adjoint as torch

# Each digit as lines through points (x, y), with y downwards, in a box from -1 to 1.
CIRCLE = [(numpy.sin(a), -numpy.cos(a)) for a in numpy.linspace(0, 2 * numpy.pi, 9)]
STROKES = [
    [[(0.55 * x, 0.95 * y) for x, y in CIRCLE]],
    [[(-0.35, -0.6), (0.1, -0.95), (0.1, 0.95)]],
    [[(-0.55, -0.55), (-0.2, -0.9), (0.3, -0.9), (0.55, -0.5), (0.4, -0.1), (-0.55, 0.9), (0.6, 0.9)]],
    [[(-0.5, -0.9), (0.5, -0.9), (-0.05, -0.15), (0.45, 0.1), (0.5, 0.5), (0.15, 0.9), (-0.5, 0.75)]],
    [[(0.3, 0.95), (0.3, -0.95), (-0.6, 0.35), (0.65, 0.35)]],
    [[(0.5, -0.9), (-0.45, -0.9), (-0.5, -0.1), (0.15, -0.2), (0.55, 0.2), (0.45, 0.7), (0.05, 0.95), (-0.5, 0.75)]],
    [[(0.4, -0.9), (-0.2, -0.5), (-0.5, 0.3), *((0.5 * x, 0.45 + 0.5 * y) for x, y in CIRCLE[6:] + CIRCLE[1:7])]],
    [[(-0.55, -0.9), (0.55, -0.9), (-0.1, 0.95)]],
    [[(0.45 * x, -0.5 + 0.45 * y) for x, y in CIRCLE], [(0.5 * x, 0.45 + 0.5 * y) for x, y in CIRCLE]],
    [[(0.48 * x, -0.45 + 0.5 * y) for x, y in CIRCLE], [(0.48, -0.45), (0.4, 0.3), (0.1, 0.95)]],
]


def segments(digit):
    """The lines of a digit as an array (lines, start or end, x or y)."""
    return numpy.array([pair for stroke in STROKES[digit] for pair in pairwise(stroke)])


def make_digits(count, size, seed):
    """So many images (count, 1, size, size) with values from 0 to 1, and the digits on them (count)."""
    random = numpy.random.default_rng(seed)
    labels = random.integers(0, 10, count)
    images = numpy.empty((count, size, size), numpy.float32)
    axis = (numpy.arange(size) + 0.5) / size * 2.6 - 1.3
    points = numpy.stack(numpy.meshgrid(axis, axis), -1).reshape(-1, 1, 2)  # (pixels, 1, x or y)
    for digit in range(10):
        lines = segments(digit)
        for index in numpy.flatnonzero(labels == digit):
            angle, slant = random.normal(0, 0.12), random.normal(0, 0.15)
            width, height = random.uniform(0.75, 1.1, 2)
            turn = numpy.array([[numpy.cos(angle), numpy.sin(angle)], [-numpy.sin(angle), numpy.cos(angle)]])
            placed = lines @ (numpy.array([[width, 0], [slant, height]]) @ turn) + random.uniform(-0.15, 0.15, 2)
            images[index] = ink(points, placed, random.uniform(0.12, 0.22)).reshape(size, size)
    images += random.normal(0, 0.05, images.shape)
    return torch.from_numpy(images.clip(0, 1)[:, None]), torch.from_numpy(labels)


def ink(points, lines, thickness):
    """How dark each point is: 1 on a line, falling to 0 where the distance from all lines passes the thickness."""
    start, along = lines[:, 0], lines[:, 1] - lines[:, 0]
    part = ((points - start) * along).sum(-1) / (along * along).sum(-1)
    nearest = start + part.clip(0, 1)[..., None] * along
    distance = numpy.sqrt(((points - nearest) ** 2).sum(-1)).min(1)
    return (2 - 1.5 * distance / thickness).clip(0, 1)


def show(image):
    """An image (size, size) as text, two rows of pixels in a line of characters."""
    shades = " .:-=+*#%@"
    rows = (image[::2] + image[1::2]) / 2
    return "\n".join("".join(shades[min(9, int(10 * value))] for value in row) for row in rows.tolist())
