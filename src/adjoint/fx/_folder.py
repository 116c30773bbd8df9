"""A GraphModule written as a package of Python, with its parameters beside it."""

import pickle
import sys
import warnings
from pathlib import Path

from ._names import PACKAGE
from ._namespace import custom_builtins

# Modules that are made by what they print.
_PRINTED = ("Linear", "Conv1d", "Conv2d", "Conv3d", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "ReLU", "Tanh",
            "Sigmoid", "GELU", "Dropout", "Identity", "MaxPool2d", "AvgPool2d", "Flatten", "LayerNorm")  # fmt: skip


def write(module, folder, module_name):
    """Writes the package; modules that cannot be made by a line of code are pickled, which is said."""
    folder = Path(folder)
    folder.mkdir(exist_ok=True)
    package = sys.modules[PACKAGE]
    package.save(module.state_dict(), folder / "state_dict.pt")
    lines, pickled = [], []
    for name, child in module.named_children():
        if type(child).__name__ in _PRINTED and type(child).__module__.split(".")[0] in (PACKAGE, "torch"):
            lines.append(f"setattr(self, '{name}', {child!r})")
            continue
        file = folder / f"{name}.pt"
        package.save(child, file, pickle_module=pickle)  # named, because it is meant
        pickled.append(name)
        shown = repr(child).replace("\r", " ").replace("\n", " ")
        lines.append(f"setattr(self, '{name}', torch.load(r'{file}', weights_only=False)) # {shown}")
    lines += [f"self.register_buffer('{name}', {_empty(b)})" for name, b in module._buffers.items() if b is not None]
    for name, parameter in module._parameters.items():
        if parameter is not None:
            lines.append(f"setattr(self, '{name}', torch.nn.Parameter({_empty(parameter)}))")
    lines.append(f"self.load_state_dict(torch.load(r'{folder / 'state_dict.pt'}'))")
    (folder / "module.py").write_text(_text(module, module_name, lines))
    (folder / "__init__.py").write_text("from .module import *")
    if pickled:
        warnings.warn(
            f"Was not able to save the following children modules as reprs -saved as pickled files instead: {pickled}",
            stacklevel=3,
        )


def _empty(tensor):
    return f"torch.empty({list(tensor.shape)}, dtype={tensor.dtype})"


def _text(module, module_name, lines):
    imports = ["import torch", *(line for line, _ in custom_builtins.values())]
    home = "torch"
    if sys.modules.get("torch") is not sys.modules[PACKAGE]:  # the file is to find this package by its own name
        home = PACKAGE
        imports = [line.replace("torch", PACKAGE) for line in imports if line != "import torch"]
        imports.insert(0, f"import {PACKAGE} as torch")
    code = "\n".join(f"    {line}" if line.strip() else "" for line in module.code.split("\n"))
    init = "".join(f"        {line}\n" for line in lines)
    text = "\n" + "\n".join(imports) + f"\n\nfrom {home}.nn import *\n"
    text += f"class {module_name}(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n{init}"
    return f"{text}{code}\n"
