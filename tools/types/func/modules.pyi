# Modules as functions of their parameters.
from ..nn.modules.module import Module

def functional_call(
    module: Module,
    parameter_and_buffer_dicts: _Mapping[_str, _Tensor] | _Sequence[_Mapping[_str, _Tensor]],
    args: _Any = None,
    kwargs: _dict[_str, _Any] | None = None,
    *,
    tie_weights: _bool = True,
    strict: _bool = False,
) -> _Any: ...
def replace_all_batch_norm_modules_(root: Module) -> Module: ...
def stack_module_state(
    models: _Sequence[Module],
) -> _tuple[_dict[_str, _Tensor], _dict[_str, _Tensor]]: ...
