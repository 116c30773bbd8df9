// What a device computes: the kernels of each family. A device is one such table, and an allocator.
#pragma once

#include "core/device.h"
#include "kernels/attention.h"
#include "kernels/convolution.h"
#include "kernels/ctc.h"
#include "kernels/distance.h"
#include "kernels/elementwise.h"
#include "kernels/embedding_bag.h"
#include "kernels/fft.h"
#include "kernels/folding.h"
#include "kernels/grid.h"
#include "kernels/indexing.h"
#include "kernels/linalg.h"
#include "kernels/loss_labels.h"
#include "kernels/matmul.h"
#include "kernels/memory.h"
#include "kernels/normalization.h"
#include "kernels/pooling.h"
#include "kernels/random.h"
#include "kernels/ranges.h"
#include "kernels/recurrent.h"
#include "kernels/reduce.h"
#include "kernels/resampling.h"
#include "kernels/scan.h"
#include "kernels/search.h"
#include "kernels/softmax.h"
#include "kernels/sort.h"
#include "kernels/sparse.h"
#include "kernels/structure.h"
#include "kernels/unique.h"

namespace adjoint {

struct Backend {
  kernels::Memory memory;
  kernels::Ranges ranges;
  kernels::Random random;
  kernels::Elementwise elementwise;
  kernels::Reduce reduce;
  kernels::Scan scan;
  kernels::Softmax softmax;
  kernels::Sort sort;
  kernels::Indexing indexing;
  kernels::Structure structure;
  kernels::Search search;
  kernels::Unique unique;
  kernels::Sparse sparse;
  kernels::Matmul matmul;
  kernels::Convolution convolution;
  kernels::Pooling pooling;
  kernels::Folding folding;
  kernels::Grid grid;
  kernels::Resampling resampling;
  kernels::Ctc ctc;
  kernels::EmbeddingBag embedding_bag;
  kernels::LossLabels loss_labels;
  kernels::Linalg linalg;
  kernels::Normalization normalization;
  kernels::Attention attention;
  kernels::Recurrent recurrent;
  kernels::Fft fft;
  kernels::Distance distance;
};

extern const Backend* const backends[kDeviceTypes];  // in csrc/devices.cpp

/// The table of a device: `on(out->device).reduce.sum(in, out)`.
inline const Backend& on(Device device) { return *backends[static_cast<size_t>(device.type)]; }

extern const bool work_behind[kDeviceTypes];  // in csrc/devices.cpp

/// Whether a device's kernels run behind the program: who reads a value waits for all that it has still to do, and the
/// launch of a small kernel costs more than its work.
inline bool works_behind(Device device) { return work_behind[static_cast<size_t>(device.type)]; }

}  // namespace adjoint
