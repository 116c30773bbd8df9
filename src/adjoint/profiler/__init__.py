"""What a program spends its time and memory on, op by op: torch.profiler's names, over adjoint.inspect's trace."""

from ..autograd.profiler import KinetoStepTracker as KinetoStepTracker
from ..autograd.profiler import kineto_available as kineto_available
from ..autograd.profiler import record_function as record_function
from . import itt as itt
from .profiler import DeviceType as DeviceType
from .profiler import ExecutionTraceObserver as ExecutionTraceObserver
from .profiler import ProfilerAction as ProfilerAction
from .profiler import ProfilerActivity as ProfilerActivity
from .profiler import _ExperimentalConfig as _ExperimentalConfig
from .profiler import _KinetoProfile as _KinetoProfile
from .profiler import profile as profile
from .profiler import schedule as schedule
from .profiler import supported_activities as supported_activities
from .profiler import tensorboard_trace_handler as tensorboard_trace_handler

__all__ = [
    "DeviceType",
    "ExecutionTraceObserver",
    "ProfilerAction",
    "ProfilerActivity",
    "itt",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]
