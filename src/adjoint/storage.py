"""The memory behind tensors, as objects."""

from .serialization.storage import TypedStorage as TypedStorage
from .serialization.storage import UntypedStorage as UntypedStorage
