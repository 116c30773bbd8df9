"""Tables of vectors that are looked up by number: Embedding and EmbeddingBag."""

from ... import _C
from ...autograd.grad_mode import no_grad
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module

__all__ = ["Embedding", "EmbeddingBag"]


class _Table(Module):
    """A weight with a row for each number; the row of the padding stays zero."""

    def _make_weight(self, given, freeze, device, dtype):
        shape = (self.num_embeddings, self.embedding_dim)
        if given is None:
            self.weight = Parameter(_C.empty(shape, device=device, dtype=dtype), requires_grad=not freeze)
            self.reset_parameters()
        else:
            if tuple(given.shape) != shape:
                raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
            self.weight = Parameter(given, requires_grad=not freeze)

    def _counted_from_front(self, padding_idx, name):
        if padding_idx is None:
            return None
        if not -self.num_embeddings <= padding_idx < self.num_embeddings:
            raise AssertionError(f"{name} must be within num_embeddings")
        return padding_idx % self.num_embeddings

    def reset_parameters(self):
        """Draws all rows from the normal distribution; that of the padding is zero."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self):
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def _options(self, **usual):
        """Those attributes that are not as usual, as they stand in repr()."""
        given = [(name, getattr(self, name)) for name in usual]
        return "".join(f", {name}={value!r}" for name, value in given if value != usual[name])


class Embedding(_Table):
    """The rows of a table that the indices name; the row `padding_idx` is zero and not trained.

    >>> import adjoint as torch
    >>> table = torch.nn.Embedding(10, 3, padding_idx=0)
    >>> table(torch.tensor([[1, 2, 0, 0]])).shape, table(torch.tensor(0)).tolist()
    (torch.Size([1, 4, 3]), [0.0, 0.0, 0.0])
    """

    def __init__(
        self,
        num_embeddings,
        embedding_dim,
        padding_idx=None,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        sparse=False,
        _weight=None,
        _freeze=False,
        device=None,
        dtype=None,
    ):
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = self._counted_from_front(padding_idx, "Padding_idx")
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self._make_weight(_weight, _freeze, device, dtype)
        self.sparse = sparse

    def forward(self, input):
        """The rows that the indices name; with `max_norm` they are first scaled down, in place."""
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    def extra_repr(self):
        """The sizes, and what differs from the defaults."""
        options = self._options(padding_idx=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, sparse=False)
        return f"{self.num_embeddings}, {self.embedding_dim}{options}"

    @classmethod
    def from_pretrained(
        cls,
        embeddings,
        freeze=True,
        padding_idx=None,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        sparse=False,
    ):
        """An Embedding of given rows, which are not trained if `freeze`.

        >>> import adjoint as torch
        >>> torch.nn.Embedding.from_pretrained(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))(torch.tensor([1]))
        tensor([[3., 4.]])
        """
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        return cls(
            *embeddings.shape,
            padding_idx=padding_idx,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            sparse=sparse,
            _weight=embeddings,
            _freeze=freeze,
        )


class EmbeddingBag(_Table):
    """Sums, means or greatest elements of the rows in each bag of indices.

    >>> import adjoint as torch
    >>> bags = torch.nn.EmbeddingBag(10, 3, mode="sum")
    >>> bags(torch.tensor([1, 2, 4, 5]), torch.tensor([0, 3])).shape
    torch.Size([2, 3])
    """

    def __init__(
        self,
        num_embeddings,
        embedding_dim,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        mode="mean",
        sparse=False,
        _weight=None,
        include_last_offset=False,
        padding_idx=None,
        device=None,
        dtype=None,
    ):
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.padding_idx = self._counted_from_front(padding_idx, "padding_idx")
        self._make_weight(_weight, False, device, dtype)
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset

    def forward(self, input, offsets=None, per_sample_weights=None):
        """One vector for each bag: rows of a matrix of indices, or parts of a vector that begin at the offsets."""
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self):
        """The sizes, the mode, and what differs from the defaults."""
        options = self._options(max_norm=None, norm_type=2, scale_grad_by_freq=False)
        padding = self._options(padding_idx=None)
        return f"{self.num_embeddings}, {self.embedding_dim}{options}, mode={self.mode!r}{padding}"

    @classmethod
    def from_pretrained(
        cls,
        embeddings,
        freeze=True,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        mode="mean",
        sparse=False,
        include_last_offset=False,
        padding_idx=None,
    ):
        """An EmbeddingBag of given rows, which are not trained if `freeze`.

        >>> import adjoint as torch
        >>> rows = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> torch.nn.EmbeddingBag.from_pretrained(rows)(torch.tensor([[0, 1]]))
        tensor([[2., 3.]])
        """
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        result = cls(
            *embeddings.shape,
            _weight=embeddings,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            mode=mode,
            sparse=sparse,
            include_last_offset=include_last_offset,
            padding_idx=padding_idx,
        )
        result.weight.requires_grad = not freeze
        return result
