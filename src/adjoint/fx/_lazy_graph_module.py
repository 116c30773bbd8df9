"""How passes make GraphModules. Code is made at once here; PyTorch can put it off."""

import contextlib

from .graph_module import GraphModule


def _make_graph_module(*args, graph_module_cls=None, **kwargs):
    """A GraphModule, or one of a given class."""
    return (graph_module_cls or GraphModule)(*args, **kwargs)


def _get_graph_module_cls():
    """The class of which passes make modules."""
    return GraphModule


@contextlib.contextmanager
def _use_lazy_graph_module(should_use):
    """Leaves everything as it is."""
    yield
