"""SummaryWriter: numbers, images and more in files that TensorBoard shows, by the package tensorboard."""

try:
    from tensorboard.summary.writer.record_writer import RecordWriter as RecordWriter
except ImportError as error:
    raise ImportError(
        "TensorBoard logging requires TensorBoard version 1.15 or above: adjoint.utils.tensorboard writes its files by "
        f"the package tensorboard, which cannot be imported ({error}); install it with `pip install tensorboard`"
    ) from error

from .writer import FileWriter as FileWriter
from .writer import SummaryWriter as SummaryWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]
