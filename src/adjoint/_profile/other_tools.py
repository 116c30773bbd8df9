"""Names of torch for profilers of others, VTune and nvprof: they do nothing where that is right, and refuse else."""


class _Emitter:
    """A block whose ops another tool is told of."""

    def __init__(self, enabled=True, record_shapes=False):
        self.enabled = enabled
        self.entered = False
        self.record_shapes = record_shapes

    def __enter__(self):
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError(
                f"{self.what} annotation context manager is not reentrant; make another for another block"
            )
        self.entered = True
        self._begin()
        return self

    def __exit__(self, *_):
        return False


class emit_itt(_Emitter):  # torch's name
    """Runs a block; there is no Intel VTune to tell of it, so that nothing else is done.

    >>> import adjoint as torch
    >>> with torch.autograd.profiler.emit_itt():
    ...     y = torch.ones(2) * 2
    """

    what = "ITT"

    def _begin(self):
        pass


class emit_nvtx(_Emitter):  # torch's name
    """Refuses: NVTX is CUDA's, which is not here. Use torch.profiler.profile().

    >>> import adjoint as torch
    >>> with torch.autograd.profiler.emit_nvtx(enabled=False):
    ...     y = torch.ones(2) * 2
    """

    what = "NVTX"

    def _begin(self):
        raise AssertionError("Torch not compiled with CUDA enabled; use torch.profiler.profile() for ops of the CPU")


def load_nvprof(path):
    """Refuses: it reads files of nvprof, a tool for CUDA.

    >>> import adjoint as torch
    >>> torch.autograd.profiler.load_nvprof("run.nvvp")
    Traceback (most recent call last):
    RuntimeError: load_nvprof: expected a file of nvprof, which only programs on CUDA make; got 'run.nvvp'
    """
    raise RuntimeError(f"load_nvprof: expected a file of nvprof, which only programs on CUDA make; got {path!r}")


def parse_nvprof_trace(path):
    """Refuses, as load_nvprof() does.

    >>> import adjoint as torch
    >>> torch.autograd.profiler.parse_nvprof_trace("run.nvvp")
    Traceback (most recent call last):
    RuntimeError: load_nvprof: expected a file of nvprof, which only programs on CUDA make; got 'run.nvvp'
    """
    load_nvprof(path)


class EnforceUnique:
    """Raises if a key is seen twice.

    >>> from adjoint.autograd.profiler import EnforceUnique
    >>> EnforceUnique().see("a", 1)
    """

    def __init__(self):
        self.seen = set()

    def see(self, *key):
        """Notes a key."""
        if key in self.seen:
            raise RuntimeError("duplicate key: " + str(key))
        self.seen.add(key)
