// What a device computes itself; everything else goes by way of the CPU.
#include "cuda/backend.h"

#include "cuda/attention.h"
#include "cuda/convolution.h"
#include "cuda/ctc.h"
#include "cuda/cudnn_recurrent.h"
#include "cuda/distance.h"
#include "cuda/elementwise.h"
#include "cuda/embedding_bag.h"
#include "cuda/fft.h"
#include "cuda/folding.h"
#include "cuda/grid.h"
#include "cuda/indexing.h"
#include "cuda/linalg.h"
#include "cuda/loss_labels.h"
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
#include "cuda/sparse.h"
#include "cuda/structure.h"
#include "cuda/sums.h"
#include "cuda/through_cpu.h"
#include "cuda/unique.h"

namespace adjoint::cuda {
namespace {

/// Kernel by kernel: one that is new in the table goes by way of the CPU until it is named here.
Backend native() {
  Backend table = through_cpu;
  table.memory.copy = copy;
  table.memory.to_host = to_host;
  table.memory.from_host = from_host;
  table.memory.fill = fill;
  table.memory.clear = clear;
  table.memory.fill_unset = fill_unset;
  table.memory.enumerate = enumerate;
  table.memory.read = read;
  table.memory.read_back = read;
  table.elementwise.kernel = on(DeviceType::Cpu).elementwise.kernel;
  // Chains are of values in the program's memory alone (transforms/chain.cpp).
  table.elementwise.chain = on(DeviceType::Cpu).elementwise.chain;
  table.elementwise.run = elementwise;
  table.elementwise.packed = elementwise_packed;
  table.elementwise.add_all = add_all;
  table.elementwise.gather = gather_elementwise;
  table.elementwise.refuse_zeros = refuse_zeros;
  table.matmul.gemm = gemm;
  table.matmul.gemm_plus = gemm_plus;
  table.matmul.gemm_plus_relu = gemm_plus_relu;
  table.matmul.bmm = bmm;
  table.matmul.sum_bmm = sum_bmm;
  table.matmul.conjugate = conjugate;
  table.attention.takes_halves = attention_takes_halves;
  table.attention.takes_extras = attention_takes_extras;
  table.attention.forward = attention;
  table.attention.backward = attention_backward;
  table.attention.kept = attention_kept;
  table.convolution.takes_halves = conv_takes_halves;
  table.convolution.forward = convolution;
  table.convolution.weight = convolution_weight;
  table.convolution.split_weight = split_conv_weight;
  table.convolution.join_weight = join_conv_weight;
  table.recurrent.lstm = lstm;
  table.recurrent.lstm_backward = lstm_backward;
  table.recurrent.takes_network = takes_network;
  table.recurrent.network_reserve = network_reserve;
  table.recurrent.network = network;
  table.recurrent.network_backward = network_backward;
  table.distance.cross = cross;
  table.distance.cdist = cdist;
  table.distance.cdist_backward = cdist_backward;
  table.distance.pdist = pdist;
  table.distance.pdist_backward = pdist_backward;
  table.sort.sort = sort;
  table.sort.topk = topk;
  table.sort.kthvalue = kthvalue;
  table.sort.median = median;
  table.sort.mode = mode;
  set_reduce(table.reduce);
  set_softmax(table.softmax);
  table.fft.transform = fft;
  set_linalg(table.linalg);
  set_normalization(table.normalization);
  set_scan(table.scan);
  table.indexing.gather = gather;
  table.indexing.scatter = scatter;
  table.indexing.scatter_value = scatter_value;
  table.indexing.scatter_add = scatter_add;
  table.indexing.scatter_reduce = scatter_reduce;
  table.indexing.index_select = index_select;
  table.indexing.index_add = index_add;
  table.indexing.index_reduce = index_reduce;
  table.indexing.index_copy = index_copy;
  table.indexing.index_fill = index_fill;
  table.indexing.index_get = index_get;
  table.indexing.index_put = index_put;
  table.indexing.take = take;
  table.indexing.put = put;
  table.indexing.embedding_backward = embedding_backward;
  table.indexing.check_classes = check_classes;
  table.indexing.class_scores = class_scores;
  table.indexing.class_scores_backward = class_scores_backward;
  table.indexing.prefers_class_entropy = prefers_class_entropy;
  table.indexing.class_entropy = class_entropy;
  table.indexing.class_entropy_backward = class_entropy_backward;
  table.indexing.masked_fill = masked_fill;
  table.indexing.masked_select = masked_select;
  table.indexing.masked_front = masked_front;
  table.indexing.masked_scatter = masked_scatter;
  table.indexing.where = where;
  table.indexing.count_nonzero = count_nonzero;
  table.indexing.nonzero = nonzero;
  table.indexing.nonzero_static = nonzero_static;
  table.ranges.arange = arange;
  table.ranges.linspace = linspace;
  table.ranges.logspace = logspace;
  table.structure.tril = tril;
  table.structure.triu = triu;
  table.structure.triangle_places = triangle_places;
  table.structure.roll = roll;
  table.structure.total_repeats = total_repeats;
  table.structure.check_repeats = check_repeats;
  table.structure.repeat_places = repeat_places;
  table.pooling.max = max_pool;
  table.pooling.mean = mean_pool;
  table.pooling.mean_backward = mean_pool_backward;
  table.pooling.fractional_max = fractional_max_pool;
  table.pooling.scatter = scatter_planes;
  table.folding.unfold = unfold_planes;
  table.folding.fold = fold_planes;
  table.search.searchsorted = searchsorted;
  table.search.least_and_greatest = least_and_greatest;
  table.search.bincount = bincount;
  table.search.bounds = bounds;
  table.search.histc = histc;
  table.search.histogram = histogram;
  table.unique.elements = unique_elements;
  table.unique.rows = unique_rows;
  table.sparse.group = sparse_group;
  table.sparse.sum_groups = sparse_sum_groups;
  table.sparse.product = sparse_product;
  table.sparse.sampled = sparse_sampled;
  table.sparse.solve = sparse_solve;
  table.grid.sample = grid_sample;
  table.grid.image_grad = grid_image_grad;
  table.grid.grid_grad = grid_grad;
  table.ctc.wrong_label = wrong_ctc_label;
  table.ctc.loss = ctc_loss;
  table.ctc.backward = ctc_loss_backward;
  table.embedding_bag.fault = bag_fault;
  table.embedding_bag.forward = embedding_bag;
  table.embedding_bag.table_grad = embedding_bag_table_grad;
  table.embedding_bag.factors_grad = embedding_bag_factors_grad;
  table.loss_labels.any_out_of_range = any_out_of_range;
  table.loss_labels.multilabel_margin = multilabel_margin;
  table.loss_labels.multilabel_margin_backward = multilabel_margin_backward;
  table.resampling.move = resample_move;
  table.resampling.interpolate = resample_interpolate;
  table.resampling.backward = resample_backward;
  set_random(table.random);
  return table;
}

}  // namespace

const Backend backend = native();

}  // namespace adjoint::cuda
