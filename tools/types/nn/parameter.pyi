# Parameters and buffers.

class Parameter(_C.Tensor):
    def __new__(cls, data: _Tensor | None = None, requires_grad: _bool = True) -> _Self: ...

class Buffer(_C.Tensor):
    persistent: _bool
    def __new__(cls, data: _Tensor | None = None, *, persistent: _bool = True) -> _Self: ...
