// cuBLAS: our declarations of what is used of it, found when a device is first used.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/view.h"
#include "cuda/api/cublas.h"
#include "cuda/driver.h"

namespace adjoint::cuda {

/// One side of a batch of matrices that lie by columns; `leading` is the step from column to column, in elements.
struct BlasMatrix {
  char* data;
  bool transposed;
  int64_t leading, batch;
};

/// c = alpha * a @ b + beta * c for matrices by columns: m x k, k x n, m x n, each after it was transposed if it says
/// so (c never does). alpha and beta are of the type in which is computed: float for half types.
struct BlasProduct {
  DType dtype;
  int64_t batch, m, n, k;
  BlasMatrix a, b, c;
  const void *alpha, *beta;
};

/// Whether cuBLAS is there. Warns once where it is not, of what to install.
bool has_cublas();
/// Opens the library ahead of need, and says nothing where it is missing.
void open_cublas();
/// Queues a product on the device's current stream.
void cublas_product(Device device, const BlasProduct& product);
/// This thread's handle for the device's current stream, and the address of another function, or null: for those who
/// call more of cuBLAS (cuda/cusolver.h).
cublas::Handle cublas_handle(Device device);
void* cublas_function(const char* name);

/// How much memory NVIDIA recommends for products that are split over blocks: 32 MiB from sm_90 on, else 4.
size_t blas_workspace_size(int capability);

/// Whether products of float32 may round their inputs to 10 bits of fraction, as TF32 does. No at first, unless the
/// environment variable TORCH_ALLOW_TF32_CUBLAS_OVERRIDE is 1.
bool allows_tf32();
void allow_tf32(bool allowed);

}  // namespace adjoint::cuda
