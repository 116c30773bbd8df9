"""Settings of torch's backend for compiled code, which programs set: they are kept, and change nothing."""

conv_1x1_as_mm = False
coordinate_descent_check_all_directions = False
coordinate_descent_tuning = False
cpp_wrapper = False
debug = False
epilogue_fusion = True
force_fuse_int_mm_with_mul = False
force_same_precision = False
freezing = False
fx_graph_cache = True
max_autotune = False
max_autotune_gemm = False
shape_padding = True
use_mixed_mm = True


def __getattr__(name):
    raise AttributeError(f"torch._inductor.config.{name} does not exist")
