"""What the losses of nn.functional take beside tensors: options."""


class LinearCrossEntropyOptions:
    """How linear_cross_entropy() is divided into parts in torch; here without effect.

    >>> import adjoint as torch
    >>> torch.nn.LinearCrossEntropyOptions(batch_chunk_size=64).batch_chunk_size
    64
    """

    def __init__(
        self,
        allow_retain_graph=False,
        batch_chunk_size=None,
        chunking_method="auto",
        acc_policy="auto",
        acc_dtype=None,
    ):
        self.allow_retain_graph = allow_retain_graph
        self.batch_chunk_size = batch_chunk_size
        self.chunking_method = chunking_method
        self.acc_policy = acc_policy
        self.acc_dtype = acc_dtype

    def __repr__(self):
        return f"LinearCrossEntropyOptions({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"

    def __eq__(self, other):
        return vars(self) == vars(other) if type(self) is type(other) else NotImplemented
