"""What torch's profiler calls the ops of this package, and which steps it shows of one that is one step here."""

import functools

from ..ops.language import COMPOSITES, TABLE

# Functions of torch.nn.functional, or of this package alone, for which torch shows what they call.
_PASSED_OVER = frozenset(
    (
        *("fold", "functional_embedding_bag", "functional_group_norm", "gaussian_nll_loss", "gumbel_softmax"),
        *("interpolate", "local_response_norm", "lp_pool1d", "lp_pool2d", "lp_pool3d", "lu", "max_unpool1d", "norm"),
        *("multi_head_attention_forward", "multilabel_soft_margin_loss", "normalize", "pca_lowrank", "softmin"),
        *("softsign", "svd_lowrank", "tanhshrink", "triplet_margin_with_distance_loss", "type", "unique"),
        *("upsample", "upsample_bilinear", "upsample_nearest"),
    )
)
_CASTS = ("bfloat16", "bool", "byte", "cdouble", "cfloat", "char", "double", "float", "half", "int", "long", "short")
_FUNCTIONS = {
    **dict.fromkeys(_CASTS, "to"),
    "affine_grid": "affine_grid_generator",
    "cross_entropy": "cross_entropy_loss",
    "dropout1d": "feature_dropout",
    "dropout2d": "feature_dropout",
    "dropout3d": "feature_dropout",
    "grid_sample": "grid_sampler",
    "nll_loss": "nll_loss_nd",
}
_FOURIER = (
    *("fft", "fft2", "fftn", "ifft", "ifft2", "ifftn", "hfft", "hfft2", "hfftn", "ihfft", "ihfft2", "ihfftn"),
    *("rfft", "rfft2", "rfftn", "irfft", "irfft2", "irfftn", "fftfreq", "rfftfreq", "fftshift", "ifftshift"),
)
_FUNCTIONS.update({name: f"fft_{name}" for name in _FOURIER})

