"""Anomaly mode: where a failing node was made, and which op first made nan or inf."""

import os
import sys
import warnings

from .. import _C

_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")


def _read():
    return _C._anomaly_flags(), _C._mode_flags() & _C._CHECK_FORWARD


def _write(state):
    flags, check_forward = state
    _C._set_anomaly_flags(flags)
    _C._set_mode_flags(_C._mode_flags() & ~_C._CHECK_FORWARD | check_forward)


def _state(mode, check_nan, check_inf, check_forward):
    for position, (name, value) in enumerate((("enabled", mode), ("check_nan", check_nan)), 1):
        if not isinstance(value, bool):
            raise TypeError(
                f"set_anomaly_enabled(): argument '{name}' (position {position}) must be bool, not "
                f"{type(value).__name__}"
            )
    flags = (_C._ANOMALY if mode else 0) | (0 if check_nan else _C._ANOMALY_SKIP_NAN)
    if mode and check_inf:
        flags |= _C._ANOMALY_CHECK_INF
    return flags, _C._CHECK_FORWARD if mode and check_forward else 0


def set_anomaly_enabled(enabled, check_nan=True):
    """Switches anomaly mode on or off.

    >>> import adjoint as torch
    >>> torch.set_anomaly_enabled(False)
    """
    _write(_state(enabled, check_nan, False, False))


class set_detect_anomaly:
    """Switches anomaly mode on or off: at once, and back at the end when used as a context manager.

    While it is on, nodes note the traceback of the call that made them; an error in backward, or a gradient with nan
    (`check_nan`) or inf (`check_inf`), comes with a warning that shows it. With `check_forward`, the first operation
    whose result holds nan or inf although its arguments do not raises an error with its line and their statistics.
    The mode is that of all threads, but for `check_forward`, which is that of the current one.

    >>> import adjoint as torch
    >>> with torch.autograd.set_detect_anomaly(True, check_forward=True):
    ...     torch.tensor([1.0, -1.0]).log()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    RuntimeError: Function 'log' returned nan values in its 0th output in forward, and none of its inputs held any...
    """

    def __init__(self, mode, check_nan=True, check_inf=False, check_forward=False):
        self._before = _read()
        _write(_state(mode, check_nan, check_inf, check_forward))

    def __enter__(self):
        pass

    def __exit__(self, *exception):
        _write(self._before)


class detect_anomaly:
    """A context in which anomaly mode is on; see set_detect_anomaly for the options. It warns that it is slow.

    >>> import adjoint as torch
    >>> import warnings
    >>> x = torch.tensor(0.0, requires_grad=True)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     with torch.autograd.detect_anomaly():
    ...         (x.sqrt() * 0).backward()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output...
    """

    def __init__(self, check_nan=True, check_inf=False, check_forward=False):
        self._before = _read()
        self._wanted = _state(True, check_nan, check_inf, check_forward)
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
            stacklevel=2,
        )

    def __enter__(self):
        self._before = _read()
        _write(self._wanted)

    def __exit__(self, *exception):
        _write(self._before)


def is_anomaly_enabled():
    """Whether anomaly mode is on.

    >>> import adjoint as torch
    >>> torch.is_anomaly_enabled()
    False
    """
    return bool(_C._anomaly_flags() & _C._ANOMALY)


def is_anomaly_check_nan_enabled():
    """Whether anomaly mode, where it is on, looks for nan in gradients.

    >>> import adjoint as torch
    >>> torch.is_anomaly_check_nan_enabled()
    True
    """
    return not _C._anomaly_flags() & _C._ANOMALY_SKIP_NAN


# ---- Called by the core


def _record(node, parent):
    """Notes in a new node's metadata where it is made, and during the application of which node."""
    import traceback  # only here: importing the package stays light

    frames = traceback.extract_stack()
    while frames and frames[-1].filename.startswith(_PACKAGE):
        frames.pop()
    node.metadata["traceback_"] = traceback.format_list(frames)
    if parent is not None:
        node.metadata["parent_"] = parent


def _explain(node):
    """Warns where a failing node was made, and the nodes in whose application it and its parents were made."""
    frames = node.metadata.get("traceback_")
    if frames is None:
        line = f" The node was made at {node.source_line}." if node.source_line else ""
        _warn(
            f"Error detected in {node.name()}. No forward pass information available. Enable detect anomaly during "
            f"forward pass for more information.{line}"
        )
    else:
        _warn(f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{''.join(frames)}")
    parent = node.metadata.get("parent_")
    while parent is not None:
        frames = parent.metadata.get("traceback_")
        where = (
            f"Traceback of forward call that induced the previous calculation:\n{''.join(frames)}"
            if frames is not None
            else "No forward pass information available."
        )
        _warn(f"\n\nPrevious calculation was induced by {parent.name()}. {where}")
        parent = parent.metadata.get("parent_")


def _warn(message):
    """A warning at the line of the user's that runs backward; as a warning even where warnings are errors."""
    level = 1
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
        level += 1
    try:
        warnings.warn(message, UserWarning, stacklevel=level)
    except UserWarning:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn(message, UserWarning, stacklevel=level + 1)


def _describe(values):
    """The statistics of an op's arguments, one a line."""
    return "".join(f"\n  input {i}: {_statistics(x)}" for i, x in enumerate(values) if x is not None)


def _statistics(value):
    if isinstance(value, tuple | list):
        return "[" + "; ".join(_statistics(item) for item in value) + "]"
    if not isinstance(value, _C.Tensor):
        return repr(value)
    text = f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if value.numel() == 0:
        return text
    if value.is_complex():
        return f"{text}, abs: {_statistics(value.abs())}"
    if not value.is_floating_point():
        return f"{text}, min {value.min().item()}, max {value.max().item()}" if value.dtype != _C.bool else text
    real = value.double()
    finite = real[real.isfinite()]
    if finite.numel():
        text += f", min {finite.min().item():g}, max {finite.max().item():g}, mean {finite.mean().item():g}"
    nans = real.isnan().sum().item()
    infs = real.numel() - finite.numel() - nans
    return f"{text}, {(real == 0).sum().item()} zero, {nans} nan, {infs} inf, of {value.numel()}"


_C._set_anomaly_handlers(_record, _explain, _describe)
