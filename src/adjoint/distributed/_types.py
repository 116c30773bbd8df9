"""Types of torch.distributed that say something without any process group: kinds of reductions, names of backends."""

import datetime
import enum

default_pg_timeout = datetime.timedelta(minutes=30)


class RedOpType(enum.IntEnum):
    """What a reduction over processes computes."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8
    UNUSED = 9


class ReduceOp:
    """The reductions over processes, by name: ReduceOp.SUM.

    >>> import adjoint as torch
    >>> torch.distributed.ReduceOp.SUM
    <RedOpType.SUM: 0>
    """

    RedOpType = RedOpType
    SUM, AVG, PRODUCT, MIN, MAX = RedOpType.SUM, RedOpType.AVG, RedOpType.PRODUCT, RedOpType.MIN, RedOpType.MAX
    BAND, BOR, BXOR, PREMUL_SUM = RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR, RedOpType.PREMUL_SUM

    def __init__(self, op):
        self.op = RedOpType(op)

    def __eq__(self, other):
        return self.op == getattr(other, "op", other)

    def __hash__(self):
        return hash(self.op)


class Backend(str):
    """The name of a way in which processes talk to each other, in lower case; none of them is here.

    >>> import adjoint as torch
    >>> torch.distributed.Backend("GLOO")
    'gloo'
    """

    __slots__ = ()
    UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE = "undefined", "gloo", "nccl", "xccl", "ucc", "mpi", "fake"
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE]  # noqa: RUF012  # programs look at torch's list
    default_device_backend_map = {"cpu": GLOO, "cuda": NCCL, "xpu": XCCL, "mps": GLOO}  # noqa: RUF012

    def __new__(cls, name):
        if not isinstance(name, str):
            raise ValueError(f"Backend constructor parameter must be string-ish; got {type(name).__name__}")
        return str.__new__(cls, name.lower())

    @classmethod
    def register_backend(cls, name, func, extended_api=False, devices=None):
        """Raises: there are no process groups that could use it."""
        raise NotImplementedError(f"Backend.register_backend({name!r}): there are no process groups here")


class group:
    """Where programs look for the group of all processes: there is none.

    >>> import adjoint as torch
    >>> torch.distributed.group.WORLD is None
    True
    """

    WORLD = None


class GroupMember:
    """The group of all processes, and the sign of a process that is in no group.

    >>> import adjoint as torch
    >>> torch.distributed.GroupMember.NON_GROUP_MEMBER
    -100
    """

    WORLD = None
    NON_GROUP_MEMBER = -100


class DebugLevel(enum.Enum):
    """How much would be checked of what processes do together."""

    OFF = 0
    INFO = 1
    DETAIL = 2


class DistError(RuntimeError):
    """The base of errors of torch.distributed."""


class DistBackendError(DistError):
    """An error of a backend."""


class DistNetworkError(DistError):
    """An error of the network."""


class DistStoreError(DistError):
    """An error of a store."""


class QueueEmptyError(DistStoreError):
    """A queue of a store with nothing in it."""
