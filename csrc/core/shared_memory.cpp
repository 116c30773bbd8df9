#include "core/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>

#include "core/error.h"
#include "core/relocation.h"

namespace adjoint {
namespace {

struct Mapping {
  void* address;
  size_t size;
  int file;
};

void unmap(void* context) {
  std::unique_ptr<Mapping> mapping(static_cast<Mapping*>(context));
  munmap(mapping->address, mapping->size);
  close(mapping->file);
}

/// A file may not be empty: the memory of tensors without elements is one byte.
size_t file_size(size_t nbytes) { return nbytes ? nbytes : 1; }

[[noreturn]] void refuse(const char* what, size_t nbytes) {
  fail("shared memory: ", what, " ", nbytes, " bytes failed (", std::strerror(errno),
       "); free some in /dev/shm, close files, or raise the limit on them (ulimit -n)");
}

/// A new file that exists for its descriptor alone.
int make_file(size_t nbytes) {
  static std::atomic<unsigned> count{0};
  std::string name = "/adjoint-" + std::to_string(getpid()) + "-" + std::to_string(count++);
  int file = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  if (file < 0) refuse("opening a file of", nbytes);
  shm_unlink(name.c_str());
#if defined(__linux__)
  errno = posix_fallocate(file, 0, static_cast<off_t>(nbytes));  // an error now, not a signal when it is written
#else
  errno = ftruncate(file, static_cast<off_t>(nbytes)) == 0 ? 0 : errno;
#endif
  if (errno) {
    int reason = errno;
    close(file);
    errno = reason;
    refuse("reserving", nbytes);
  }
  return file;
}

}  // namespace

Storage* allocate_shared(size_t nbytes) { return map_shared(make_file(file_size(nbytes)), nbytes); }

Storage* map_shared(int file, size_t nbytes) {
  size_t size = file_size(nbytes);
  off_t available = lseek(file, 0, SEEK_END);
  if (available < static_cast<off_t>(size)) {
    close(file);
    fail("shared memory: the file has ", available, " bytes, ", size, " are needed");
  }
  void* address = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (address == MAP_FAILED) {
    int reason = errno;
    close(file);
    errno = reason;
    refuse("mapping", nbytes);
  }
  return adopt_memory(address, nbytes, unmap, new Mapping{address, size, file});
}

int shared_file(const Storage* storage) {
  const void* mapping = adopted_context(memory_of(storage), unmap);
  return mapping ? static_cast<const Mapping*>(mapping)->file : -1;
}

}  // namespace adjoint
