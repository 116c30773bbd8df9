// How much memory the system grants this process.
#pragma once

#include <cstdint>
#include <string>

namespace adjoint {

/// The least limit of the control groups that this process is in, of either version; INT64_MAX where there is none.
/// `root` stands before the paths of /proc and /sys.
int64_t container_memory(const std::string& root = "");
/// The least of the machine's memory, the container's and the limit of addresses (RLIMIT_AS) as it is now.
int64_t system_memory();

}  // namespace adjoint
