// What is found of NVIDIA's libraries on this machine.
#pragma once

#include <string>
#include <vector>

namespace adjoint::cuda {

struct LibraryState {
  const char* name;
  std::string path;     ///< of the file that was opened; empty: none
  std::string missing;  ///< why none was, or the functions that it lacks
};

/// Looks for the driver and for every library, as an operation that needs them would.
std::vector<LibraryState> library_states();

}  // namespace adjoint::cuda
