"""Colorings of a sparse pattern: columns of one color are found together, in one product with the matrix.

Colors count from 0; what has no entry has none, -1. Sets of colors are the bits of a Python int.
"""

import numpy as np


def distinct(groups, members, counts):
    """Colors for `counts[1]` members, so that no two of one group have the same: (color of each, number of colors).

    The pairs (groups[k], members[k]) say who is in which of `counts[0]` groups. Greedy, from the member that shares
    groups with most others to that with the fewest.
    """
    sizes = np.bincount(groups, minlength=counts[0])
    degrees = np.bincount(members, weights=sizes[groups] - 1, minlength=counts[1])
    lists = _lists(members, groups, counts[1])
    taken = [0] * counts[0]  # colors by group
    colors = np.full(counts[1], -1)
    for member in np.argsort(-degrees, kind="stable").tolist():
        if not lists[member]:
            continue
        forbidden = 0
        for group in lists[member]:
            forbidden |= taken[group]
        color = _first_free(forbidden)
        colors[member] = color
        for group in lists[member]:
            taken[group] |= 1 << color
    return colors, int(colors.max(initial=-1)) + 1


def star(rows, columns, count):
    """Colors of a symmetric pattern that let each entry, or its mirror image, be read off: (color of each, number).

    No two neighbors have one color, and no path of four vertices has two colors only. So of the entries (i, j) and
    (j, i) at least one stands alone among those of its row that have the color of its column. Greedy, from the vertex
    with most neighbors to that with the fewest.
    """
    apart = rows != columns
    neighbors = _lists(rows[apart], columns[apart], count)
    colors = [-1] * count
    around = [{} for _ in range(count)]  # by vertex: the first neighbor of each color, None once there are several
    taken = [0] * count  # by vertex: the colors of its neighbors
    centers = [0] * count  # by vertex: the colors of neighbors that have another neighbor of this vertex's color
    for vertex in sorted(set(rows.tolist()), key=lambda v: -len(neighbors[v])):
        forbidden = taken[vertex]
        for other in neighbors[vertex]:
            alone = colors[other] >= 0 and around[vertex][colors[other]] is not None
            forbidden |= centers[other] if alone else taken[other]
        color = colors[vertex] = _first_free(forbidden)
        for other in neighbors[vertex]:
            taken[other] |= 1 << color
            if colors[other] >= 0 and color in around[other]:  # other is the center of a star of this color
                first = around[other][color]
                centers[vertex] |= 1 << colors[other]
                if first is not None:
                    centers[first] |= 1 << colors[other]
            around[other][color] = None if color in around[other] else vertex
        for other in neighbors[vertex]:
            if colors[other] >= 0 and around[vertex][colors[other]] is None:
                centers[other] |= 1 << color
    return np.array(colors, np.int64), max(colors, default=-1) + 1


def _lists(keys, values, count):
    """The values of each key from 0 to count - 1."""
    order = np.argsort(keys, kind="stable")
    ends = np.cumsum(np.bincount(keys, minlength=count)[:-1]) if count else []
    return [part.tolist() for part in np.split(values[order], ends)] if count else []


def _first_free(taken):
    """The least color that is not in a set."""
    return (~taken & (taken + 1)).bit_length() - 1
