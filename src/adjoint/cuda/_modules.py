"""Modules of torch.cuda that are not here, so that programs can import from them: what they would do refuses."""

from .._absent import absent_module

_ADVICE = "this part of torch.cuda is not here"


def make():
    """Makes the modules, with torch.cuda for their parent."""
    absent_module(
        "cuda.nccl",
        _ADVICE,
        "all_gather all_reduce broadcast init_rank reduce reduce_scatter unique_id version",
        is_available=_no,
        SUM=0,
    )
    absent_module("cuda.sparse", _ADVICE)
    absent_module("cuda.jiterator", _ADVICE, "_create_jit_fn _create_multi_output_jit_fn")
    absent_module("cuda.green_contexts", _ADVICE, classes="GreenContext", SUPPORTED=False)
    absent_module(
        "cuda.tunable",
        _ADVICE,
        """
        enable get_filename get_max_tuning_duration get_max_tuning_iterations get_results get_rotating_buffer_size
        get_validators mgpu_tune_gemm_in_file read_file record_untuned_enable set_filename set_max_tuning_duration
        set_max_tuning_iterations set_numerical_check_tolerances set_rotating_buffer_size tune_gemm_in_file
        tuning_enable
        """,
        is_enabled=_no,
        tuning_is_enabled=_no,
        record_untuned_is_enabled=_no,
    )
    absent_module("cuda.gds", _ADVICE, "gds_register_buffer gds_deregister_buffer", "GdsFile")


def _no(*args):
    """Whether this part of torch.cuda is in use: no."""
    return False
