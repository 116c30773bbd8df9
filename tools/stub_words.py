"""What names mean: the types of parameters, results and attributes for which no declaration or annotation speaks.

A name has one meaning nearly everywhere (`dim`, `keepdim`, `lr`), so that one row types hundreds of functions. Keys are
tried from the most special to the plainest: "argmax.dim" before "dim". What a row cannot say, overloads and generic
classes, is written by hand in tools/types.
"""

import re

PRELUDE = """
from builtins import bool as _bool, bytes as _bytes, complex as _complex, dict as _dict, float as _float, int as _int
from builtins import list as _list, object as _object, set as _set, slice as _slice, str as _str, tuple as _tuple
from builtins import type as _type
from collections.abc import Callable as _Callable, Iterable as _Iterable, Iterator as _Iterator, Mapping as _Mapping
from collections.abc import Sequence as _Sequence
from typing import Any as _Any, Literal as _Literal, NamedTuple as _NamedTuple, Self as _Self
from typing import TypeGuard as _TypeGuard, overload as _overload
"""
# From adjoint._C, into every other stub. Names with an underscore: the package has its own `float` and `dtype`.
SHARED = ("Generator", "Size", "Tensor", "device", "dtype", "layout", "memory_format")
ALIASES = """
_Number: _TypeAlias = _int | _float | _complex
_Ints: _TypeAlias = _int | _Sequence[_int]
_DeviceLike: _TypeAlias = _str | device | _int | None
_Tensor = Tensor
_Size = Size
_Generator = Generator
_dtype = dtype
_device = device
_layout = layout
_memory_format = memory_format
"""

# The names that stubs use for types: a file's own private name of the same spelling is left out of its stub.
OWN_NAMES = (
    set(re.findall(r" as (_\w+)", PRELUDE))
    | {f"_{name}" for name in SHARED}
    | {"_Number", "_Ints", "_DeviceLike", "_return_types"}
)


def _rows(text):
    """{name: type} of lines "type: name name ..."."""
    rows = {}
    for line in text.strip().splitlines():
        kind, _, names = line.partition(": ")
        rows.update(dict.fromkeys(names.split(), kind))
    return rows


