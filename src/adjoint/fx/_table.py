"""Tables of plain text, for printed graphs."""


def table(rows, headers):
    """Rows under headers, in columns as wide as they need to be.

    >>> from adjoint.fx._table import table
    >>> print(table([["x", 1]], ["name", "n"]))
    name      n
    ------  ---
    x         1
    """
    cells = [[str(cell) for cell in row] for row in rows]
    numbers = [bool(rows) and all(type(row[place]) in (int, float) for row in rows) for place in range(len(headers))]
    widths = [max([len(head) + 2, *(len(row[place]) for row in cells)]) for place, head in enumerate(headers)]

    def line(row):
        parts = [
            text.rjust(width) if number else text.ljust(width)
            for text, width, number in zip(row, widths, numbers, strict=True)
        ]
        return "  ".join(parts).rstrip()

    return "\n".join([line(headers), "  ".join("-" * width for width in widths), *(line(row) for row in cells)])