# Steps of ops, outermost first: "a > b, c" is an event a that contains b and c. Where the function around an op has the
# name of its first step, that step is the function.
_STEPS = {
    "_attention": "_scaled_dot_product_flash_attention_for_cpu",
    "_attention_gradients": "_scaled_dot_product_flash_attention_for_cpu_backward",
    "_avg_pool2d": "avg_pool2d",
    "_avg_pool3d": "avg_pool3d",
    "_avg_pool_backward": "avg_pool2d_backward",
    "_batch_norm_eval": "_batch_norm_impl_index > native_batch_norm",
    "_batch_norm_eval_gradients": "native_batch_norm_backward",
    "_binary_cross_entropy": "binary_cross_entropy",
    "_cdist": "_cdist_forward",
    "_convolution_weight": "convolution_backward",
    "_embedding_backward": "embedding_dense_backward",
    "_gather_backward": "scatter_add_",
    "_grid_sampler_2d": "grid_sampler_2d",
    "_grid_sampler_3d": "grid_sampler_3d",
    "_group_norm": "native_group_norm",
    "_huber_loss": "huber_loss",
    "_laid_out": "contiguous",
    "_layer_norm": "native_layer_norm",
    "_layer_norm_gradients": "native_layer_norm_backward",
    "_logit_cross_entropy": "binary_cross_entropy_with_logits",
    "_logsumexp": "logsumexp",
    "_max_pool_backward": "max_pool2d_with_indices_backward",
    "_max_pool2d": "max_pool2d_with_indices",
    "_max_pool3d": "max_pool3d_with_indices",
    "_max_pool_values": "max_pool2d_with_indices",
    "_mse_loss": "mse_loss",
    "_nll_loss": "nll_loss_nd > nll_loss > nll_loss_forward",
    "_nll_loss_2d": "nll_loss_nd > nll_loss2d > nll_loss2d_forward",
    "_nll_loss_backward": "nll_loss_backward",
    "_pad_circular1d": "_pad_circular",
    "_pad_circular2d": "_pad_circular",
    "_pad_circular3d": "_pad_circular",
    "_pad_reflect1d": "reflection_pad1d",
    "_pad_reflect2d": "reflection_pad2d",
    "_pad_reflect3d": "reflection_pad3d",
    "_pad_replicate1d": "replication_pad1d",
    "_pad_replicate2d": "replication_pad2d",
    "_pad_replicate3d": "replication_pad3d",
    "_plane_norm": "_batch_norm_impl_index > native_batch_norm",
    "_plane_norm_gradients": "native_batch_norm_backward",
    "_rms_norm": "rms_norm",
    "_smooth_l1_loss": "smooth_l1_loss",
    "_soft_margin_loss": "soft_margin_loss",
    "_upsample_backward": "upsample_backward",
    "bmm_nt": "transpose, bmm",
    "bmm_tn": "transpose, bmm",
    "chunk": "chunk > split",
    "contiguous": "contiguous > clone",
    "convolution": "convolution > _convolution",
    "full": "full > empty, fill_",
    "log_softmax": "log_softmax > _log_softmax",
    "mm_conj": "t, mm",
    "mm_nt": "t, mm",
    "mm_t_conj": "t, mm",
    "mm_tn": "t, mm",
    "mv_t": "t, mv",
    "ones": "ones > empty, fill_",
    "ones_like": "ones_like > empty_like, fill_",
    "rand": "rand > empty, uniform_",
    "rand_like": "rand_like > empty_like, uniform_",
    "randint": "randint > empty, random_",
    "randn": "randn > empty, normal_",
    "randn_like": "randn_like > empty_like, normal_",
    "relu": "relu > clamp_min",
    "reshape": "reshape > view",
    "softmax": "softmax > _softmax",
    "spread": "expand",
    "sum_to": "sum",
    "t": "t > transpose",
    "to": "to > _to_copy",
    "vector_norm": "linalg_vector_norm",
    "zeros": "zeros > empty, zero_",
    "zeros_like": "zeros_like > empty_like, zero_",
}
_UPSAMPLING = {
    **{f"_UpsampleNearest{n}D": f"upsample_nearest{n}d" for n in (1, 2, 3)},
    **{f"_UpsampleNearestExact{n}D": f"_upsample_nearest_exact{n}d" for n in (1, 2, 3)},
    "_UpsampleLinear1D": "upsample_linear1d",
    "_UpsampleBilinear2D": "upsample_bilinear2d",
    "_UpsampleTrilinear3D": "upsample_trilinear3d",
    "_UpsampleBicubic2D": "upsample_bicubic2d",
    "_UpsampleBilinear2DAa": "_upsample_bilinear2d_aa",
    "_UpsampleBicubic2DAa": "_upsample_bicubic2d_aa",
}
_STEPS.update(_UPSAMPLING)

# How many arguments torch lists of a function, for those that take less here, or are given less.
_ARGUMENTS = {
    **dict.fromkeys(("detach", "zero_", "item", "t", "relu"), 1),
    **dict.fromkeys(("matmul", "mm", "view", "reshape", "fill_", "gelu", "adaptive_avg_pool2d", "one_hot"), 2),
    **dict.fromkeys(("clone", "clamp_min"), 2),
    **dict.fromkeys(("linear", "dropout", "softmax", "log_softmax", "_softmax", "_log_softmax", "mse_loss"), 3),
    **dict.fromkeys(("max", "min", "expand", "clamp", "sort", "einsum", "transpose", "upsample_nearest2d"), 3),
    **dict.fromkeys(("std", "var", "elu", "cosine_similarity", "normal_", "uniform_", "pad"), 4),
    **dict.fromkeys(("zeros", "ones", "randn", "rand", "addmm", "baddbmm", "to", "nll_loss_nd", "nll_loss"), 5),
    **dict.fromkeys(("arange", "linalg_vector_norm", "native_layer_norm", "nll_loss_forward"), 5),
    **dict.fromkeys(("empty", "full", "layer_norm", "group_norm", "cross_entropy_loss", "max_pool2d", "empty_like"), 6),
    **dict.fromkeys(("zeros_like", "ones_like", "max_pool2d_with_indices", "randn_like", "rand_like"), 6),
    **dict.fromkeys(("conv1d", "conv2d", "conv3d", "avg_pool2d", "_to_copy"), 7),
    **dict.fromkeys(("scaled_dot_product_attention", "native_batch_norm", "native_group_norm"), 8),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), 8),
    **dict.fromkeys(("batch_norm", "_batch_norm_impl_index", "convolution"), 9),
    "_convolution": 13,
    "convolution_backward": 11,
    "binary_cross_entropy_with_logits": 5,
    "_scaled_dot_product_flash_attention_for_cpu": 7,
}


