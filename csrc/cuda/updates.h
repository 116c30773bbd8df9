// Steps of optimizers on a device: one launch for many tensors, by code that is generated from the rules of optim.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/device.h"
#include "core/dtype.h"
#include "cuda/device/update_args.h"
#include "cuda/driver.h"

namespace adjoint::cuda {

/// What steps the parameters of a type, by an update of cpu/update.h.
struct UpdateKernels {
  Device device;
  DType stored, computed;
  int arrays, kept;
  Function update;
  Function prepare;  ///< where the 0-d states are on the device, too; else null
};

/// Whether there are kernels for parameters of this type.
bool is_updated(DType dtype);
/// Compiles them, if need be; `kept_type` is that of 0-d states on the device.
const UpdateKernels& update_kernels(Device device, const char* name, DType dtype, int arrays, int kept,
                                    std::optional<DType> kept_type);

/// The numbers of a parameter group: some may be on the device.
struct UpdateNumbers {
  double values[kUniforms] = {};
  const char* places[kUniforms] = {};
  bool is_double[kUniforms] = {};
};

/// Tensors that take one step together.
class UpdateBatch {
 public:
  /// `uniforms` of all tensors; null where they follow from 0-d states on the device.
  UpdateBatch(const UpdateKernels& kernels, const double* uniforms);
  bool takes(const UpdateKernels& kernels, const double* uniforms) const;
  /// Both in the order of the update.
  void add(char* const* kept, char* const* arrays, int64_t n, bool first);
  void launch(const UpdateNumbers& numbers) const;

 private:
  void launch_part(size_t begin, size_t count, const UpdateNumbers& numbers) const;

  const UpdateKernels* kernels_;
  bool prepares_;
  double uniforms_[kUniforms] = {};
  std::vector<int64_t> sizes_;
  std::vector<char*> arrays_, kept_;
  std::vector<bool> first_;
};

/// Multiplies packed arrays of a type by a number on the device, and sets `found` to 1 where one is not finite.
void unscale(Device device, DType dtype, std::span<char* const> arrays, std::span<const int64_t> sizes,
             const float* inverse, float* found);

/// The norms of packed arrays of Float32 or Float64, into packed memory of the same type: of order 1, 2 or infinity.
void norms(Device device, DType dtype, double order, std::span<char* const> arrays, std::span<const int64_t> sizes,
           char* out);

}  // namespace adjoint::cuda
