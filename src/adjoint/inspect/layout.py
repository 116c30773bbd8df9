"""A layered layout: where the boxes of an acyclic graph go, so that edges run downwards and cross little.

Layers by longest path, long edges led through invisible points, order within a layer by the mean position of
neighbours, and positions by least squares under the constraint that nothing overlaps.
"""

ORDER_SWEEPS = 8
PLACE_SWEEPS = 8
GAP = 18.0


class Layout:
    """`widths[v]` is the width of box v; `edges` are pairs (v, w), v drawn above w; every v > w in the numbering.

    Afterwards: `layer[v]` (0 is the lowest), `x[v]` (centres, from 0), `total_width`; `chain` and `branch` say where
    edges run.
    """

    def __init__(self, widths, edges):
        self.count = len(widths)
        self.widths = list(widths)
        self.layer = self._layers(edges)
        self.above = [[] for _ in widths]  # neighbours one layer up, and below one layer down
        self.below = [[] for _ in widths]
        self._chains = {}  # box -> the invisible points below it, from its layer downwards
        self._connect(edges)
        self.rows = self._order()
        self.x = self._place()
        left = min(x - w / 2 for x, w in zip(self.x, self.widths, strict=True))
        self.x = [x - left for x in self.x]
        self.total_width = max(x + w / 2 for x, w in zip(self.x, self.widths, strict=True))

    def _layers(self, edges):
        """The longest distance to the results, which have the smallest numbers."""
        layer = [0] * self.count
        for upper, lower in sorted(set(edges), key=lambda edge: edge[1]):
            layer[upper] = max(layer[upper], layer[lower] + 1)
        return layer

    def _connect(self, edges):
        """Neighbours in adjacent layers. The edges down from one box share its invisible points."""
        for upper, lower in dict.fromkeys(edges):
            chain = self._chains.setdefault(upper, [upper])
            for height in range(self.layer[upper] - len(chain), self.layer[lower], -1):
                point = len(self.layer)
                self.layer.append(height)
                self.widths.append(2.0)
                self.above.append([])
                self.below.append([])
                self._link(chain[-1], point)
                chain.append(point)
            self._link(chain[self.layer[upper] - self.layer[lower] - 1], lower)

    def _link(self, upper, lower):
        self.below[upper].append(lower)
        self.above[lower].append(upper)

    def chain(self, upper):
        """The points that lead down from a box, beginning with itself; its edges branch off from them."""
        return self._chains.get(upper, [upper])

    def branch(self, upper, lower):
        """The point at which the edge to `lower` leaves the chain."""
        return self._chains[upper][self.layer[upper] - self.layer[lower] - 1]

    def _order(self):
        """The rows of each layer from left to right."""
        rows = [[] for _ in range(max(self.layer) + 1)]
        for v in range(len(self.layer)):
            rows[self.layer[v]].append(v)
        position = {v: float(i) for row in rows for i, v in enumerate(row)}
        for sweep in range(ORDER_SWEEPS):
            upward = sweep % 2 == 0
            neighbours = self.below if upward else self.above
            for row in rows if upward else reversed(rows):
                row.sort(key=lambda v: _mean([position[n] for n in neighbours[v]], position[v]))
                for i, v in enumerate(row):
                    position[v] = float(i)
        return rows

    def _place(self):
        """Centres: as near to the neighbours' as the order and the widths allow."""
        x = [0.0] * len(self.layer)
        offsets = {}
        for row in self.rows:
            at = 0.0
            for i, v in enumerate(row):
                at += (self.widths[row[i - 1]] + self.widths[v]) / 2 + GAP if i else 0.0
                offsets[v] = at
            for v in row:
                x[v] = offsets[v] - at / 2
        for sweep in range(PLACE_SWEEPS):
            upward = sweep % 2 == 0
            for row in self.rows if upward else reversed(self.rows):
                first, second = (self.below, self.above) if upward else (self.above, self.below)
                wished = [_mean([x[n] for n in first[v] or second[v]], x[v]) - offsets[v] for v in row]
                for v, value in zip(row, _nondecreasing(wished), strict=True):
                    x[v] = value + offsets[v]
        return x


def _mean(values, otherwise):
    return sum(values) / len(values) if values else otherwise


def _nondecreasing(values):
    """The nondecreasing sequence nearest to `values` in squares: neighbours in the wrong order share their mean."""
    blocks = []  # (sum, count)
    for value in values:
        total, count = value, 1
        while blocks and blocks[-1][0] * count > total * blocks[-1][1]:
            before = blocks.pop()
            total, count = total + before[0], count + before[1]
        blocks.append((total, count))
    return [total / count for total, count in blocks for _ in range(count)]
