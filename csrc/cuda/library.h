// Libraries of the machine, opened when they are first needed.
#pragma once

#include <string>
#include <vector>

namespace adjoint::cuda {

/// Folders in which NVIDIA's libraries are looked for before the system's: that of the environment variable
/// ADJOINT_CUDA_LIBRARIES, then those of NVIDIA's wheels (src/adjoint/cuda/_libraries.py).
void set_library_folders(std::vector<std::string> folders);

/// A shared library, once opened open for good; it may not be there.
class Library {
 public:
  /// `names` are those that it may have, the best first.
  explicit Library(std::vector<std::string> names) : names_(std::move(names)) {}
  bool open();
  /// Why it is not open, in the loader's words.
  const std::string& reason() const { return reason_; }
  /// The address of a function; null where there is none.
  void* find(const char* name) const;

 private:
  std::vector<std::string> names_;
  std::string reason_;
  void* handle_ = nullptr;
  bool tried_ = false;
};

}  // namespace adjoint::cuda
