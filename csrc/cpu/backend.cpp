#include "cpu/backend.h"

#include "cpu/attention.h"
#include "cpu/convolution.h"
#include "cpu/copy.h"
#include "cpu/ctc.h"
#include "cpu/distance.h"
#include "cpu/elementwise.h"
#include "cpu/embedding_bag.h"
#include "cpu/fft.h"
#include "cpu/folding.h"
#include "cpu/grid.h"
#include "cpu/histogram.h"
#include "cpu/indexing.h"
#include "cpu/linalg.h"
#include "cpu/loss_labels.h"
#include "cpu/matmul.h"
#include "cpu/normalization.h"
#include "cpu/pooling.h"
#include "cpu/recurrent.h"
#include "cpu/reduce.h"
#include "cpu/resampling.h"
#include "cpu/scan.h"
#include "cpu/search.h"
#include "cpu/softmax.h"
#include "cpu/sort.h"
#include "cpu/structure.h"
#include "cpu/unique.h"

namespace adjoint::cpu {

const Backend backend = {
    .memory = {.copy = copy,
               .to_host = copy,
               .from_host = copy,
               .fill = fill,
               .clear = clear,
               .fill_unset = fill_unset,
               .enumerate = enumerate,
               .read = read,
               .read_back = read},
    .elementwise = {.kernel = find_kernel, .run = elementwise, .packed = elementwise_packed, .has_zero = has_zero},
    .reduce = {.sum = sum,
               .nansum = nansum,
               .prod = prod,
               .amax = amax,
               .amin = amin,
               .aminmax = aminmax,
               .any = any,
               .all = all,
               .argmax = argmax,
               .argmin = argmin,
               .max_with_index = max_with_index,
               .min_with_index = min_with_index,
               .var = var,
               .norm = norm,
               .logsumexp = logsumexp,
               .divide = divide,
               .take_roots = take_roots,
               .drop_nans = drop_nans},
    .scan = {.cumsum = cumsum,
             .cumprod = cumprod,
             .logcumsumexp = logcumsumexp,
             .cummax = cummax,
             .cummin = cummin,
             .recur = recur},
    .softmax = {.softmax = softmax,
                .log_softmax = log_softmax,
                .softmax_backward = softmax_backward,
                .log_softmax_backward = log_softmax_backward},
    .sort = {.sort = sort, .topk = topk, .kthvalue = kthvalue, .median = median, .mode = mode},
    .indexing = {.gather = gather,
                 .scatter = scatter,
                 .scatter_value = scatter_value,
                 .scatter_add = scatter_add,
                 .scatter_reduce = scatter_reduce,
                 .index_select = index_select,
                 .index_add = index_add,
                 .index_reduce = index_reduce,
                 .index_copy = index_copy,
                 .index_fill = index_fill,
                 .index_get = index_get,
                 .index_put = index_put,
                 .take = take,
                 .put = put,
                 .embedding_backward = embedding_backward,
                 .check_classes = check_classes,
                 .class_scores = class_scores,
                 .class_scores_backward = class_scores_backward,
                 .masked_fill = masked_fill,
                 .masked_select = masked_select,
                 .masked_front = masked_front,
                 .masked_scatter = masked_scatter,
                 .where = where,
                 .count_nonzero = count_nonzero,
                 .nonzero = nonzero,
                 .nonzero_static = nonzero_static},
    .structure = {.tril = tril,
                  .triu = triu,
                  .triangle_places = triangle_places,
                  .roll = roll,
                  .total_repeats = total_repeats,
                  .check_repeats = check_repeats,
                  .repeat_places = repeat_places},
    .search = {.searchsorted = searchsorted,
               .least_and_greatest = least_and_greatest,
               .bincount = bincount,
               .bounds = bounds,
               .histc = histc,
               .histogram = histogram},
    .unique = {.elements = unique, .rows = unique_rows},
    .matmul = {.gemm = gemm, .bmm = bmm, .sum_bmm = sum_bmm, .conjugate = conjugate},
    .convolution = {.forward = convolution,
                    .weight = convolution_weight,
                    .split_weight = split_conv_weight,
                    .join_weight = join_conv_weight},
    .pooling = {.max = max_pool,
                .mean = mean_pool,
                .mean_backward = mean_pool_backward,
                .fractional_max = fractional_max_pool,
                .scatter = scatter_planes},
    .folding = {.unfold = unfold_planes, .fold = fold_planes},
    .grid = {.sample = grid_sample, .image_grad = grid_sample_image, .grid_grad = grid_sample_grid},
    .resampling = {.move = resample_move, .interpolate = resample_interpolate, .backward = resample_backward},
    .ctc = {.wrong_label = wrong_ctc_label, .loss = ctc_loss, .backward = ctc_loss_backward},
    .embedding_bag = {.fault = bag_fault,
                      .forward = embedding_bag,
                      .table_grad = embedding_bag_table_grad,
                      .factors_grad = embedding_bag_factors_grad},
    .loss_labels = {.any_out_of_range = any_out_of_range,
                    .multilabel_margin = multilabel_margin,
                    .multilabel_margin_backward = multilabel_margin_backward},
    .linalg = {.cholesky = cholesky,
               .lu_factor = lu_factor,
               .ldl_factor = ldl_factor,
               .geqrf = geqrf,
               .orgqr = orgqr,
               .ormqr = ormqr,
               .upper_triangle = upper_triangle,
               .unit_lower_triangle = unit_lower_triangle,
               .permutation = permutation,
               .first_failure = first_failure,
               .lu_pivot_fault = lu_pivot_fault,
               .ldl_pivot_fault = ldl_pivot_fault,
               .has_nonfinite = has_nonfinite,
               .lu_solve = lu_solve,
               .triangular_solve = triangular_solve,
               .cholesky_solve = cholesky_solve,
               .ldl_solve = ldl_solve,
               .inverse = inverse,
               .cholesky_inverse = cholesky_inverse,
               .det = det,
               .slogdet = slogdet,
               .lstsq = lstsq,
               .svd = svd,
               .eigh = eigh,
               .eig = eig,
               .matrix_exp = matrix_exp},
    .normalization = {.layer_norm = layer_norm,
                      .layer_norm_backward = layer_norm_backward,
                      .plane_norm = plane_norm,
                      .plane_norm_backward = plane_norm_backward,
                      .plane_norm_fixed = plane_norm_fixed,
                      .plane_norm_fixed_backward = plane_norm_fixed_backward},
    .attention = {.forward = attention, .backward = attention_backward},
    .recurrent = {.lstm = lstm, .lstm_backward = lstm_backward},
    .fft = {.transform = fft},
    .distance = {.cross = cross,
                 .cdist = cdist,
                 .cdist_backward = cdist_backward,
                 .pdist = pdist,
                 .pdist_backward = pdist_backward},
};

}  // namespace adjoint::cpu
