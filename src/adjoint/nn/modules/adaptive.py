"""AdaptiveLogSoftmaxWithLoss: a softmax over many classes that spends its time on the frequent ones."""

import collections
import itertools

from ... import _C
from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_ASMoutput = collections.namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """The log-probabilities of target classes (Grave et al., 2017), and the mean of their negatives.

    Classes are numbered by falling frequency. Those below the first of the `cutoffs` have their logits in the head;
    the others are in clusters between the cutoffs, each with one logit in the head and its own, smaller, projection.

    >>> import adjoint as torch
    >>> softmax = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10], div_value=2.0)
    >>> output, loss = softmax(torch.zeros(3, 8), torch.tensor([1, 7, 19]))
    >>> output.shape, bool(loss == -output.mean())
    (torch.Size([3]), True)
    """

    def __init__(self, in_features, n_classes, cutoffs, div_value=4.0, head_bias=False, device=None, dtype=None):
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        whole = all(int(cutoff) == cutoff for cutoff in cutoffs)
        if not whole or cutoffs != sorted(set(cutoffs)) or cutoffs[0] <= 0 or cutoffs[-1] > n_classes - 1:
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, "
                f"where each value is between 1 and n_classes-1; got {cutoffs} of {n_classes} classes"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, head_bias, device, dtype)
        self.tail = ModuleList()
        for i, (low, high) in enumerate(itertools.pairwise(self.cutoffs)):
            hidden = int(in_features // div_value ** (i + 1))
            self.tail.append(
                Sequential(
                    Linear(in_features, hidden, False, device, dtype), Linear(hidden, high - low, False, device, dtype)
                )
            )

    def reset_parameters(self):
        """Draws all weights anew."""
        self.head.reset_parameters()
        for layers in self.tail:
            for layer in layers:
                layer.reset_parameters()

    def forward(self, input_, target_):
        """(log-probabilities of the targets, the mean of their negatives)."""
        single = target_.dim() == 0
        if target_.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if not single:
            if input_.size(0) != target_.size(0):
                raise RuntimeError("Input and target should have the same size in the batch dimension.")
            if input_.dim() != 2:
                raise RuntimeError(
                    f"1D target tensor expects 2D input tensors, but found inputs with size {input_.size()}"
                )
        elif input_.dim() != 1:
            raise RuntimeError(f"0D target tensor expects 1D input tensors, but found inputs with size {input_.size()}")
        input, target = (input_.unsqueeze(0), target_.unsqueeze(0)) if single else (input_, target_)
        self._check_range(target)

        head = F.log_softmax(self.head(input), dim=1)
        columns = target.clone()  # where in the head the class, or its cluster, stands
        within = head.new_zeros(len(target))  # log-probabilities within the clusters
        for i, (low, high) in enumerate(itertools.pairwise(self.cutoffs)):
            rows = ((low <= target) & (target < high)).nonzero().squeeze(1)
            if rows.numel():
                cluster = F.log_softmax(self.tail[i](input[rows]), dim=1)
                chosen = cluster.gather(1, (target[rows] - low).unsqueeze(1)).squeeze(1)
                within = within.index_copy(0, rows, chosen)
                columns[rows] = self.shortlist_size + i
        output = head.gather(1, columns.unsqueeze(1)).squeeze(1) + within
        loss = (-output).mean()
        return _ASMoutput(output.squeeze(0) if single else output, loss)

    def _check_range(self, target):
        if target.numel():
            low, high = int(target.min()), int(target.max())
            if low < 0 or high >= self.n_classes:
                raise RuntimeError(
                    f"Target values should be in [0, {self.n_classes - 1}], "
                    f"but values in range [{low}, {high}] were found. "
                )

    def log_prob(self, input):
        """The log-probabilities of all classes."""
        head = F.log_softmax(self.head(input), dim=1)
        parts = [head[:, : self.shortlist_size]]
        for i, layers in enumerate(self.tail):
            cluster = head[:, self.shortlist_size + i].unsqueeze(1)
            parts.append(F.log_softmax(layers(input), dim=1) + cluster)
        return _C.op_object("cat")(parts, 1)

    def predict(self, input):
        """The most probable class of each row."""
        head = self.head(input)
        best = head.argmax(dim=1)
        if bool((best < self.shortlist_size).all()):  # no cluster needs to be looked into
            return best
        return self.log_prob(input).argmax(dim=1)
