// Libraries of the machine, opened when they are first needed.
//
// Note [Declarations]. NVIDIA's headers are not needed to build: what is used of a library is declared here, in tables
// (cuda/driver.h, cuda/api). Functions: the name here, the symbol, its result and parameters, where an enumeration of
// theirs is an int and a handle a pointer to a struct of its own. Numbers: the name here, the name there, the number.
// `python -m tests.cuda.headers` holds all of them against NVIDIA's headers, and looks for the symbols in the
// libraries.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace adjoint::cuda {

/// Folders in which NVIDIA's libraries are looked for before the system's: that of the environment variable
/// ADJOINT_CUDA_LIBRARIES, then those of NVIDIA's wheels (src/adjoint/cuda/_libraries.py). CUDA's own folder comes
/// last.
void set_library_folders(std::vector<std::string> folders);

/// Files of a newer CUDA than the driver's are not opened from now on: they would find it too old.
void set_newest_cuda(int major);
/// The name of the wheel that has a library for the driver at hand: "nvidia-cublas" or "nvidia-cublas-cu12".
std::string wheel_name(const std::string& library);

/// A name that a library may have, and the CUDA that it is of.
struct LibraryFile {
  int cuda;
  const char* name;
};

/// A shared library, once opened open for good; it may not be there.
class Library {
 public:
  /// `files` may be its, the best first.
  explicit Library(std::span<const LibraryFile> files) : files_(files) {}
  bool open();
  /// The file that is open.
  const std::string& path() const { return path_; }
  /// What the loader says of a file that is there and does not open; empty where none is there.
  const std::string& complaint() const { return complaint_; }
  /// Why it is not open.
  std::string reason() const;
  /// The address of a function; null where there is none.
  void* find(const char* name) const;
  template <class F>
  bool find(const char* name, F*& function) const {
    return (function = reinterpret_cast<F*>(find(name))) != nullptr;
  }

 private:
  std::span<const LibraryFile> files_;
  std::string path_, complaint_;
  void* handle_ = nullptr;
  bool tried_ = false;
};

#define ADJOINT_FUNCTION_MEMBER(name, symbol, result, parameters) result(*name) parameters = nullptr;
#define ADJOINT_FUNCTION_FOUND(name, symbol, result, parameters) \
  if (!library.find(#symbol, name)) missing += missing.empty() ? #symbol : ", " #symbol;
/// A struct of pointers to the functions of a table. find() gives the names of those that a library lacks.
#define ADJOINT_DECLARE_FUNCTIONS(Name, ADJOINT_EACH) \
  struct Name {                                       \
    ADJOINT_EACH(ADJOINT_FUNCTION_MEMBER)             \
    std::string find(const Library& library) {        \
      std::string missing;                            \
      ADJOINT_EACH(ADJOINT_FUNCTION_FOUND)            \
      return missing;                                 \
    }                                                 \
  }

#define ADJOINT_DECLARE_NUMBER(name, theirs, number) inline constexpr int name = number;

}  // namespace adjoint::cuda
