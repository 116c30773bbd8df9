"""The calls, family by family: one a line, a name and the kinds of its arguments.

    sum x [dim:dims] [keepdim:bool] dtype=dtype

A kind alone is a required positional argument; [kind] and [name:kind] may be left out, the latter also be given by
name; name=kind is optional and by name only, !name=kind required and by name only; {a|b} is one of some words. Every
call is tried in all forms that torch has of it: function, method, in place, out=. F. is torch.nn.functional, W. is
torch.signal.windows. A line with <kind> in it is a piece of code.
"""


def each(names, arguments):
    """One line for each of some names."""
    return "\n".join(f"{name} {arguments}" for name in names.split())


TRANSPOSED = "[bias:bias] [stride:step] [padding:padding] [output_padding:count] [groups:count] [dilation:step]"
MAXIMA = "[stride:step] [padding:padding] [dilation:step] [ceil_mode:bool] [return_indices:bool]"
REDUCTION = "reduction={mean|sum|none}"

FAMILIES = {
    "unary": each(
        """abs acos acosh asin asinh atan atanh angle ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 floor
        frac i0 isfinite isinf isnan isneginf isposinf isreal lgamma log log10 log1p log2 logical_not neg positive
        rad2deg reciprocal relu round rsqrt sgn sigmoid sign signbit sin sinc sinh sqrt square tan tanh trunc
        conj_physical bitwise_not special.entr special.erfcx special.i0e special.i1 special.i1e special.ndtr
        special.ndtri special.log_ndtr special.bessel_j0 special.bessel_j1 frexp selu real imag conj resolve_conj""",
        "x",
    )
    + """
    round x decimals=int
    nan_to_num x [nan:real] [posinf:real] [neginf:real]
    logit x [eps:eps]
    polygamma count x
    mvlgamma x count
    hardshrink x [lambd:n]
    """,
    "binary": each(
        """add sub mul div true_divide pow atan2 arctan2 floor_divide fmod remainder hypot maximum minimum fmax fmin
        logaddexp logaddexp2 copysign nextafter bitwise_and bitwise_or bitwise_xor bitwise_left_shift
        bitwise_right_shift logical_and logical_or logical_xor eq ne lt le gt ge heaviside xlogy ldexp float_power
        gcd lcm igamma special.xlog1py special.zeta isclose allclose equal special.xlogy multiply divide subtract
        greater less not_equal""",
        "x yn",
    )
    + """
    add x yn alpha=n
    sub x yn alpha=n
    rsub x yn alpha=n
    div x yn rounding_mode={floor|trunc}
    div x yn !rounding_mode=int
    isclose x y [rtol:real] [atol:real] [equal_nan:bool]
    allclose x y [rtol:real] [atol:real] [equal_nan:bool]
    pow n x
    remainder n x
    igammac f y
    polar f y
    complex f y
    <x> + <yn>
    <yn> - <x>
    <x> * <yn>
    <yn> / <x>
    <yn> // <x>
    <x> % <yn>
    <yn> ** <x>
    <x> ** <yn>
    <x> & <yn>
    <x> | <yn>
    <x> ^ <yn>
    <x> << <int>
    <yn> >> <x>
    <x> == <yn>
    <yn> < <x>
    <x> @ <y>
    ~<x>
    -<x>
    divmod(<x>, <yn>)
    r = <x>; r += <yn>
    r = <x>; r *= <yn>
    r = <x>; r //= <yn>
    r = <x>; r **= <yn>
    r = <x>; r |= <yn>
    r = <x>; r <<= <yn>
    """,
    "ternary": """
    addcmul x y y value=n
    addcdiv x y y value=n
    lerp x y yn
    where mask yn yn
    where mask
    clamp x [min:yn] [max:yn]
    clip x [min:n] [max:n]
    clamp_min x yn
    clamp_max x yn
    threshold x n n
    fill_ x yn
    copy_ x yn
    masked_fill x mask yn
    zero_ x
    fill x n
    """,
    "reduction": each("sum prod mean nansum nanmean", "x [dim:dims] [keepdim:bool] dtype=dtype")
    + "\n"
    + each("amax amin logsumexp", "x dims [keepdim:bool]")
    + "\n"
    + each("all any argmax argmin max min median nanmedian count_nonzero mode", "x")
    + "\n"
    + each("all any", "x [dim:dims] [keepdim:bool]")
    + "\n"
    + each("argmax argmin max min median nanmedian mode", "x [dim:dim] [keepdim:bool]")
    + "\n"
    + each("std var std_mean var_mean", "f [dim:dims] correction=int keepdim=bool")
    + "\n"
    + each("std var", "f [dim:dims] [unbiased:bool] [keepdim:bool]")
    + """
    std f bool
    aminmax x dim=dim keepdim=bool
    count_nonzero x [dim:dims]
    norm f [p:order] [dim:dims] [keepdim:bool] dtype=dtype
    linalg.vector_norm f [ord:order] [dim:dims] [keepdim:bool] dtype=dtype
    linalg.norm f [ord:order] [dim:dims] [keepdim:bool] dtype=dtype
    linalg.matrix_norm f [ord:order] [dim:dims] [keepdim:bool] dtype=dtype
    dist f y [p:real]
    quantile f probability [dim:dim] [keepdim:bool] interpolation={linear|lower|higher|midpoint|nearest}
    nanquantile f probability [dim:dim] [keepdim:bool]
    kthvalue x count [dim:dim] [keepdim:bool]
    trace matrix
    softmax f dim dtype=dtype
    log_softmax f dim dtype=dtype
    F.softmin f dim=dim dtype=dtype
    renorm f real dim real
    sum_to_size x size
    corrcoef f
    cov f correction=int
    """,
    "scan": each("cumsum cumprod", "x dim dtype=dtype")
    + "\n"
    + each("cummax cummin logcumsumexp", "x dim")
    + """
    diff x [n:count] [dim:dim] [prepend:y] [append:y]
    trapezoid f [x:same] dim=dim
    trapezoid f dx=real dim=dim
    cumulative_trapezoid f dx=real dim=dim
    gradient f spacing=real dim=dims
    """,
    "shape": each("flatten", "x [start_dim:dim] [end_dim:dim]")
    + "\n"
    + each("squeeze", "x [dim:dims]")
    + "\n"
    + each("transpose swapaxes", "x dim dim")
    + "\n"
    + each("fliplr flipud t ravel numel atleast_1d atleast_2d atleast_3d argwhere nonzero", "x")
    + """
    reshape x new_shape
    view x new_shape
    view x dtype
    unsqueeze x dim
    permute x dimlist
    expand x expansion
    broadcast_to x expansion
    expand_as x y
    movedim x dims dims
    unflatten x dim sizes_of_parts
    narrow x dim place count
    select x dim place
    unbind x [dim:dim]
    diagonal x [offset:int] [dim1:dim] [dim2:dim]
    linalg.diagonal x offset=int dim1=dim dim2=dim
    diag x [diagonal:int]
    diag_embed x [offset:int] [dim1:dim] [dim2:dim]
    diagflat x [offset:int]
    flip x dims
    roll x dims [dims:dims]
    rot90 x [k:int] [dims:dims]
    tile x size
    repeat x size
    repeat_interleave x count [dim:dim]
    repeat_interleave x index [dim:dim]
    tril x [diagonal:int]
    triu x [diagonal:int]
    unfold x dim count count
    as_strided x size size [storage_offset:count]
    contiguous x
    clone x
    size x [dim:dim]
    stride x [dim:dim]
    dim x
    is_contiguous x
    item x
    tolist x
    view_as_real x
    view_as_complex f
    select_scatter x y dim place
    slice_scatter x y [dim:dim] [start:int] [end:int] [step:count]
    diagonal_scatter x y [offset:int] [dim1:dim] [dim2:dim]
    <x>.T
    <x>.mT
    <x>.H
    <x>.mH
    <x>.real
    <x>.imag
    len(<x>)
    list(<x>)
    bool(<x>)
    int(<x>)
    float(<x>)
    complex(<x>)
    broadcast_tensors x y
    """,
    "joining": each("cat stack concat", "tensors [dim:dim]")
    + "\n"
    + each("hstack vstack dstack column_stack block_diag", "tensors")
    + """
    chunk x count [dim:dim]
    split x parts [dim:dim]
    tensor_split x cuts [dim:dim]
    hsplit x cuts
    vsplit x cuts
    dsplit x cuts
    meshgrid vectors indexing={ij|xy}
    cartesian_prod vector vector
    combinations vector [r:count] [with_replacement:bool]
    torch.cat((<x>, <y>), <dim>)
    torch.stack((<x>, <y>), <dim>)
    torch.broadcast_tensors(<x>, <y>)
    torch.block_diag(<x>, <y>)
    torch.broadcast_shapes(<size>, <size>)
    """,
    "indexing": """
    <x>[<subscript>]
    r = <x>; r[<subscript>] = <yn>
    r = <x>; r[<subscript>] += <n>
    index_select x dim index
    index_add x dim index along alpha=n
    index_copy x dim index along
    index_fill x dim index n
    index_reduce x dim index along {mean|prod|amax|amin} include_self=bool
    index_put x tensors y [accumulate:bool]
    torch.index_put(<x>, (<index>,), <yn>, accumulate=<bool>)
    torch.index_put(<x>, (<mask>,), <x0>)
    gather x dim places
    scatter x dim places n
    scatter x dim places same
    scatter x dim places same reduce={add|multiply}
    scatter_add x dim places same
    scatter_reduce x dim places same {sum|mean|prod|amax|amin} include_self=bool
    take x flat_index
    put x flat_index y [accumulate:bool]
    take_along_dim x places [dim:dim]
    masked_select x mask
    masked_scatter x mask y
    masked_fill x mask n
    where mask x yn
    nonzero x as_tuple=bool
    """,
    "matmul": """
    matmul x y
    matmul f next_matrix
    matmul batch next_batch
    mm matrix next_matrix
    bmm batch next_batch
    mv matrix next_vector
    dot vector vector
    vdot vector vector
    inner x y
    outer vector vector
    ger vector vector
    linalg.multi_dot tensors
    linalg.vecdot x y dim=dim
    addmm product matrix next_matrix beta=n alpha=n
    addmv product matrix next_vector beta=n alpha=n
    addr matrix vector vector beta=n alpha=n
    baddbmm product batch next_batch beta=n alpha=n
    addbmm product batch next_batch beta=n alpha=n
    kron x y
    tensordot x y [dims:dims]
    cross x y [dim:dim]
    linalg.cross x y dim=dim
    einsum equation x y
    einsum equation x
    chain_matmul matrix next_matrix
    F.linear f table [bias:bias]
    F.bilinear f f volume
    cdist matrix matrix [p:real]
    matrix_power square int
    """,
    "linalg": each(
        """linalg.det linalg.slogdet linalg.inv linalg.svdvals linalg.eigvals linalg.inv_ex linalg.lu_factor
        linalg.matrix_exp logdet det inverse pinverse linalg.matrix_rank linalg.pinv linalg.cond""",
        "square",
    )
    + """
    linalg.cholesky symmetric upper=bool
    linalg.cholesky_ex symmetric upper=bool check_errors=bool
    linalg.eigvalsh symmetric [UPLO:{L|U}]
    linalg.matrix_power square int
    linalg.solve square right_side left=bool
    linalg.solve_triangular square right_side !upper=bool left=bool unitriangular=bool
    linalg.lstsq square right_side
    linalg.cond square [p:order]
    linalg.lu square pivot=bool
    linalg.qr square [mode:{reduced|complete|r}]
    linalg.matrix_rank square tol=real hermitian=bool
    linalg.pinv square rtol=real hermitian=bool
    linalg.vander f N=count
    linalg.tensorinv square [ind:count]
    linalg.tensorsolve square right_side
    linalg.householder_product matrix vector
    linalg.ldl_factor symmetric hermitian=bool
    cholesky_solve right_side symmetric [upper:bool]
    cholesky_inverse symmetric [upper:bool]
    triangular_solve right_side square [upper:bool] [transpose:bool]
    """,
    "sorting": """
    sort x !stable=true dim=dim descending=bool
    argsort x !stable=true dim=dim descending=bool
    msort x
    topk x count [dim:dim] [largest:bool]
    <x>.topk(<count>, <dim>, <bool>)[0]
    unique x sorted=bool return_inverse=bool return_counts=bool dim=dim
    unique_consecutive x return_inverse=bool return_counts=bool dim=dim
    searchsorted vector yn out_int32=bool right=bool
    searchsorted vector yn side={left|right}
    bucketize x vector out_int32=bool right=bool
    isin x yn assume_unique=bool invert=bool
    isin x vector
    bincount positive [weights:same] [minlength:count]
    histc f [bins:count] [min:n] [max:n]
    histogram f count weight=same density=bool
    unravel_index flat_index size
    """,
    "fft": each(
        "fft.fft fft.ifft fft.rfft fft.irfft fft.hfft fft.ihfft",
        "f [n:count] [dim:dim] [norm:{ortho|forward|backward}]",
    )
    + "\n"
    + each("fft.fft2 fft.ifft2 fft.rfft2 fft.irfft2", "f [s:size] [dim:dims] [norm:{ortho|forward|backward}]")
    + "\n"
    + each(
        "fft.fftn fft.ifftn fft.rfftn fft.irfftn fft.hfftn fft.ihfftn", "f [s:size] [dim:dims] [norm:{ortho|forward}]"
    )
    + "\n"
    + each("fft.fftshift fft.ifftshift", "x [dim:dims]")
    + """
    fft.fftfreq count [d:real] dtype=dtype
    fft.rfftfreq count [d:real] dtype=dtype
    """,
    "creation": each("zeros ones empty rand randn", "size dtype=dtype requires_grad=bool")
    + "\n"
    + each("zeros_like ones_like empty_like rand_like randn_like", "x dtype=dtype requires_grad=bool")
    + "\n"
    + each("new_zeros new_ones new_empty", "x size dtype=dtype")
    + "\n"
    + each("hann_window hamming_window blackman_window bartlett_window", "count [periodic:bool] dtype=dtype")
    + "\n"
    + each("W.hann W.cosine W.blackman W.nuttall W.bartlett", "count sym=bool dtype=dtype")
    + """
    full size n dtype=dtype
    full_like x n dtype=dtype
    new_full x size n dtype=dtype
    eye count [m:count] dtype=dtype
    arange n dtype=dtype
    arange n n dtype=dtype
    arange n n count dtype=dtype
    arange n n real dtype=dtype
    linspace n n count dtype=dtype
    logspace n n count base=real dtype=dtype
    tril_indices count count [offset:int] dtype=dtype
    triu_indices count count [offset:int] dtype=dtype
    scalar_tensor n dtype=dtype
    tensor n dtype=dtype
    as_tensor yn dtype=dtype
    asarray yn dtype=dtype copy=bool
    randperm count dtype=dtype
    randint int int size dtype=dtype
    randint_like x int int dtype=dtype
    kaiser_window count [periodic:bool] beta=real
    W.kaiser count beta=real sym=bool
    W.gaussian count std=real sym=bool
    W.exponential count tau=real sym=bool
    empty_strided size size dtype=dtype
    promote_types dtype dtype
    can_cast dtype dtype
    result_type yn yn
    """,
    "activation": each(
        """F.relu F.relu6 F.silu F.mish F.hardswish F.hardsigmoid F.logsigmoid F.softsign F.tanhshrink F.tanh F.sigmoid
        F.selu""",
        "x",
    )
    + """
    F.elu f [alpha:n] [inplace:bool]
    F.celu f [alpha:n]
    F.leaky_relu f [negative_slope:n] [inplace:bool]
    F.gelu f approximate={none|tanh}
    F.softplus f [beta:n] [threshold:n]
    F.hardtanh x [min_val:n] [max_val:n]
    F.hardshrink f [lambd:n]
    F.softshrink f [lambd:n]
    F.threshold x n n [inplace:bool]
    F.glu f [dim:dim]
    F.prelu f channels
    F.rrelu f [lower:real] [upper:real] [training:bool]
    F.dropout f [p:probability] [training:bool] [inplace:bool]
    F.alpha_dropout f [p:probability] [training:bool]
    F.dropout2d picture [p:probability] [training:bool]
    F.gumbel_softmax f [tau:real] [hard:bool] dim=dim
    F.normalize f [p:real] [dim:dim] [eps:eps]
    F.softmax f [dim:dim] dtype=dtype
    F.log_softmax f [dim:dim] dtype=dtype
    """,
    "losses": each("F.mse_loss F.l1_loss F.soft_margin_loss", f"f target {REDUCTION}")
    + f"""
    F.smooth_l1_loss f target {REDUCTION} beta=real
    F.huber_loss f target {REDUCTION} delta=real
    F.binary_cross_entropy chances target [weight:target] {REDUCTION}
    F.binary_cross_entropy_with_logits f target [weight:target] pos_weight=target {REDUCTION}
    F.kl_div f target {REDUCTION} log_target=bool
    F.poisson_nll_loss f target log_input=bool full=bool eps=eps {REDUCTION}
    F.gaussian_nll_loss f target target full=bool eps=eps {REDUCTION}
    F.nll_loss f classes [weight:channels] ignore_index=int {REDUCTION}
    F.cross_entropy f classes [weight:channels] ignore_index=int label_smoothing=probability {REDUCTION}
    F.cross_entropy f target label_smoothing=probability {REDUCTION}
    F.hinge_embedding_loss f signs margin=real {REDUCTION}
    F.margin_ranking_loss f y signs margin=real {REDUCTION}
    F.cosine_embedding_loss matrix matrix signs margin=real {REDUCTION}
    F.triplet_margin_loss f y y margin=real p=real swap=bool {REDUCTION}
    F.multi_margin_loss f classes p=int margin=real weight=channels {REDUCTION}
    F.multilabel_margin_loss f classes {REDUCTION}
    F.multilabel_soft_margin_loss f target weight=target {REDUCTION}
    F.pairwise_distance f y p=real eps=eps keepdim=bool
    F.cosine_similarity f y dim=dim eps=eps
    F.pdist matrix [p:real]
    """,
    "convolution": "\n".join(
        f"""F.conv{d}d {kind} filter{d} [bias:bias] [stride:step] [padding:padding] [dilation:step] [groups:count]
        F.conv_transpose{d}d {kind} swapped{d} {TRANSPOSED}"""
        for d, kind in ((1, "signal"), (2, "picture"), (3, "volume"))
    )
    + """
    F.unfold picture step dilation=step padding=padding stride=step
    F.fold signal size step dilation=step padding=padding stride=step
    F.conv_tbc signal filter1 bias count
    """,
    "pooling": "\n".join(
        f"""F.max_pool{d}d {kind} step {MAXIMA}
        F.avg_pool{d}d {kind} step [stride:step] [padding:padding] [ceil_mode:bool] [count_include_pad:bool]
        F.adaptive_avg_pool{d}d {kind} step
        F.adaptive_max_pool{d}d {kind} step [return_indices:bool]
        F.lp_pool{d}d {kind} real step [stride:step] [ceil_mode:bool]"""
        for d, kind in ((1, "signal"), (2, "picture"), (3, "volume"))
    ),
    "normalization": """
    F.layer_norm f last_sizes [weight:last_weight] [bias:last_weight] [eps:eps]
    F.rms_norm f last_sizes [weight:last_weight] [eps:eps]
    F.batch_norm picture channels channels [weight:channels] [bias:channels] [training:bool] [momentum:real] [eps:eps]
    F.instance_norm picture running_mean=channels running_var=channels weight=channels bias=channels eps=eps
    F.group_norm picture count [weight:channels] [bias:channels] [eps:eps]
    F.local_response_norm signal count [alpha:real] [beta:real] [k:real]
    """,
    "layers": """
    F.embedding words table [padding_idx:int] [max_norm:real] [norm_type:real]
    F.embedding_bag words table mode={sum|mean|max} padding_idx=int include_last_offset=bool
    F.embedding_bag words table offsets mode={sum|mean|max}
    F.one_hot words [num_classes:int]
    F.pad x pad [mode:{constant|reflect|replicate|circular}] [value:n]
    F.pad picture pad [mode:{constant|reflect|replicate|circular}]
    F.interpolate picture size=size mode={nearest|bilinear|bicubic|area|nearest-exact}
    F.interpolate picture scale_factor=real mode={nearest|bilinear|bicubic|area} align_corners=bool
    F.interpolate signal size=count mode={nearest|linear} align_corners=bool
    F.grid_sample picture grid mode={bilinear|nearest|bicubic} padding_mode={zeros|border|reflection} align_corners=bool
    F.affine_grid batch size align_corners=bool
    F.pixel_shuffle picture count
    F.pixel_unshuffle picture count
    F.channel_shuffle picture count
    F.scaled_dot_product_attention batch batch batch [attn_mask:mask] is_causal=bool scale=real
    F.scaled_dot_product_attention f same same is_causal=bool
    constant_pad_nd x pad [value:n]
    """,
    "random": each("bernoulli_ exponential_ geometric_", "x [probability]")
    + "\n"
    + each("normal_ uniform_ log_normal_ cauchy_", "x [real] [real]")
    + """
    bernoulli chances
    random_ x
    random_ x count
    random_ x int count
    multinomial chances count [replacement:bool]
    normal f target
    normal real target
    normal f real
    normal real real size
    """,
    "conversion": each("float double half bfloat16 int long short char byte bool cfloat cdouble", "x")
    + """
    to x dtype
    to x y
    to x dtype copy=bool non_blocking=bool
    type x [dtype]
    type_as x y
    is_floating_point x
    is_complex x
    is_nonzero x
    is_signed x
    element_size x
    requires_grad_ x [bool]
    detach x
    <x>.numpy().tolist()
    resize_ x size
    resize_as_ x y
    new_tensor x n dtype=dtype
    """,
    "special": each(
        """special.chebyshev_polynomial_t special.chebyshev_polynomial_u special.hermite_polynomial_h
        special.hermite_polynomial_he special.laguerre_polynomial_l special.legendre_polynomial_p""",
        "f count",
    )
    + "\n"
    + each(
        """special.airy_ai special.bessel_y0 special.bessel_y1 special.modified_bessel_i0 special.modified_bessel_k0
        special.scaled_modified_bessel_k1 special.spherical_bessel_j0 special.gammaln special.psi special.expit
        special.erfinv""",
        "f",
    )
    + """
    special.multigammaln f count
    special.logit f [eps:eps]
    special.softmax f dim dtype=dtype
    special.logsumexp f dims [keepdim:bool]
    special.gammainc f y
    special.zeta n f
    special.round f decimals=int
    """,
}
