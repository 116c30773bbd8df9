"""A stand-in for the package tensorboard: its messages keep the fields that they are given, its writer the events."""

import sys
import types

MODULES = (
    "tensorboard",
    "tensorboard.compat",
    "tensorboard.compat.proto",
    "tensorboard.compat.proto.event_pb2",
    "tensorboard.compat.proto.summary_pb2",
    "tensorboard.compat.proto.tensor_pb2",
    "tensorboard.compat.proto.tensor_shape_pb2",
    "tensorboard.plugins",
    "tensorboard.plugins.custom_scalar",
    "tensorboard.plugins.custom_scalar.layout_pb2",
    "tensorboard.plugins.hparams",
    "tensorboard.plugins.hparams.api_pb2",
    "tensorboard.plugins.hparams.plugin_data_pb2",
    "tensorboard.plugins.mesh",
    "tensorboard.plugins.mesh.plugin_data_pb2",
    "tensorboard.plugins.pr_curve",
    "tensorboard.plugins.pr_curve.plugin_data_pb2",
    "tensorboard.summary",
    "tensorboard.summary.writer",
    "tensorboard.summary.writer.event_file_writer",
    "tensorboard.summary.writer.record_writer",
    "google",
    "google.protobuf",
    "google.protobuf.struct_pb2",
)


class Kind(type):
    """A type of messages, with others inside of it."""

    def __getattr__(cls, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return message(name)


def message(name):
    return Kind(name, (Message,), {})


class Message(metaclass=Kind):
    def __init__(self, **fields):
        self.__dict__.update(fields)

    def SerializeToString(self):  # the name of protobuf's
        return repr(plain(self)).encode()


def plain(value):
    """A message as dicts and lists."""
    if isinstance(value, Message):
        return {name: plain(field) for name, field in vars(value).items()}
    if isinstance(value, dict):
        return {name: plain(field) for name, field in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


class EventFileWriter:
    """Keeps events by the folder that they are for; `closed` counts how often its files were closed."""

    files: dict
    closed: dict

    def __init__(self, logdir, max_queue_size=10, flush_secs=120, filename_suffix=""):
        self.logdir = logdir
        self.options = max_queue_size, flush_secs, filename_suffix
        type(self).files.setdefault(logdir, [])

    def get_logdir(self):
        return self.logdir

    def add_event(self, event):
        type(self).files[self.logdir].append(event)

    def flush(self):
        pass

    def close(self):
        closed = type(self).closed
        closed[self.logdir] = closed.get(self.logdir, 0) + 1

    def reopen(self):
        pass


def install(monkeypatch):
    """Puts the stand-in in the package's place; returns the events of its writer by folder, and what was closed."""
    writer = type("EventFileWriter", (EventFileWriter,), {"files": {}, "closed": {}})
    for name in MODULES:
        module = types.ModuleType(name)
        module.__path__ = []
        if name.rpartition(".")[2].endswith("_pb2"):
            module.__getattr__ = message
        monkeypatch.setitem(sys.modules, name, module)
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], last, module)
    sys.modules["tensorboard.summary.writer.event_file_writer"].EventFileWriter = writer
    sys.modules["tensorboard.summary.writer.record_writer"].RecordWriter = type("RecordWriter", (), {})
    for name in list(sys.modules):
        if name.startswith("adjoint.utils.tensorboard"):
            monkeypatch.delitem(sys.modules, name)
    return writer
