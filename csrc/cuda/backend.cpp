// What a device computes itself; everything else goes by way of the CPU.
#include "cuda/backend.h"

#include "cuda/attention.h"
#include "cuda/convolution.h"
#include "cuda/distance.h"
#include "cuda/elementwise.h"
#include "cuda/fft.h"
#include "cuda/folding.h"
#include "cuda/indexing.h"
#include "cuda/matmul.h"
#include "cuda/memory.h"
#include "cuda/normalization.h"
#include "cuda/pooling.h"
#include "cuda/random.h"
#include "cuda/ranges.h"
#include "cuda/recurrent.h"
#include "cuda/reduce.h"
#include "cuda/resampling.h"
#include "cuda/scan.h"
#include "cuda/search.h"
#include "cuda/softmax.h"
#include "cuda/sort.h"
#include "cuda/structure.h"
#include "cuda/through_cpu.h"
#include "cuda/unique.h"

namespace adjoint::cuda {
namespace {

Backend native() {
  Backend table = through_cpu;
  table.memory = {.copy = copy,
                  .to_host = to_host,
                  .from_host = from_host,
                  .fill = fill,
                  .clear = clear,
                  .fill_unset = fill_unset,
                  .enumerate = enumerate,
                  .read = read,
                  .read_back = read};
  table.elementwise.kernel = on(DeviceType::Cpu).elementwise.kernel;
  table.elementwise.run = elementwise;
  table.elementwise.packed = elementwise_packed;
  table.elementwise.gather = gather_elementwise;
  table.elementwise.has_zero = [](const View& in) { return count_nonzero(in) != in.numel(); };
  table.matmul = {.gemm = gemm, .bmm = bmm, .sum_bmm = sum_bmm, .conjugate = conjugate};
  table.attention = {.forward = attention, .backward = attention_backward};
  table.convolution = {.forward = convolution,
                       .weight = convolution_weight,
                       .split_weight = split_conv_weight,
                       .join_weight = join_conv_weight};
  table.recurrent = {.lstm = lstm, .lstm_backward = lstm_backward};
  table.distance = {.cross = cross,
                    .cdist = cdist,
                    .cdist_backward = cdist_backward,
                    .pdist = pdist,
                    .pdist_backward = pdist_backward};
  table.sort = {.sort = sort, .topk = topk, .kthvalue = kthvalue, .median = median, .mode = mode};
  table.reduce = reduce;
  table.softmax = softmax;
  table.fft = {.transform = fft};
  table.normalization = normalization;
  table.scan = scan;
  table.indexing = {.gather = gather,
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
                    .nonzero_static = nonzero_static};
  table.ranges = {.arange = arange, .linspace = linspace, .logspace = logspace};
  table.structure = {.tril = tril,
                     .triu = triu,
                     .triangle_places = triangle_places,
                     .roll = roll,
                     .total_repeats = total_repeats,
                     .check_repeats = check_repeats,
                     .repeat_places = repeat_places};
  table.pooling = {.max = max_pool,
                   .mean = mean_pool,
                   .mean_backward = mean_pool_backward,
                   .fractional_max = fractional_max_pool,
                   .scatter = scatter_planes};
  table.folding = {.unfold = unfold_planes, .fold = fold_planes};
  table.search = {.searchsorted = searchsorted,
                  .least_and_greatest = least_and_greatest,
                  .bincount = bincount,
                  .bounds = bounds,
                  .histc = histc,
                  .histogram = histogram};
  table.unique.elements = unique_elements;
  table.resampling = {.move = resample_move, .interpolate = resample_interpolate, .backward = resample_backward};
  table.random = random_kernels();
  return table;
}

}  // namespace

const Backend backend = native();

}  // namespace adjoint::cuda
