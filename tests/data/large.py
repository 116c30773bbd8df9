"""A dataset for processes that start anew: without torch, whose import takes seconds."""

import adjoint


def large(index):
    return {"x": adjoint.full((60, 70), float(index)), "half": adjoint.ones(5000, dtype=adjoint.bfloat16) * index,
            "none": adjoint.empty(0, 3), "number": adjoint.tensor(index), "odd": adjoint.arange(6).view(2, 3).t(),
            "grad": adjoint.ones(3, requires_grad=True)}  # fmt: skip


class Large(adjoint.utils.data.Dataset):
    """Tensors of every kind, most of them too large for the pipe."""

    def __len__(self):
        return 6

    def __getitem__(self, index):
        return large(index)
