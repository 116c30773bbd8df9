"""What a program of this folder says of its run: named numbers, and the time of its steps.

    from report import report, train

    train(model, lambda: loss(model(x), y))    # three steps of gradient descent; losses, gradients and parameters
    report(score=score)                        # further numbers: tensors, arrays, floats, or lists of them

They are written when the program ends well, to the file that the variable ADJOINT_REPORT names, or else printed.
"""

import atexit
import os
import random
import sys
import time

import numpy as np
import torch

STEPS = 3
TIMED = 10  # steps for which `train` goes on after its report; a time instead would leave what depends on speed
_numbers = {}
_seconds = []
_kept = []

# Every source of chance: some packages draw from Python's generator or from NumPy's.
random.seed(0)
np.random.seed(0)
torch.manual_seed(0)


def array(value):
    """The numbers of a tensor, of an array, of a number, or of a list of them."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        return value.float().numpy() if value.dtype == torch.bfloat16 else value.numpy()
    if isinstance(value, (list, tuple)):
        return np.stack([array(item) for item in value])
    return np.asarray(value)


def report(**named):
    """Notes numbers under these names, each name once. They are copied: what is reported may change afterwards."""
    for name, value in named.items():
        assert name not in _numbers, f"{name} is reported twice"
        _numbers[name] = array(value).copy()


def steps(count=STEPS):
    """The numbers of the steps; what is done in each is timed, in seconds of the processor: others may use it too."""
    for step in range(count):
        start = time.process_time()
        yield step
        _seconds.append(time.process_time() - start)


def train(model, loss, optimizer=None, count=STEPS):
    """Takes steps, by gradient descent unless an optimizer is given; reports losses, the last gradients and parameters.

    `model` is a module, or a dict of tensors by their names.
    """
    named = dict(model.named_parameters()) if hasattr(model, "named_parameters") else model
    optimizer = optimizer or torch.optim.SGD(named.values(), lr=0.05)

    def step():
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        return value.detach().clone()

    report(loss=[step() for _ in steps(count)])
    for name, parameter in named.items():
        if parameter.grad is not None:
            report(**{f"gradient of {name}": parameter.grad})
        report(**{name: parameter})
    time_more(step, [*named.values(), *(model.buffers() if hasattr(model, "buffers") else ())])


def time_more(step, tensors):
    """Times further steps, and puts everything back: tensors and the generator. The program goes on as if without."""
    before = [tensor.detach().clone() for tensor in tensors]
    gradients = [tensor.grad if tensor.grad is None else tensor.grad.clone() for tensor in tensors]
    generator = torch.get_rng_state()
    for _ in steps(TIMED):
        step()
    torch.set_rng_state(generator)
    with torch.no_grad():
        for tensor, value, gradient in zip(tensors, before, gradients, strict=True):
            tensor.copy_(value)
            tensor.grad = gradient


def without_ops_of_torchvision():
    """Lets torchvision be imported where its compiled ops cannot be loaded: they are built for torch with CUDA.

    Its models do without them, but its import wants to know what they are called.
    """
    if torch.version.cuda is None and hasattr(torch, "library"):
        ops = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            ops.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _kept.append(ops)  # what it defines goes when it does


def write():
    """Writes what was reported; nothing if nothing was, as in a program that failed."""
    if not _numbers:
        return
    path = os.environ.get("ADJOINT_REPORT")
    if path is None:
        for name, value in _numbers.items():
            print(f"{name}: {value.dtype}{list(value.shape)} {value.ravel()[:4]}")
        print(f"seconds a step: {min(_seconds, default=0):.6f}, the fastest of {len(_seconds)}", file=sys.stderr)
        return
    partial = f"{path}.part"
    with open(partial, "wb") as file:
        np.savez(file, seconds=np.asarray(_seconds), **{f"number:{name}": value for name, value in _numbers.items()})
    os.replace(partial, path)


atexit.register(write)
