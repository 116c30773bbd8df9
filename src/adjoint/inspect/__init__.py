"""x"""

from .drawing import graph
from .memory import saved_tensors
