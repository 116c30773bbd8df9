"""torch._C._distributed_c10d: names of process groups, of which there are none."""

from .. import distributed as _distributed

_NAMES = ("FileStore", "PrefixStore", "ProcessGroup", "ReduceOp", "Reducer", "Store", "TCPStore", "Work")
globals().update({name: getattr(_distributed, name) for name in _NAMES})
