"""A line search for the strong Wolfe conditions, with cubic interpolation.

The loss must fall by a fair part of what its slope promises, and the slope must become a fair part flatter. Steps are
lengthened until they bracket such a point; then the bracket is narrowed. After Nocedal and Wright, chapter 3.
"""

from collections import namedtuple

DECREASE, CURVATURE = 1e-4, 0.9
CHANGE, STEPS = 1e-9, 25

Point = namedtuple("Point", "length loss grad slope")
Point.__doc__ = "A place on the line: its distance, and loss, gradient and slope along the line there."


def strong_wolfe(ask, start, length, scale, most_steps=STEPS):
    """The point that was found, and how often the function `ask(length) -> Point` was asked.

    >>> from adjoint.optim._wolfe import Point, strong_wolfe
    >>> parabola = lambda x: Point(x, (x - 3) ** 2, None, 2 * (x - 3))
    >>> point, asked = strong_wolfe(parabola, parabola(0), 1.0, 1.0)
    >>> point.length, asked
    (1.0, 1)

    `scale` is the largest element of the direction: a bracket below CHANGE in every element ends the search.
    """

    def too_high(point):
        return point.loss > start.loss + DECREASE * point.length * start.slope

    def is_flat(point):
        return abs(point.slope) <= -CURVATURE * start.slope

    previous, point, asked, steps = start, ask(length), 1, 0
    while steps < most_steps:
        if too_high(point) or (steps > 1 and point.loss >= previous.loss):
            break
        if is_flat(point):
            return point, asked
        if point.slope >= 0:
            break
        shortest = point.length + 0.01 * (point.length - previous.length)
        length = cubic_minimum(previous, point, (shortest, point.length * 10))
        previous, point = point, ask(length)
        asked += 1
        steps += 1
    else:
        previous = start
    low, high = (previous, point) if previous.loss <= point.loss else (point, previous)
    # Interpolation may return to one end again and again: the second time, the step is moved inwards.
    stuck = False
    while steps < most_steps and abs(high.length - low.length) * scale >= CHANGE:
        left, right = sorted((low, high), key=lambda point: float(point.length))
        length = cubic_minimum(left, right)
        margin = 0.1 * (right.length - left.length)
        if min(right.length - length, length - left.length) < margin:
            if stuck or length >= right.length or length <= left.length:
                nearer_right = abs(length - right.length) < abs(length - left.length)
                length = right.length - margin if nearer_right else left.length + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        point = ask(length)
        asked += 1
        steps += 1
        if too_high(point) or point.loss >= low.loss:
            high = point
            if low.loss > high.loss:
                low, high = high, low
            continue
        if is_flat(point):
            return point, asked
        if point.slope * (high.length - low.length) >= 0:
            high = low
        low = point
    return low, asked


def cubic_minimum(a, b, bounds=None):
    """Where the cubic through two points with these slopes is least, within bounds; the middle where it has none."""
    if bounds is None:
        bounds = (a.length, b.length) if a.length <= b.length else (b.length, a.length)
    first = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.length - b.length)
    square = first**2 - a.slope * b.slope
    if square < 0:
        return (bounds[0] + bounds[1]) / 2.0
    root = square**0.5
    if a.length > b.length:
        a, b = b, a
    least = b.length - (b.length - a.length) * ((b.slope + root - first) / (b.slope - a.slope + 2 * root))
    return min(max(least, bounds[0]), bounds[1])