PARAMETERS = _rows("""
_Tensor: input other tensor mat mat1 mat2 vec vec1 vec2 batch1 batch2 index source src mask weight target grid x1 x2
_Tensor: LU_data LU_pivots A B LU LD pivots tau query key input1 input2 anchor positive negative log_probs targets
_Tensor: boundaries sorted_sequence real imag abs angle L w_ih w_hh in_proj_weight out_proj_weight linear_weight
_Tensor: tgt memory theta the_template tensor1 tensor2 elements test_elements
_Tensor: indices values col_indices row_indices crow_indices ccol_indices param grad_output condition
_Tensor | None: bias running_mean running_var per_sample_weights b_ih b_hh attn_mask key_padding_mask in_proj_bias
_Tensor | None: bias_k
_Tensor | None: bias_v out_proj_bias q_proj_weight k_proj_weight v_proj_weight static_k static_v pos_weight linear_bias
_Tensor | None: sorter fweights aweights prepend append out src_mask tgt_mask memory_mask src_key_padding_mask
_Tensor | None: tgt_key_padding_mask memory_key_padding_mask gradient grad
_Tensor | _Number: min max value fill_value
_Sequence[_Tensor]: tensors matrices
_Iterable[_Tensor]: parameters
_int: dim0 dim1 dim2 dimension start_dim end_dim k n m N steps groups num_groups num_heads step_size num_embeddings
_int: embedding_dim in_features out_features in_channels out_channels num_features hidden_size input_size num_layers
_int: embed_dim d_model nhead dim_feedforward num_encoder_layers num_decoder_layers n_fft window_length upscale_factor
_int: downscale_factor num_classes ignore_index blank offset diagonal chunks num_samples seed minlength bins axis niter
_int: in1_features in2_features num_parameters n_classes max_iter max_eval history_size T_max T_0 T_mult total_iters
_int: patience cooldown last_epoch epoch batch_size num_workers num_replicas rank edge_order row col M r sparse_dim
_int: dense_dim count length start_index world_size stacklevel _stacklevel level
_int | None: padding_idx kdim vdim hop_length win_length prefetch_factor end storage_offset
_float: p eps atol rtol rcond momentum lr weight_decay lambd lower upper negative_slope dropout
_float: dropout_p margin delta label_smoothing gamma factor rho dampening lr_decay initial_accumulator_value
_float: power base_momentum max_momentum pct_start div_factor final_div_factor eta_min start_factor end_factor
_float: min_lr cutoff tolerance_grad tolerance_change smoothing init_lr max_lr base_lr std gain
_float: div_value init_scale growth_factor backoff_factor norm_type clip_value
_float | None: max_norm scale
_Tensor | _Number: low high
_bool: keepdim descending stable largest sorted inplace training affine track_running_stats bidirectional batch_first
_bool: ceil_mode count_include_pad return_indices requires_grad create_graph
_bool: allow_unused nesterov amsgrad maximize differentiable capturable non_blocking pin_memory shuffle
_bool: drop_last persistent strict assign with_kwargs always_call norm_first is_causal need_weights
_bool: scale_grad_by_freq sparse include_last_offset log_target log_input full swap include_self accumulate hermitian
_bool: check_errors full_matrices equal_nan periodic center normalized return_complex replacement recurse
_bool: remove_duplicate set_to_none elementwise_affine with_replacement return_inverse return_counts invert
_bool: assume_unique as_tuple pivot left unitriangular transpose unpack_data unpack_pivots right out_int32 density
_bool: antialias zero_infinity add_bias_kv add_zero_attn average_attn_weights enable_gqa use_input_stats
_bool: decoupled_weight_decay
_bool: is_coalesced coalesced check_invariants materialize_grads error_if_nonfinite has_aux is_grads_batched
_bool: sparse_grad transposed some compute_uv get_infos wrap raise_exception check_nan sym dynamic fullgraph force
_bool | None: unbiased retain_graph foreach fused align_corners onesided recompute_scale_factor persistent_workers
_bool | None: copy masked_grad validate_args size_average weights_only mmap enabled cache_enabled
_Ints: size kernel_size stride padding dilation output_padding shape dims shifts sizes normalized_shape
_Ints: pad repeats physical_layout blocksize destination
_Ints | None: output_size s
_Sequence[_int]: split_sizes milestones cutoffs lengths
_str: reduction padding_mode interpolation_mode nonlinearity compute_mode pad_mode indexing interpolation UPLO
_str: name prefix anneal_strategy mode threshold_mode upscale_mode format scale_mode
_str | None: norm driver line_search_fn side reduce message
_dtype | None: dtype
_dtype: type1 type2 torch_dtype from_
_DeviceLike: device device_type
_Generator | None: generator
_layout | None: layout
_memory_format | None: memory_format
_tuple[_float, _float]: betas
_Size: batch_shape
_Tensor | _float: loc scale rate concentration concentration0 concentration1 df df1 df2
_Tensor | _float | None: probs logits
_Sequence[_int]: sample_shape event_shape
_str: qualname what title label""")
PARAMETERS |= {
    "optim:lr": "_float | _Tensor",
    "dim": "_int",
    "reduction": "_str",
    "driver": "_str | None",
    "args": "_Any",
    "kwargs": "_Any",
    "condition": "_Tensor",
    "alpha": "_Number",
    "beta": "_Number",
    "nn:alpha": "_float",
    "nn:beta": "_float",
    "optim:alpha": "_float",
    # Ops
    "div.other": "_Tensor | _Number",
    "div_.other": "_Tensor | _Number",
    "divide.other": "_Tensor | _Number",
    "divide_.other": "_Tensor | _Number",
    "gumbel_softmax.tau": "_float",
    "poisson_nll_loss.reduction": "_int",
    "nn.functional.poisson_nll_loss.reduction": "_str",
    "grid_sampler.interpolation_mode": "_int",
    "grid_sampler.padding_mode": "_int",
    "grid_sampler_2d.interpolation_mode": "_int",
    "grid_sampler_2d.padding_mode": "_int",
    "grid_sampler_3d.interpolation_mode": "_int",
    "grid_sampler_3d.padding_mode": "_int",
    "batch_norm.weight": "_Tensor | None",
    "instance_norm.weight": "_Tensor | None",
    "native_batch_norm.weight": "_Tensor | None",
    "native_group_norm.weight": "_Tensor | None",
    "native_layer_norm.weight": "_Tensor | None",
    "argmax.dim": "_int | None",
    "argmin.dim": "_int | None",
    "aminmax.dim": "_int | None",
    "logsumexp.dim": "_Ints",
    "cross.dim": "_int | None",
    "take_along_dim.dim": "_int | None",
    "unique.dim": "_int | None",
    "unique_consecutive.dim": "_int | None",
    "repeat_interleave.dim": "_int | None",
    "repeat_interleave.repeats": "_Tensor | _int",
    "repeat_interleave.input": "_Tensor",
    "quantile.dim": "_int | None",
    "nanquantile.dim": "_int | None",
    "quantile.q": "_Tensor | _float",
    "nanquantile.q": "_Tensor | _float",
    "softmax.dim": "_int | None",
    "log_softmax.dim": "_int | None",
    "softmin.dim": "_int | None",
    "nn.functional.softmax.dim": "_int | None",
    "select.index": "_int",
    "select_copy.index": "_int",
    "select_scatter.index": "_int",
    "split.split_size": "_Ints",
    "split_copy.split_size": "_int",
    "unsafe_split.split_size": "_int",
    "movedim.source": "_Ints",
    "moveaxis.source": "_Ints",
    "narrow.start": "_Tensor | _int",
    "narrow_copy.start": "_int",
    "unfold.size": "_int",
    "unfold.step": "_int",
    "unfold_copy.size": "_int",
    "unfold_copy.step": "_int",
    "slice_copy.start": "_int | None",
    "slice_copy.end": "_int | None",
    "slice_copy.step": "_int",
    "slice_scatter.start": "_int | None",
    "slice_scatter.end": "_int | None",
    "slice_scatter.step": "_int",
    "linspace.start": "_Tensor | _Number",
    "linspace.end": "_Tensor | _Number",
    "logspace.start": "_Tensor | _Number",
    "logspace.end": "_Tensor | _Number",
    "logspace.base": "_float",
    "arange.start": "_Number",
    "arange.end": "_Number | None",
    "arange.step": "_Number",
    "full.fill_value": "_Number | _Tensor",
    "scalar_tensor.s": "_Number",
    "normal.mean": "_Tensor | _float",
    "normal.std": "_Tensor | _float | None",
    "masked_fill.value": "_Tensor | _Number",
    "index_fill.value": "_Tensor | _Number",
    "fill.value": "_Tensor | _Number",
    "constant_pad_nd.value": "_Number",
    "pad.value": "_float | None",
    "threshold.threshold": "_Number",
    "threshold.value": "_Number",
    "threshold_.threshold": "_Number",
    "threshold_.value": "_Number",
    "lerp.end": "_Tensor",
    "addcdiv.value": "_Number",
    "addcmul.value": "_Number",
    "histc.min": "_Number",
    "histc.max": "_Number",
    "index_put.indices": "_Sequence[_Tensor | None]",
    "index_put.values": "_Tensor",
    "roll.dims": "_Ints | None",
    "rot90.k": "_int",
    "rot90.dims": "_Sequence[_int]",
    "tensordot.dims": "_int | _Sequence[_int] | _Sequence[_Sequence[_int]] | _tuple[_Sequence[_int], _Sequence[_int]]",
    "unravel_index.shape": "_Ints",
    "bernoulli.p": "_Tensor | _float | None",
    "bernoulli_.p": "_Tensor | _float",
    "multinomial.num_samples": "_int",
    "binomial.count": "_Tensor",
    "binomial.prob": "_Tensor",
    "cov.correction": "_int",
    "correction": "_Number | None",
    "diff.n": "_int",
    "mvlgamma.p": "_int",
    "mvlgamma_.p": "_int",
    "polygamma.n": "_int",
    "norm.p": "_Number | _str | None",
    "norm.dim": "_Ints | None",
    "ord": "_Number | _str | None",
    "matrix_norm.dim": "_Sequence[_int]",
    "cond.p": "_Number | _str | None",
    "clamp.min": "_Tensor | _Number | None",
    "clamp.max": "_Tensor | _Number | None",
    "clip.min": "_Tensor | _Number | None",
    "clip.max": "_Tensor | _Number | None",
    "clamp_.min": "_Tensor | _Number | None",
    "clamp_.max": "_Tensor | _Number | None",
    "clip_.min": "_Tensor | _Number | None",
    "clip_.max": "_Tensor | _Number | None",
    "clamp_min.min": "_Tensor | _Number",
    "clamp_max.max": "_Tensor | _Number",
    "isin.elements": "_Tensor | _Number | None",
    "isin.test_elements": "_Tensor | _Number | None",
    "isin.element": "_Number | None",
    "isin.test_element": "_Number | None",
    "bucketize.input": "_Tensor | _Number",
    "searchsorted.input": "_Tensor | _Number",
    "searchsorted.side": "_str | None",
    "trapezoid.y": "_Tensor",
    "trapezoid.x": "_Tensor | None",
    "trapezoid.dx": "_Number | None",
    "cumulative_trapezoid.y": "_Tensor",
    "cumulative_trapezoid.x": "_Tensor | None",
    "cumulative_trapezoid.dx": "_Number | None",
    "trapz.y": "_Tensor",
    "trapz.x": "_Tensor | None",
    "trapz.dx": "_Number | None",
    "float_power.input": "_Tensor | _Number",
    "float_power.exponent": "_Tensor | _Number",
    "exponent": "_Tensor | _Number",
    "indices_or_sections": "_Ints | _Tensor",
    "sections": "_int | None",
    "tensor_split.indices": "_Ints | _Tensor | None",
    "histogram.bins": "_int | _Tensor",
    "histogramdd.bins": "_int | _Sequence[_int] | _Sequence[_Tensor]",
    "range": "_Sequence[_float] | None",
    "weights": "_Tensor | None",
    "histogram.weight": "_Tensor | None",
    "histogramdd.weight": "_Tensor | None",
    "renorm.p": "_float",
    "renorm.maxnorm": "_float",
    "maxnorm": "_float",
    "spacing": "_Number | _Sequence[_Number] | _Sequence[_Tensor] | None",
    "gradient.dim": "_Ints | None",
    "window": "_Tensor | None",
    "istft.length": "_int | None",
    "logit.eps": "_float | None",
    "logit_.eps": "_float | None",
    "rms_norm.eps": "_float | None",
    "RMSNorm.eps": "_float | None",
    "nan": "_float | None",
    "posinf": "_float | None",
    "neginf": "_float | None",
    "decimals": "_int | None",
    "normalized_shape": "_Ints",
    "eye.m": "_int | None",
    "cdist.p": "_float",
    "cosine_similarity.dim": "_int",
    "vander.x": "_Tensor",
    "vander.N": "_int | None",
    "vecdot.x": "_Tensor",
    "vecdot.y": "_Tensor",
    "multi_dot.tensors": "_Sequence[_Tensor]",
    "matrix_rank.tol": "_Tensor | _float | None",
    "atol": "_float",
    "matrix_rank.atol": "_Tensor | _float | None",
    "matrix_rank.rtol": "_Tensor | _float | None",
    "pinv.atol": "_Tensor | _float | None",
    "pinv.rtol": "_Tensor | _float | None",
    "pinv.rcond": "_Tensor | _float | None",
    "lstsq.rcond": "_float | None",
    "pinverse.rcond": "_float",
    "ind": "_int",
    "tensorsolve.dims": "_Sequence[_int] | None",
    "svd_lowrank.q": "_int",
    "pca_lowrank.q": "_int | None",
    "svd_lowrank.M": "_Tensor | None",
    "solve_triangular.upper": "_bool",
    "upper": "_bool",
    "cholesky.upper": "_bool",
    "qr.mode": "_str",
    "fftfreq.d": "_float",
    "rfftfreq.d": "_float",
    "fft:dim": "_Ints | None",
    "fft:n": "_int | None",
    "fftfreq.n": "_int",
    "rfftfreq.n": "_int",
    "fft.fft.dim": "_int",
    "tensordot.a": "_Tensor",
    "tensordot.b": "_Tensor",
    "general_cosine.a": "_Iterable[_float]",
    "geometric_.p": "_float",
    "geometric.p": "_float",
    "from": "_float",
    "from_": "_float",
    "to": "_float | None",
    "uniform_.to": "_float",
    "median": "_float",
    "sigma": "_float",
    "mean": "_float",
    "random_.from_": "_int",
    "random_.to": "_int | None",
    "tile.dims": "_Ints | None",
    "unflatten.sizes": "_Ints",
    "Unflatten.dim": "_int | _str",
    "Unflatten.unflattened_size": "_Ints",
    "type.dtype": "_dtype | _str | _type[_Any] | None",
    "view.size": "_int | _Sequence[_int] | _dtype | None",
    "hash_tensor.mode": "_int",
    "allclose.other": "_Tensor",
    "equal.other": "_Tensor",
    "embedding.indices": "_Tensor",
    "nn.functional.embedding.padding_idx": "_int | None",
    "embedding_bag.mode": "_int",
    "hx": "_Tensor",
    "lstm_cell.hx": "_Sequence[_Tensor]",
    # Modules and functions of networks
    "nn:padding": "_Ints | _str",
    "nn:stride": "_Ints",
    "nn:bias": "_bool",
    "nn:weight": "_Tensor | None",
    "nn:value": "_float",
    "nn:threshold": "_float",
    "nn:output_size": "_int | _Sequence[_int | None]",
    "nn:dim": "_int",
    "nn:p": "_float",
    "nn.functional:value": "_Tensor",
    "nn.functional:stride": "_Ints | None",
    "nn.functional:padding": "_Ints",
    "nn.functional:output_size": "_int | _Sequence[_int | None] | None",
    "nn.functional:bias": "_Tensor | None",
    "nn.functional:weight": "_Tensor | None",
    "conv1d.padding": "_Ints | _str",
    "conv2d.padding": "_Ints | _str",
    "conv3d.padding": "_Ints | _str",
    "conv1d.weight": "_Tensor",
    "conv2d.weight": "_Tensor",
    "conv3d.weight": "_Tensor",
    "conv_transpose1d.weight": "_Tensor",
    "conv_transpose2d.weight": "_Tensor",
    "conv_transpose3d.weight": "_Tensor",
    "linear.weight": "_Tensor",
    "bilinear.weight": "_Tensor",
    "embedding.weight": "_Tensor",
    "embedding_bag.weight": "_Tensor",
    "prelu.weight": "_Tensor",
    "nn:hx": "_Any",
    "interpolate.size": "_Ints | None",
    "interpolate.scale_factor": "_float | _Sequence[_float] | None",
    "scale_factor": "_float | _Sequence[_float] | None",
    "upsample.size": "_Ints | None",
    "Upsample.size": "_Ints | None",
    "gelu.approximate": "_str",
    "approximate": "_str",
    "divisor_override": "_int | None",
    "LPPool1d.norm_type": "_float",
    "output_ratio": "_float | _Sequence[_float] | None",
    "kl_div.reduction": "_str",
    "reduce": "_bool | None",
    "scatter_reduce.reduce": "_str",
    "index_reduce.reduce": "_str",
    "scatter.reduce": "_str | None",
    "scatter_.reduce": "_str | None",
    "scatter.src": "_Tensor | _Number | None",
    "scatter.value": "_Number | None",
    "scatter_.src": "_Tensor | _Number | None",
    "scatter_.value": "_Number | None",
    "distance_function": "_Callable[[_Tensor, _Tensor], _Tensor] | None",
    "activation": "_str | _Callable[[_Tensor], _Tensor]",
    "LayerNorm.bias": "_bool",
    "AdaptiveLogSoftmaxWithLoss.head_bias": "_bool",
    "nn:tensor": "_Tensor",
    "PoissonNLLLoss.forward.log_input": "_Tensor",
    "GaussianNLLLoss.forward.var": "_Tensor | _float",
    "nn.utils:parameters": "_Iterable[_Tensor] | _Tensor",
    "vector_to_parameters.parameters": "_Iterable[_Tensor]",
    "vector_to_parameters.vec": "_Tensor",
    "parameters_to_vector.parameters": "_Iterable[_Tensor]",
    "nn:module": "_Any",
    "nn.init:a": "_float",
    "nn.init:b": "_float",
    "nn.init:mean": "_float",
    "nn.init:std": "_float",
    "nn.init:val": "_float",
    "nn.init:gain": "_float",
    "nn.init:sparsity": "_float",
    "trunc_normal_.a": "_float",
    "calculate_gain.param": "_float | None",
    # Optimizers and schedules
    "optim:params": "_Iterable[_Tensor | _dict[_str, _Any] | _tuple[_str, _Tensor]]",
    "param_group": "_dict[_str, _Any]",
    "param_groups": "_list[_dict[_str, _Any]]",
    "defaults": "_dict[_str, _Any]",
    "closure": "_Callable[[], _Any] | None",
    "state_dict": "_Mapping[_str, _Any]",
    "etas": "_tuple[_float, _float]",
    "step_sizes": "_tuple[_float, _float]",
    "momentum_decay": "_float",
    "t0": "_float",
    "lambd": "_float",
    "lr_scheduler:gamma": "_float",
    "optim:lr_lambda": "_Callable[[_int], _float] | _Sequence[_Callable[[_int], _float]]",
    "optim:metrics": "_float | _Tensor",
    "autograd:pack_hook": "_Callable[[_Tensor], _Any]",
    "autograd:unpack_hook": "_Callable[[_Any], _Tensor]",
    "optimizer": "_Any",
    "verbose": "_Any",
    # Hooks
    "hook": "_Callable[..., _Any]",
    "callable": "_Callable[..., _Any]",
    "func": "_Callable[..., _Any]",
    "function": "_Callable[..., _Any]",
    "fn": "_Callable[..., _Any]",
    "f": "_Any",
    # Distributions
    "distributions:value": "_Tensor",
    "distributions:x": "_Tensor",
    "distributions:y": "_Tensor",
    "distributions:low": "_Tensor | _float",
    "distributions:high": "_Tensor | _float",
    "distributions:scale": "_Tensor | _float",
    "distributions:alpha": "_Tensor | _float",
    "distributions:total_count": "_Tensor | _int",
    "distributions:temperature": "_Tensor | _float",
    "distributions:loc": "_Tensor | _float",
    "distributions:concentration": "_Tensor | _float",
    "distributions:dim": "_int",
    "distributions:expand": "_bool",
    "distributions:covariance_matrix": "_Tensor | None",
    "distributions:precision_matrix": "_Tensor | None",
    "distributions:scale_tril": "_Tensor | None",
    "distributions:cov_factor": "_Tensor",
    "distributions:cov_diag": "_Tensor",
    "distributions:batch_shape": "_Size",
    "distributions:event_shape": "_Size",
    "distributions:reinterpreted_batch_ndims": "_int",
    "NegativeBinomial.total_count": "_Tensor | _float",
    "distributions:concentration1": "_Tensor | _float",
    "distributions:df": "_Tensor | _float",
    "distributions:dtype": "_dtype | None",
    "expand.batch_shape": "_Sequence[_int]",
}
# Names that mean other things in Python files than in ops: not guessed there.
AMBIGUOUS = _rows("""
_Any: M N a axis b bins blank callable chunks col copy correction count cutoff delta destination diagonal dim dims
_Any: enabled end f factor force format from_ full groups high index indices k label left length lengths level low
_Any: lower m margin max mean median message min mode n name nan norm offset ord output_size p pad pivot power
_Any: prefix q r range rank recurse reduce reduction repeats rho right row s scale seed shape side sigma size sizes
_Any: smoothing some source sparse start std step steps strict swap target title to transpose type1 type2 upper
_Any: upscale_mode value values what wrap
""")
COMMON = {n: k for n, k in PARAMETERS.items() if "_Tensor" not in k and n not in AMBIGUOUS}
# Parameters whose default is no number but whose type is dims: sums over one, several or all.
DIMS = "_Ints | None"

