"""torch._C._autograd: what a running backward can be asked, and the hooks on saved tensors."""

from .. import _C
from ..autograd._engine import disabled_message

SavedTensor = _C._SavedTensor
_get_current_graph_task_keep_graph = _C._get_current_graph_task_keep_graph
_get_sequence_nr = _C._get_sequence_nr
_pop_saved_tensors_default_hooks = _C._pop_saved_tensors_hooks
_push_saved_tensors_default_hooks = _C._push_saved_tensors_hooks
_saved_tensors_hooks_get_disabled_error_message = disabled_message


def _saved_tensors_hooks_is_enabled():
    """Whether hooks on saved tensors are allowed."""
    return disabled_message() is None
