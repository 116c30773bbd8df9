"""Kinds of devices, of what a profiler looks at, and names of events that are no calls."""

import enum

MEMORY_EVENT_NAME = "[memory]"
OUT_OF_MEMORY_EVENT_NAME = "[OutOfMemory]"


class DeviceType(enum.Enum):
    """Where an event took place; all of this package's take place on the CPU.

    >>> import adjoint as torch
    >>> torch.profiler.DeviceType.CPU
    <DeviceType.CPU: 0>
    """

    CPU = 0
    CUDA = 1
    MKLDNN = 2
    OPENGL = 3
    OPENCL = 4
    IDEEP = 5
    HIP = 6
    FPGA = 7
    MAIA = 8
    XLA = 9
    Vulkan = 10
    Metal = 11
    XPU = 12
    MPS = 13
    Meta = 14
    HPU = 15
    VE = 16
    Lazy = 17
    IPU = 18
    MTIA = 19
    PrivateUse1 = 20


class ProfilerActivity(enum.Enum):
    """What a profiler looks at.

    >>> import adjoint as torch
    >>> torch.profiler.ProfilerActivity.CPU
    <ProfilerActivity.CPU: 0>
    """

    CPU = 0
    XPU = 1
    CUDA = 2
    HPU = 3
    MTIA = 4
    PrivateUse1 = 5