RESULTS = _rows("""
_int: numel dim ndimension nelement element_size storage_offset data_ptr const_data_ptr get_device sparse_dim dense_dim
_int: _nnz _dimI _dimV __len__ __hash__ __index__ __int__ initial_seed seed get_num_threads get_num_interop_threads
_int: autocast_increment_nesting autocast_decrement_nesting _storage_nbytes __long__ device_count current_device
_bool: is_complex is_conj is_distributed is_floating_point is_inference is_neg is_nonzero is_same_size is_signed equal
_bool: allclose is_contiguous is_pinned is_set_to is_shared is_coalesced can_cast is_grad_enabled is_storage
_bool: is_autocast_cache_enabled __bool__ __contains__ __nonzero__ _is_view __eq__ __ne__ __lt__ __le__ __gt__ __ge__
_bool: is_available is_initialized is_autocast_enabled is_autocast_cpu_enabled is_inference_mode_enabled
_bool: is_anomaly_enabled is_anomaly_check_nan_enabled has_enumerate_support
_float: __float__
_complex: __complex__
_str: __repr__ __str__ __format__ extra_repr typename get_float32_matmul_precision _get_name
_tuple[_Tensor, ...]: unbind split split_with_sizes chunk unsafe_chunk unsafe_split unsafe_split_with_sizes tensor_split
_tuple[_Tensor, ...]: hsplit vsplit dsplit unbind_copy split_copy split_with_sizes_copy broadcast_tensors meshgrid
_tuple[_Tensor, ...]: gradient unravel_index
_tuple[_int, ...]: dim_order
_Iterator[_Tensor]: __iter__ __reversed__
_dtype: get_default_dtype promote_types result_type get_autocast_dtype get_autocast_cpu_dtype get_autocast_gpu_dtype
_device: get_default_device
_Size: broadcast_shapes _extended_shape
_Generator: manual_seed
_tuple[_Tensor, _Tensor]: max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices
_tuple[_Tensor, _Tensor]: fractional_max_pool2d_with_indices fractional_max_pool3d_with_indices
_tuple[_Tensor, _Tensor]: adaptive_max_pool1d_with_indices adaptive_max_pool2d_with_indices adaptive_max_pool1d
_tuple[_Tensor, _Tensor]: adaptive_max_pool3d_with_indices lstm_cell gru rnn_tanh rnn_relu
_tuple[_Tensor, _Tensor, _Tensor]: lstm native_batch_norm native_layer_norm native_group_norm svd_lowrank pca_lowrank
_tuple[_Tensor, _Tensor | None]: multi_head_attention_forward
_tuple[_int, _int]: __dlpack_device__
_Any: tolist item where nonzero numpy lu embedding_bag __array__ __dlpack__ histogramdd untyped_storage _typed_storage
_Any: size stride storage __reduce_ex__ __array_wrap__ __torch_function__ __torch_dispatch__ register_hook
_Any: register_post_accumulate_grad_hook type unique unique_consecutive load __setstate__ atleast_1d atleast_2d
_Any: atleast_3d
None: __setitem__ __delitem__ backward retain_grad set_default_dtype set_default_device set_num_threads set_rng_state
None: clear_autocast_cache set_autocast_cache_enabled __init__ save set_printoptions set_anomaly_enabled
_dict[_str, _Any]: get_printoptions
_Any: op_object rule_wants module_load _storage_id __deepcopy__ printoptions map2_ map_
""")
# Of methods and functions in Python files, by the part of the package they are in; "" for any.
METHODS = {
    "": _rows("""
_str: extra_repr __repr__ __str__ __format__
_int: __len__ __hash__
_bool: __bool__ __contains__ __eq__ __ne__
_Self: __enter__
None: __exit__ __setstate__ __init__ __setattr__ __delattr__ __delitem__ __setitem__ __init_subclass__ reset_parameters
_dict[_str, _Any]: state_dict __getstate__
"""),
    "nn": _rows("""
_Tensor: forward kaiming_uniform_ kaiming_normal_ xavier_uniform_ xavier_normal_ uniform_ normal_ constant_ ones_
_Tensor: zeros_ eye_ dirac_ orthogonal_ sparse_ trunc_normal_ uniform_fan_in_ clip_grad_norm_ get_total_norm
_Tensor: parameters_to_vector log_prob predict
None: vector_to_parameters clip_grad_value_ clip_grads_with_norm_
_float: calculate_gain
"""),
    "optim": _rows("""
_list[_float]: get_lr get_last_lr
"""),
    "distributions": _rows("""
_Tensor: sample rsample sample_n log_prob cdf icdf entropy perplexity enumerate_support mean variance stddev mode probs
_Tensor: logits scale_tril covariance_matrix precision_matrix loc scale log_abs_det_jacobian _call _inverse
_Tensor: kl_divergence
_Tensor: check __call__ concentration0 concentration1 concentration rate logits_param probs_param total_count
_Tensor: df alpha temperature
_Self: expand
_Size: batch_shape event_shape param_shape forward_shape inverse_shape
_bool: bijective is_discrete has_rsample
_int: event_dim
_dict[_str, _Any]: arg_constraints
"""),
    "autograd": {},
}
# Attributes that modules are given as parameters; None where an option says so, which a checker cannot know.
PARAMETER_ATTRIBUTES = ("weight", "bias")
PROPERTIES = _rows("""
_bool: is_cpu is_cuda is_ipu is_leaf is_maia is_meta is_mkldnn is_mps is_mtia is_nested is_quantized is_sparse
_bool: is_sparse_csr is_vulkan is_xla is_xpu requires_grad retains_grad volatile
_int: itemsize nbytes ndim output_nr _version
_Tensor: H T data imag real mH mT
_Tensor | None: grad _base _grad
_Size: shape
_dtype: dtype
_dtype | None: grad_dtype
_device: device
_layout: layout
Node | None: grad_fn
_str | None: name
""")
