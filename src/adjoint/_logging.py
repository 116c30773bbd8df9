"""Logs of torch's compiler, which programs turn on and off: there are none."""

import logging


def set_logs(**kinds):
    """Accepted, and changes nothing.

    >>> import adjoint as torch
    >>> torch._logging.set_logs(graph_breaks=True)
    """


def getArtifactLogger(module_qname, artifact_name):
    """A logger of Python, which gets nothing.

    >>> import adjoint as torch
    >>> torch._logging.getArtifactLogger("mine", "graph").name
    'mine.__graph'
    """
    return logging.getLogger(f"{module_qname}.__{artifact_name}")


def trace_structured(*_, **__):
    """Accepted, and writes nothing."""
