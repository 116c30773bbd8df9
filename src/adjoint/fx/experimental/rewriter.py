"""A tracer that records assertions: the source of functions is rewritten to call torch._assert."""

import ast
import copy
import functools
import inspect
import sys
import textwrap
import types

from ...nn import Module
from .._names import PACKAGE
from .._symbolic_trace import Tracer

__all__ = ["AST_Rewriter", "RewritingTracer"]


class AST_Rewriter(ast.NodeTransformer):
    """Makes calls of torch._assert of assertions, and plain assignments of annotated ones."""

    def rewrite(self, fn):
        """The function that the rewritten source defines, with the globals and closure of the first."""
        tree = ast.fix_missing_locations(self.visit(ast.parse(textwrap.dedent(inspect.getsource(fn)))))
        definition = tree.body[0]
        definition.decorator_list = []
        code = compile(tree, fn.__code__.co_filename, "exec")
        inner = next(const for const in code.co_consts if isinstance(const, types.CodeType))
        names = {**fn.__globals__, "torch": sys.modules[PACKAGE]}
        if inner.co_freevars != fn.__code__.co_freevars:
            return fn  # closures whose order the rewritten source does not keep
        made = types.FunctionType(inner, names, fn.__name__, fn.__defaults__, fn.__closure__)
        made.__kwdefaults__ = fn.__kwdefaults__
        return functools.update_wrapper(made, fn)

    def visit_Assert(self, node):
        """`assert x, "words"` as `torch._assert(x, "words")`."""
        message = node.msg if node.msg is not None else ast.Constant("")
        call = ast.parse("torch._assert()").body[0]
        call.value.args = [node.test, message]
        return ast.copy_location(call, node)

    def visit_AnnAssign(self, node):
        """`x: int = 1` as `x = 1`."""
        if node.value is None:
            return node
        return ast.copy_location(ast.Assign(targets=[node.target], value=node.value), node)


class RewritingTracer(Tracer):
    """A Tracer that records the assertions of what it traces.

    `RewritingTracer().trace(module)` has a node torch._assert for each assert statement.
    """

    def trace(self, root, concrete_args=None):
        """The graph of the rewritten module or function."""
        return super().trace(_rewrite(root), concrete_args)


def _rewrite(what):
    if not isinstance(what, Module):
        return AST_Rewriter().rewrite(what)
    result = copy.copy(what)
    result.__class__ = type(type(what).__name__, (type(what),), {"forward": AST_Rewriter().rewrite(type(what).forward)})
    return result