def function_name(name):
    """The name of a function's event, or None where torch shows only what the function calls."""
    if name in _PASSED_OVER or (name.startswith("_") and name in COMPOSITES) or name.endswith("_with_indices"):
        return None
    if name in _FUNCTIONS:
        return f"aten::{_FUNCTIONS[name]}"
    return f"aten::{name}" if name in COMPOSITES or name == "item" else None


@functools.cache
def steps(op, tensors):
    """The steps of an op with so many tensors: [[name, ...], ...], each level inside of the last of the one before."""
    if op == "linear":
        text = "linear > t, addmm" if tensors == 3 else "linear > t, matmul > mm"
    elif op in TABLE and TABLE[op].namespace == "special":
        text = f"special_{op}"
    else:
        text = _STEPS.get(op, op)
    return [[f"aten::{name}" for name in level.split(", ")] for level in text.split(" > ")]


_FILLING = frozenset(f"aten::{name}" for name in ("fill_", "normal_", "random_", "uniform_", "zero_"))


def node_name(name):
    """The name of a node's event."""
    return "torch::autograd::AccumulateGrad" if name == "AccumulateGrad" else name


def _turned(shape):
    return [*shape[:-2], shape[-1], shape[-2]] if len(shape) > 1 else shape


def step_shapes(op, step, shapes, outputs):
    """The shapes that a step of an op gets, of those that the op gets and of what it gives."""
    tensors = [shape for shape in shapes if shape]
    if op == "linear":
        biased = len(shapes) == 3
        source, weight = shapes[-2:]
        if step == "aten::linear":
            shapes = [source, weight, shapes[0] if biased else []]
        elif step == "aten::t":
            shapes = [weight]
        else:
            shapes = [*shapes[:-2], source, _turned(weight)]
    elif op in ("mm_nt", "bmm_nt", "mm_tn", "mm_t_conj", "bmm_tn") and len(tensors) == 2:
        place = 1 if op.endswith("_nt") else 0
        if step in ("aten::t", "aten::transpose"):
            shapes = [tensors[place]]
        else:
            shapes = [_turned(shape) if i == place else shape for i, shape in enumerate(tensors)]
    elif op == "mm_conj" and step == "aten::t":
        shapes = [_turned(tensors[-1])]
    elif step == "aten::empty":
        shapes = []
    elif step in _FILLING and op != step.removeprefix("aten::"):
        shapes = [list(sizes) for _, sizes in outputs]
    return padded(step, shapes)


def padded(name, shapes):
    """As many shapes as torch lists for a function."""
    if name == "aten::einsum":
        shapes = []  # its tensors come as a list
    count = _ARGUMENTS.get(name.removeprefix("aten::"), len(shapes))
    return [*shapes, *([[]] * (count - len(shapes)))][:count]


@functools.cache
def _all_steps():
    found = {name for text in _STEPS.values() for level in text.split(" > ") for name in level.split(", ")}
    return found | set(_FUNCTIONS.values()) | {"convolution_backward", "matmul"} | set(_ARGUMENTS)


def is_step(name):
    """Whether torch's profiler has events of this name for ops of this package."""
    return name in _all_steps()
