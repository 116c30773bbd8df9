"""Names for use in annotations."""

import builtins
import os
from collections.abc import Sequence
from typing import IO, Union

from . import _C
from .storage import UntypedStorage

Size = _C.Size
Tensor = _C.Tensor
Storage = UntypedStorage
Number = builtins.int | builtins.float | builtins.bool
Device = Union[_C.device, str, builtins.int, None]  # noqa: UP007 - a value that people pass on, not an annotation
FileLike = str | os.PathLike[str] | IO[bytes]
_TensorOrTensors = Tensor | Sequence[Tensor]
_dtype, _device, _layout, _size = _C.dtype, _C.device, _C.layout, Size | list[builtins.int] | tuple[builtins.int, ...]
_int, _float, _bool, _complex = builtins.int, builtins.float, builtins.bool, builtins.complex
