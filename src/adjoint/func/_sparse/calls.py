"""A call of an op while a pattern is traced: what rules look at."""


class Call:
    """A call with an argument that depends on the input.

    `arguments` has all of them by name; `tracked` the rows (rows.py) of those that depend on the input, of a list those
    of each member or None; `outputs` are the results, or tensors of their shapes.
    """

    def __init__(self, declaration, op, arguments, tracked, outputs, inputs):
        self.declaration, self.op, self.outputs, self.inputs = declaration, op, outputs, inputs
        self.arguments = dict(zip(declaration.arguments, arguments, strict=True))
        self.tracked = {declaration.arguments[i]: rows for i, rows in tracked.items()}
        self.first = arguments[0]

    def shape(self, name):
        return tuple(self.arguments[name].shape)

    def members(self):
        """(tensor, rows) of all tensors that depend on the input."""
        found = []
        for name, rows in self.tracked.items():
            value = self.arguments[name]
            found += zip(value, rows, strict=True) if isinstance(rows, list) else [(value, rows)]
        return [(tensor, rows) for tensor, rows in found if rows is not None]

    def moving(self):
        """Those among them whose derivative by the input need not be zero."""
        return [(tensor, rows) for tensor, rows in self.members() if rows.nnz]
