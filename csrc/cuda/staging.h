// Values of a device in the program's memory, for a while.
#pragma once

#include <cstdint>
#include <vector>

#include "core/view.h"

namespace adjoint::cuda {

/// Views that share memory on the device share it here, too. First all are noted, then fetched; then each has a view in
/// the program's memory. What has changed there by the end is written back.
class Staging {
 public:
  void note(const View& view);
  void fetch();
  /// The same view of the values here; one that is in the program's memory stays where it is.
  View here(const View& view) const;
  void write_back();

 private:
  struct Region {
    Device device;
    char *begin, *end;
    std::vector<char> now, before;
  };
  std::vector<Region> regions_;
};

}  // namespace adjoint::cuda
