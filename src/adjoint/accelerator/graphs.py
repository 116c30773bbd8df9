"""Graphs of the accelerator: work that is captured once, and then queued as a whole."""

from ._checks import need

__all__ = ["Graph"]


class Graph:
    """Work that is captured from the current stream, and run again by replay(); a torch.cuda.CUDAGraph does it.

    As a context it captures what is done in it.

    >>> import adjoint as torch
    >>> if torch.accelerator.is_available():
    ...     x, graph = torch.zeros(3, device="cuda"), torch.accelerator.Graph()
    ...     with torch.Stream(), graph:
    ...         _ = x.add_(1)
    ...     graph.replay()
    """

    def __init__(self, keep_graph=False, *, pool=None, capture_error_mode="default"):
        need()
        from ..cuda.graphs import CUDAGraph

        self._graph, self._pool = CUDAGraph(keep_graph), pool
        self._mode = "global" if capture_error_mode == "default" else capture_error_mode

    def capture_begin(self):
        """Begins to capture what is queued on the current stream, which must not be the default one."""
        self._graph.capture_begin(self._pool, self._mode)

    def capture_end(self):
        """Ends the capture; replay() can be called from now on."""
        self._graph.capture_end()

    def instantiate(self):
        """Does nothing: capture_end() has made the graph ready."""
        self._graph.instantiate()

    def replay(self):
        """Queues the captured work on the current stream."""
        self._graph.replay()

    def reset(self):
        """Gives up what was captured."""
        self._graph.reset()

    def pool(self):
        """The name of the graph's memory, for another graph that never runs at the same time."""
        return self._graph.pool()

    def enable_debug_mode(self):
        """Accepted for the sake of programs that call it."""
        self._graph.enable_debug_mode()

    def debug_dump(self, path):
        """Refuses: graphs are not drawn."""
        self._graph.debug_dump(path)

    def __enter__(self):
        self.capture_begin()
        return self

    def __exit__(self, *error):
        self.capture_end()
