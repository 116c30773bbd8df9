"""Expressions as straight-line code of some language."""

from .expressions import topological


class Renderer:
    """How a language spells an expression. A new language says what a constant, a name and a call look like in it."""

    def constant(self, number):
        """A Python number."""
        raise NotImplementedError

    def name(self, name):
        """An input or a param."""
        raise NotImplementedError

    def call(self, primitive, args):
        """The primitive of this name, of arguments that are given as text."""
        raise NotImplementedError

    def statements(self, root):
        """All nodes under `root`, each computed once: [(name, text)] and the text of the result."""
        names, statements = {}, []
        for value in topological([root]):
            if value.kind == "const":
                names[id(value)] = self.constant(value.payload)
            elif not value.args:
                names[id(value)] = self.name(value.payload)
            else:
                name = f"v{len(statements)}"
                statements.append((name, self.call(value.kind, [names[id(a)] for a in value.args])))
                names[id(value)] = name
        return statements, names[id(root)]
