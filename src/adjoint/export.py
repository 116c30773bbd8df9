"""torch.export: its names, so that programs that can export import them; exporting refuses."""

import enum

from ._absent import absent_module, refusing, refusing_type

ADVICE = (
    "models are not exported here: there is no graph of them; save the weights by torch.save(model.state_dict(), f) "
    "and export the same model with PyTorch"
)
__path__: list = []  # so that modules in it are looked for

export = refusing("export", "export", ADVICE)
draft_export = refusing("export", "draft_export", ADVICE)
save = refusing("export", "save", ADVICE)
load = refusing("export", "load", ADVICE)
unflatten = refusing("export", "unflatten", ADVICE)
default_decompositions = refusing("export", "default_decompositions", ADVICE)
register_dataclass = refusing("export", "register_dataclass", ADVICE)
for _name in (
    *("AdditionalInputs", "CustomDecompTable", "ExportBackwardSignature", "ExportGraphSignature", "ExportedProgram"),
    *("FlatArgsAdapter", "ModuleCallEntry", "ModuleCallSignature", "ShapesCollection", "UnflattenedModule"),
):
    globals()[_name] = refusing_type("export", _name, ADVICE)


class _Kind(enum.Enum):
    """What the size of a dimension may be."""

    AUTO = 1
    STATIC = 2
    DYNAMIC = 3


class Dim:
    """A size that an exported model would leave open, by its name and bounds.

    >>> import adjoint as torch
    >>> torch.export.Dim("batch", min=2, max=8).__name__
    'batch'
    """

    AUTO, STATIC, DYNAMIC = _Kind.AUTO, _Kind.STATIC, _Kind.DYNAMIC

    def __init__(self, name, *, min=None, max=None):
        low, high = 0 if min is None else min, float("inf") if max is None else max
        if high <= low:
            raise AssertionError(f"Cannot create Dim with inconsistent min={min}, max={max}")
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        self.__name__, self.min, self.max = name, low, high


def dims(*names, min=None, max=None):
    """Several Dims with the same bounds.

    >>> import adjoint as torch
    >>> height, width = torch.export.dims("height", "width", min=8)
    """
    return tuple(Dim(name, min=min, max=max) for name in names)


absent_module("export.decomp_utils", ADVICE, CustomDecompTable=globals()["CustomDecompTable"])
absent_module("export.dynamic_shapes", ADVICE, Dim=Dim, dims=dims)
absent_module("export.exported_program", ADVICE, ExportedProgram=globals()["ExportedProgram"])
absent_module("export._trace", ADVICE, "_export _export_for_training")
absent_module("export.unflatten", ADVICE, "unflatten", UnflattenedModule=globals()["UnflattenedModule"])
unflatten = refusing("export", "unflatten", ADVICE)  # the function, again, in the place of its module
