#include "cpu/memory_limit.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace adjoint {
namespace {

constexpr int64_t kNone = INT64_MAX;

/// Whether a list such as "rw,memory" has this name.
bool names(const std::string& list, const char* name) {
  return ("," + list + ",").find(std::string(",") + name + ",") != std::string::npos;
}

/// The number in a file; none where there is no file, or "max". The first version writes a huge number for none.
int64_t read_limit(const std::string& file) {
  std::ifstream text(file);
  int64_t value;
  return text >> value && value > 0 && value < (int64_t{1} << 60) ? value : kNone;
}

/// One of the two versions of control groups.
struct Version {
  const char* file_system;  ///< as mounts name it
  const char* controller;   ///< in the line of /proc/self/cgroup; the second version has one line for all
  const char* limit;        ///< the file that holds it
};
constexpr Version kVersions[] = {{"cgroup", "memory", "memory.limit_in_bytes"}, {"cgroup2", "", "memory.max"}};

/// The group of this process, as /proc/self/cgroup has it: "4:memory:/path" or "0::/path". Empty: none.
std::string group_path(const std::string& root, const Version& version) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (*version.controller ? names(controllers, version.controller) : controllers.empty())
      return line.substr(second + 1);
  }
  return "";
}

/// Where the groups are mounted, and which of them is seen there.
struct Mount {
  std::string place, top;
};
Mount find_mount(const std::string& root, const Version& version) {
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string skipped, top, place, word, type, source, options;
    words >> skipped >> skipped >> skipped >> top >> place;
    while (words >> word && word != "-") continue;  // a number of optional fields
    words >> type >> source >> options;
    if (type == version.file_system && (!*version.controller || names(options, version.controller)))
      return {place, top};
  }
  return {};
}

/// The least limit of a group and of those around it.
int64_t least_limit(const std::string& root, const Version& version) {
  std::string path = group_path(root, version);
  const Mount mount = find_mount(root, version);
  if (path.empty() || mount.place.empty()) return kNone;
  // Inside a container the path may be the host's, of which only the part below the mounted group is seen.
  if (mount.top != "/") path = path.starts_with(mount.top) ? path.substr(mount.top.size()) : "";
  if (path.find("..") != std::string::npos) path.clear();
  int64_t least = kNone;
  for (;;) {
    least = std::min(least, read_limit(root + mount.place + path + "/" + version.limit));
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) return least;
    path.resize(slash);
  }
}

}  // namespace

int64_t container_memory(const std::string& root) {
  int64_t least = kNone;
  for (const Version& version : kVersions) least = std::min(least, least_limit(root, version));
  return least;
}

int64_t system_memory() {
  static const int64_t fixed =
      std::min(static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE), container_memory());
  rlimit addresses;
  if (getrlimit(RLIMIT_AS, &addresses) != 0 || addresses.rlim_cur == RLIM_INFINITY) return fixed;
  return std::min(fixed, static_cast<int64_t>(std::min<rlim_t>(addresses.rlim_cur, INT64_MAX)));
}

}  // namespace adjoint
