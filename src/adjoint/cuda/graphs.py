"""Graphs: work of a GPU that is recorded once, and then queued as a whole, without the time that each call takes."""

import gc
import threading

from .. import _C
from ._current import StreamContext
from ._devices import init, is_available, synchronize
from .memory import empty_cache
from .streams import Stream

__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing", "make_graphed_callables"]


def is_current_stream_capturing():
    """Whether work on the current stream goes into a graph.

    >>> import adjoint as torch
    >>> torch.cuda.is_current_stream_capturing()
    False
    """
    return is_available() and _C._cuda_capturing(_C._cuda_current_device())


def graph_pool_handle():
    """A name for memory that graphs can share which never run at the same time; given to graph(pool=).

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     assert torch.cuda.graph_pool_handle() != torch.cuda.graph_pool_handle()
    """
    init()
    return (0, _C._cuda_new_pool())


class CUDAGraph:
    """Work that was captured, to be run again by replay(): what it reads and writes stays where it was.

    Run what is to be captured a few times on a side stream first, so that all kernels are compiled. What has no kernel
    on the GPU, and whatever waits for it, such as item(), cannot be captured.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     x, g = torch.ones(3, device="cuda"), torch.cuda.CUDAGraph()
    ...     _ = x * 2
    ...     with torch.cuda.graph(g):
    ...         y = x * 2
    ...     _ = x.fill_(5)
    ...     g.replay()
    ...     assert y.tolist() == [10.0, 10.0, 10.0]
    """

    __module__ = "adjoint.cuda"

    def __init__(self, keep_graph=False):
        init()
        self._graph = _C._cuda_new_graph()
        self._generators = []  # which the graph draws from

    def register_generator_state(self, generator):
        """Lets random numbers of the capture come from a generator; that of the GPU needs no word.

        Each replay() draws new numbers, and the generator moves on by all that the graph draws.
        """
        _C._cuda_graph_draw_from(self._graph, generator)
        self._generators.append(generator)

    def capture_begin(self, pool=None, capture_error_mode="global"):
        """Begins to capture what is queued on the current stream, which must not be the default one."""
        _C._cuda_graph_begin(self._graph, 0 if pool is None else pool[1], capture_error_mode)

    def capture_end(self):
        """Ends the capture; replay() can be called from now on."""
        _C._cuda_graph_end(self._graph)

    def instantiate(self):
        """Does nothing: capture_end() has made the graph ready."""

    def replay(self):
        """Queues the captured work on the current stream."""
        _C._cuda_graph_launch(self._graph)

    def reset(self):
        """Gives up what was captured."""
        _C._cuda_graph_reset(self._graph)

    def pool(self):
        """The name of the graph's memory, for another graph that never runs at the same time."""
        return (0, _C._cuda_graph_pool(self._graph))

    def enable_debug_mode(self):
        """Accepted for the sake of programs that call it."""

    def debug_dump(self, debug_path):
        """Refuses: graphs are not drawn."""
        raise NotImplementedError("CUDAGraph.debug_dump(): graphs are not drawn here; use NVIDIA's Nsight Systems")


class graph:
    """A context whose work is captured in a CUDAGraph, on a stream of its own.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     x, g = torch.ones(3, device="cuda"), torch.cuda.CUDAGraph()
    ...     with torch.cuda.graph(g):
    ...         y = x + 1
    ...     g.replay()
    """

    __module__ = "adjoint.cuda"
    default_capture_stream = None
    _beginning = threading.RLock()

    def __init__(
        self,
        cuda_graph,
        pool=None,
        stream=None,
        capture_error_mode="global",
        enable_annotations=False,
        check_input_liveness=False,
    ):
        init()
        if graph.default_capture_stream is None:
            graph.default_capture_stream = Stream()
        self.cuda_graph, self.pool, self.capture_error_mode = cuda_graph, pool, capture_error_mode
        self.capture_stream = graph.default_capture_stream if stream is None else stream
        self.stream_ctx = StreamContext(self.capture_stream)

    def __enter__(self):
        with graph._beginning:  # to wait for the GPU would end another thread's capture
            if not _C._cuda_running_captures():
                synchronize()
                gc.collect()
                empty_cache()
            self.stream_ctx.__enter__()
            try:
                self.cuda_graph.capture_begin(self.pool, self.capture_error_mode)
            except BaseException:
                self.stream_ctx.__exit__(None, None, None)
                raise

    def __exit__(self, *error):
        try:
            self.cuda_graph.capture_end()
        finally:
            self.stream_ctx.__exit__(*error)


def make_graphed_callables(callables, sample_args, num_warmup_iters=3, allow_unused_input=False, pool=None):
    """Functions or modules whose forward and backward are replayed graphs; a tuple of them gives a tuple.

    They take tensors of the shapes, types and devices of `sample_args`, and require_grad as those do. Modules must have
    no hooks, and their buffers must not require grad.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     layer = torch.nn.Linear(3, 2).cuda()
    ...     fast = torch.cuda.make_graphed_callables(layer, (torch.ones(4, 3, device="cuda"),))
    ...     fast(torch.ones(4, 3, device="cuda")).sum().backward()
    """
    from ._graphed import graphed

    init()
    single = not isinstance(callables, tuple)
    if single:
        callables, sample_args = (callables,), (sample_args,)
    made = graphed(callables, sample_args, num_warmup_iters, allow_unused_input, pool)
    return made[0] if single else tuple(made)
