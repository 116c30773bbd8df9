"""Types by which signatures of compiled functions are written."""

from typing import Any as Any
from typing import Dict as Dict  # noqa: UP035  # by these names programs import them
from typing import List as List  # noqa: UP035
from typing import Optional as Optional
from typing import Tuple as Tuple  # noqa: UP035
from typing import Union as Union

from .._jit_internal import BroadcastingList1 as BroadcastingList1
from .._jit_internal import BroadcastingList2 as BroadcastingList2
from .._jit_internal import BroadcastingList3 as BroadcastingList3
from .._jit_internal import is_ignored_fn as is_ignored_fn
from ..futures import Future as Future
