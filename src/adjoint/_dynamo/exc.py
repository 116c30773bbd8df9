"""Errors of torch's compiler, by which programs catch them; of these, only an unknown backend is raised."""


class TorchDynamoException(RuntimeError):
    """The base of these errors."""


class InternalTorchDynamoError(TorchDynamoException):
    """An error inside of the compiler."""


class InvalidBackend(TorchDynamoException):
    """A name of no backend."""

    def __init__(self, name):
        super().__init__(f"Invalid backend: {name!r}, see `torch._dynamo.list_backends()` for available backends.")


class BackendCompilerFailed(TorchDynamoException):
    """An error inside of a backend."""


class TorchRuntimeError(TorchDynamoException):
    """An op that failed while it was traced."""


class Unsupported(TorchDynamoException):
    """Code that cannot be compiled."""


class RecompileError(TorchDynamoException):
    """Code that would have to be compiled again."""


class UserError(Unsupported):
    """Code that must be changed to be compiled."""


class RestartAnalysis(TorchDynamoException):
    """A sign inside of the compiler to begin anew."""


class TensorifyScalarRestartAnalysis(RestartAnalysis):
    """A sign inside of the compiler to begin anew, with numbers as tensors."""
