"""Settings of torch's compiler, which programs set before they compile: they are kept, and change nothing."""

import contextlib

accumulated_cache_size_limit = 256
accumulated_recompile_limit = 256
allow_rnn = False
allow_unspec_int_on_nn_module = False
assume_static_by_default = True
automatic_dynamic_shapes = True
cache_size_limit = 8
capture_dynamic_output_shape_ops = False
capture_func_transforms = True
capture_scalar_outputs = False
compiled_autograd = False
disable = False
dynamic_shapes = True
error_on_recompile = False
fail_on_recompile_limit_hit = False
force_parameter_static_shapes = True
guard_nn_modules = True
inline_inbuilt_nn_modules = True
log_level = None
optimize_ddp = True
recompile_limit = 8
replay_record_enabled = False
report_guard_failures = True
skip_fwd_side_effects_in_bwd_under_checkpoint = False
specialize_float = False
specialize_int = False
suppress_errors = False
verbose = False


@contextlib.contextmanager
def patch(names=None, value=None, **changes):
    """Sets options, by a name and a value, a dict, or keywords, for a while: in a `with`, or around a function.

    >>> from adjoint._dynamo import config
    >>> with config.patch(verbose=True):
    ...     print(config.verbose)
    True
    >>> config.verbose
    False
    """
    changes = {**(names if isinstance(names, dict) else {names: value} if names else {}), **changes}
    before = {name: globals().get(name, patch) for name in changes}
    globals().update(changes)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is patch:  # there was none
                del globals()[name]
            else:
                globals()[name] = old


def __getattr__(name):
    raise AttributeError(f"torch._dynamo.config.{name} does not exist")
