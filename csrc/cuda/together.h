// Launches that wait for others of their kind, to become one.
//
// Note [Together]. A function on a list of tensors runs the same elementwise kernel for each of them. While a Together
// lives, such launches of its thread wait as long as the next one is of the same kernel, with the same numbers, and
// neither reads nor writes what one that waits writes. Whatever else is asked of the driver comes after them: driver()
// launches them first.
#pragma once

#include <cstdint>
#include <vector>

#include "core/device.h"
#include "cuda/device/many_args.h"
#include "cuda/driver.h"

namespace adjoint::cuda {

/// A launch over packed elements, as elementwise.cpp would make it.
struct PackedLaunch {
  Device device;
  Function function;  ///< of a kernel that takes ManyArgs
  const PackedArgs* args;
  int operands;  ///< with the output
  int params;
  int width;             ///< elements of a thread
  const int64_t* bytes;  ///< that each operand extends over; 0 for a number among the arguments
  const int64_t* number_bytes;
};

class Together {
 public:
  Together();
  ~Together();
  Together(const Together&) = delete;
  Together& operator=(const Together&) = delete;
  /// Launches what waits; the destructor does so, too, but says nothing of errors.
  void finish();

  /// That of this thread, or null.
  static Together* current();
  void add(const PackedLaunch& launch);

 private:
  struct Range {
    const char *begin, *end;
  };
  bool takes(const PackedLaunch& launch) const;
  void begin(const PackedLaunch& launch);

  Together* outer_;
  Device device_;
  Function function_ = nullptr;
  int operands_ = 0, params_ = 0, width_ = 1;
  int64_t blocks_ = 0;
  ManyArgs args_;
  int64_t number_bytes_[kMaxOperands];
  std::vector<Range> read_, written_;
};

}  // namespace adjoint::cuda
