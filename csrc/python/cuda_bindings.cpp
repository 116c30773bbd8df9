#include "python/cuda_bindings.h"

#include "core/device_error.h"
#include "core/guard.h"
#include "core/lock.h"
#include "core/tensor.h"
#include "cuda/allocator.h"
#include "cuda/backend.h"
#include "cuda/compiler.h"
#include "cuda/cublas.h"
#include "cuda/cudnn.h"
#include "cuda/elementwise.h"
#include "cuda/forked.h"
#include "cuda/libraries.h"
#include "cuda/library.h"
#include "cuda/runtime.h"
#include "cuda/through_cpu.h"
#include "cuda/waits.h"
#include "types/types.h"

namespace adjoint::python {

/// Work that other threads need not wait for.
constexpr int64_t kLong = int64_t{1} << 20;

int to_device_index(PyObject* object) {
  const long index = PyLong_AsLong(object);
  check(index != -1 || !PyErr_Occurred());
  if (index < 0 || index >= cuda::device_count())
    fail_device("CUDA error: invalid device ordinal; there are ", cuda::device_count(),
                " devices, counted from 0, got ", index);
  return static_cast<int>(index);
}

namespace {

Object list_of(const std::vector<std::string>& texts) {
  Object list = checked(PyList_New(0));
  for (const std::string& text : texts) {
    Object item = checked(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
    check(PyList_Append(list.get(), item.get()) == 0);
  }
  return list;
}

PyObject* py_set_folders(PyObject*, PyObject* folders) {
  return guarded([&]() -> PyObject* {
    std::vector<std::string> paths;
    Object items = checked(PySequence_Fast(folders, "a list of folders is expected"));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
      const char* path = PyUnicode_AsUTF8(PySequence_Fast_GET_ITEM(items.get(), i));
      check(path != nullptr);
      paths.emplace_back(path);
    }
    cuda::set_library_folders(std::move(paths));
    Py_RETURN_NONE;
  });
}

PyObject* py_libraries(PyObject*, PyObject*) {
  return guarded([&] {
    Object list = checked(PyList_New(0));
    for (const cuda::LibraryState& state : cuda::library_states()) {
      Object item = checked(Py_BuildValue("(sss)", state.name, state.path.c_str(), state.missing.c_str()));
      check(PyList_Append(list.get(), item.get()) == 0);
    }
    return list.take();
  });
}

PyObject* py_why_unavailable(PyObject*, PyObject*) {
  return guarded([&] { return checked(PyUnicode_FromString(cuda::why_unavailable().c_str())).take(); });
}
PyObject* py_device_count(PyObject*, PyObject*) {
  return guarded([&] { return PyLong_FromLong(cuda::device_count()); });
}
PyObject* py_current_device(PyObject*, PyObject*) {
  return guarded([&] { return PyLong_FromLong(cuda::current_device()); });
}
PyObject* py_set_device(PyObject*, PyObject* index) {
  return guarded([&]() -> PyObject* {
    cuda::set_current_device(to_device_index(index));
    Py_RETURN_NONE;
  });
}
/// _cuda_wait_mode(mode or None): what happens when an operation waits, 0 to 2, as it was before.
PyObject* py_wait_mode(PyObject*, PyObject* mode) {
  return guarded([&] {
    const long before = static_cast<long>(cuda::wait_mode());
    if (mode != Py_None) {
      const long wanted = PyLong_AsLong(mode);
      check(!PyErr_Occurred());
      cuda::set_wait_mode(static_cast<cuda::WaitMode>(wanted));
    }
    return PyLong_FromLong(before);
  });
}
PyObject* py_forked(PyObject*, PyObject*) {
  return guarded([&] { return PyBool_FromLong(cuda::forked()); });
}
PyObject* py_refuse_fork(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    cuda::refuse_fork();
    Py_RETURN_NONE;
  });
}
PyObject* py_synchronize(PyObject*, PyObject* index) {
  return guarded([&]() -> PyObject* {
    const int number = to_device_index(index);
    PyThreadState* state = PyEval_SaveThread();
    try {
      cuda::synchronize(number);
    } catch (...) {
      take_lock(state);
      throw;
    }
    take_lock(state);
    Py_RETURN_NONE;
  });
}
/// By torch's names: "allocated_bytes.all" and so on -> (now, peak, sum of what came, sum of what went).
PyObject* py_memory_stats(PyObject*, PyObject* index) {
  return guarded([&] {
    const cuda::MemoryStats stats = cuda::memory_stats(to_device_index(index));
    Object all = checked(Py_BuildValue("{sLsLsLsLsLsLsLsL}", "allocated", stats.both.allocated.now, "allocated_peak",
                                       stats.both.allocated.peak, "reserved", stats.both.reserved.now, "reserved_peak",
                                       stats.both.reserved.peak, "segment_allocations", stats.both.segments.came,
                                       "segment_frees", stats.both.segments.went, "retries", stats.retries, "failures",
                                       stats.failures));
    auto add = [&](const char* name, const char* pool, const cuda::Counter& counter) {
      Object values = checked(Py_BuildValue("(LLLL)", counter.now, counter.peak, counter.came, counter.went));
      check(PyDict_SetItemString(all.get(), (std::string(name) + "." + pool).c_str(), values.get()) == 0);
    };
    auto add_pool = [&](const char* pool, const cuda::PoolStats& counters) {
      add("allocation", pool, counters.allocations);
      add("segment", pool, counters.segments);
      add("active", pool, counters.active_blocks);
      add("inactive_split", pool, counters.split_blocks);
      add("allocated_bytes", pool, counters.allocated);
      add("reserved_bytes", pool, counters.reserved);
      add("active_bytes", pool, counters.active);
      add("inactive_split_bytes", pool, counters.split);
      add("requested_bytes", pool, counters.requested);
    };
    add_pool("all", stats.both);
    add_pool("small_pool", stats.small);
    add_pool("large_pool", stats.large);
    return all.take();
  });
}
PyObject* py_reset_sums(PyObject*, PyObject* index) {
  return guarded([&]() -> PyObject* {
    cuda::reset_sums(to_device_index(index));
    Py_RETURN_NONE;
  });
}
/// The segments as torch lists them.
PyObject* py_snapshot(PyObject*, PyObject*) {
  return guarded([&] {
    Object list = checked(PyList_New(0));
    for (const cuda::SegmentInfo& segment : cuda::snapshot()) {
      Object blocks = checked(PyList_New(0));
      unsigned long long total = 0, used = 0, requested = 0;
      for (const cuda::BlockInfo& block : segment.blocks) {
        total += block.size;
        used += block.used ? block.size : 0;
        requested += block.used ? block.requested : 0;
        const OriginFacts made = facts(block.used ? block.origin : 0);
        Object frames = checked(made.file.empty() ? PyList_New(0)
                                                  : Py_BuildValue("[{sssiss}]", "filename", made.file.c_str(), "line",
                                                                  made.line, "name", made.function.c_str()));
        Object item = checked(Py_BuildValue("{sKsKsKsssO}", "address", reinterpret_cast<unsigned long long>(block.data),
                                            "size", static_cast<unsigned long long>(block.size), "requested_size",
                                            static_cast<unsigned long long>(block.used ? block.requested : 0), "state",
                                            block.used ? "active_allocated" : "inactive", "frames", frames.get()));
        check(PyList_Append(blocks.get(), item.get()) == 0);
      }
      Object item = checked(Py_BuildValue(
          "{sisKsKsKsKsKsKsss(iK)sO}", "device", segment.device, "address",
          reinterpret_cast<unsigned long long>(segment.blocks.front().data), "total_size", total, "allocated_size",
          used, "active_size", used, "requested_size", requested, "stream",
          reinterpret_cast<unsigned long long>(segment.stream), "segment_type", segment.small ? "small" : "large",
          "segment_pool_id", 0, static_cast<unsigned long long>(segment.graph), "blocks", blocks.get()));
      check(PyList_Append(list.get(), item.get()) == 0);
    }
    return list.take();
  });
}
PyObject* py_reset_peaks(PyObject*, PyObject* index) {
  return guarded([&]() -> PyObject* {
    cuda::reset_peaks(to_device_index(index));
    Py_RETURN_NONE;
  });
}
PyObject* py_empty_cache(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    cuda::empty_cache();
    Py_RETURN_NONE;
  });
}
/// What the driver says of a GPU, by name.
PyObject* py_properties(PyObject*, PyObject* index) {
  return guarded([&] {
    const cuda::DeviceState& state = cuda::use(to_device_index(index));
    char name[256] = {};
    cuda::Uuid uuid{};
    size_t memory = 0;
    cuda::check(cuda::driver().device_name(name, sizeof(name) - 1, state.number), "reading a device's name");
    cuda::check(cuda::driver().device_memory(&memory, state.number), "reading the size of a device's memory");
    cuda::check(cuda::driver().device_uuid(&uuid, state.number), "reading a device's number");
    Object bytes = checked(PyBytes_FromStringAndSize(uuid.bytes, sizeof(uuid.bytes)));
    Object all = checked(Py_BuildValue("{sssKsO}", "name", name, "total_memory",
                                       static_cast<unsigned long long>(memory), "uuid", bytes.get()));
    auto add = [&](const char* word, cuda::Attribute which) {
      int value = 0;
      cuda::check(cuda::driver().device_attribute(&value, static_cast<int>(which), state.number),
                  "reading a device's attributes");
      Object number = checked(PyLong_FromLong(value));
      check(PyDict_SetItemString(all.get(), word, number.get()) == 0);
    };
    using enum cuda::Attribute;
    add("major", ComputeCapabilityMajor);
    add("minor", ComputeCapabilityMinor);
    add("multi_processor_count", MultiprocessorCount);
    add("is_integrated", Integrated);
    add("is_multi_gpu_board", MultiGpuBoard);
    add("pci_bus_id", PciBusId);
    add("pci_device_id", PciDeviceId);
    add("pci_domain_id", PciDomainId);
    add("max_threads_per_multi_processor", MaxThreadsPerMultiprocessor);
    add("max_threads_per_block", MaxThreadsPerBlock);
    add("warp_size", WarpSize);
    add("regs_per_multiprocessor", RegistersPerMultiprocessor);
    add("shared_memory_per_block", SharedMemoryPerBlock);
    add("shared_memory_per_block_optin", SharedMemoryPerBlockOptin);
    add("shared_memory_per_multiprocessor", SharedMemoryPerMultiprocessor);
    add("L2_cache_size", L2CacheSize);
    add("clock_rate", ClockRate);
    add("memory_clock_rate", MemoryClockRate);
    add("memory_bus_width", MemoryBusWidth);
    return all.take();
  });
}
PyObject* py_memory_info(PyObject*, PyObject* index) {
  return guarded([&] {
    cuda::use(to_device_index(index));
    size_t free = 0, total = 0;
    cuda::check(cuda::driver().memory_info(&free, &total), "asking for the memory of a device");
    return checked(Py_BuildValue("(KK)", static_cast<unsigned long long>(free), static_cast<unsigned long long>(total)))
        .take();
  });
}
/// _cuda_limit_memory(index, bytes): the most that is taken from the driver; 0 for no limit.
PyObject* py_limit_memory(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int index;
    unsigned long long bytes;
    check(PyArg_ParseTuple(args, "iK:_cuda_limit_memory", &index, &bytes));
    cuda::use(index);
    cuda::limit_memory(index, bytes == 0 ? SIZE_MAX : bytes);
    Py_RETURN_NONE;
  });
}
/// cuBLAS's handle of this thread for a GPU, as a number.
PyObject* py_blas_handle(PyObject*, PyObject* index) {
  return guarded([&] {
    const Device device{DeviceType::Cuda, static_cast<uint8_t>(to_device_index(index))};
    if (!cuda::has_cublas()) fail("current_blas_handle(): there is no cuBLAS; install nvidia-cublas");
    return PyLong_FromVoidPtr(cuda::cublas_handle(device));
  });
}
/// Tells NVIDIA's profilers to begin or to end; the driver's answer, as a number.
PyObject* py_profile(PyObject*, PyObject* begins) {
  return guarded([&] {
    cuda::use(cuda::current_device());
    return PyLong_FromLong(begins == Py_True ? cuda::driver().start_profiler() : cuda::driver().stop_profiler());
  });
}
PyObject* py_can_access_peer(PyObject*, PyObject* args) {
  return guarded([&] {
    int device, peer, can = 0;
    check(PyArg_ParseTuple(args, "ii:_cuda_can_access_peer", &device, &peer));
    cuda::check(cuda::driver().can_access_peer(&can, cuda::use(device).number, cuda::use(peer).number),
                "asking for peers");
    return PyBool_FromLong(can);
  });
}
PyObject* py_driver_version(PyObject*, PyObject*) {
  return guarded([&] {
    int version = 0;
    cuda::check(cuda::driver().driver_version(&version), "asking for the driver's version");
    return PyLong_FromLong(version);
  });
}
PyObject* py_allow_tf32(PyObject*, PyObject* allowed) {
  cuda::allow_tf32(allowed == Py_True);
  Py_RETURN_NONE;
}
PyObject* py_use_cudnn(PyObject*, PyObject* used) {
  cuda::use_cudnn(used == Py_True);
  Py_RETURN_NONE;
}
PyObject* py_allow_cudnn_tf32(PyObject*, PyObject* allowed) {
  cuda::allow_cudnn_tf32(allowed == Py_True);
  Py_RETURN_NONE;
}
PyObject* py_cudnn_version(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    const size_t version = cuda::why_unavailable().empty() ? cuda::cudnn_version() : 0;
    if (version == 0) Py_RETURN_NONE;
    return PyLong_FromSize_t(version);
  });
}
PyObject* py_kernels(PyObject*, PyObject* native) {
  return guarded([&] { return list_of(cuda::kernel_names(cuda::backend, native == Py_True)).take(); });
}
PyObject* py_source(PyObject*, PyObject* args) {
  return guarded([&] {
    const char* name;
    PyObject* dtype;
    check(PyArg_ParseTuple(args, "sO:_cuda_source", &name, &dtype));
    return checked(PyUnicode_FromString(cuda::elementwise_source(name, to_dtype(dtype)).c_str())).take();
  });
}
PyObject* py_compile(PyObject*, PyObject* args) {
  return guarded([&] {
    const char* source;
    int capability;
    check(PyArg_ParseTuple(args, "si:_cuda_compile", &source, &capability));
    std::string code;
    {
      WithoutLock unlocked(kLong);
      code = cuda::compile(source, capability);
    }
    return checked(PyBytes_FromStringAndSize(code.data(), static_cast<Py_ssize_t>(code.size()))).take();
  });
}

PyMethodDef functions[] = {
    {"_cuda_set_folders", py_set_folders, METH_O, "Where NVIDIA's libraries are looked for."},
    {"_cuda_libraries", py_libraries, METH_NOARGS, "(name, file, what is missing) of every library of NVIDIA's."},
    {"_cuda_why_unavailable", py_why_unavailable, METH_NOARGS, "Why no GPU can be used; empty where one can."},
    {"_cuda_device_count", py_device_count, METH_NOARGS, "The number of GPUs."},
    {"_cuda_current_device", py_current_device, METH_NOARGS, "The number of this thread's GPU."},
    {"_cuda_set_device", py_set_device, METH_O, "Chooses this thread's GPU."},
    {"_cuda_wait_mode", py_wait_mode, METH_O, "What happens when an operation waits for a GPU."},
    {"_cuda_forked", py_forked, METH_NOARGS, "Whether this process was forked after a GPU was in use."},
    {"_cuda_refuse_fork", py_refuse_fork, METH_NOARGS, "Raises where it was."},
    {"_cuda_synchronize", py_synchronize, METH_O, "Waits for all work of a GPU."},
    {"_cuda_memory_stats", py_memory_stats, METH_O, "What a GPU's allocator has done."},
    {"_cuda_reset_sums", py_reset_sums, METH_O, "Begins to count what came and went anew."},
    {"_cuda_snapshot", py_snapshot, METH_NOARGS, "The segments of memory, and their blocks."},
    {"_cuda_reset_peaks", py_reset_peaks, METH_O, "Begins to count the peaks of memory anew."},
    {"_cuda_empty_cache", py_empty_cache, METH_NOARGS, "Gives unused memory back to the driver."},
    {"_cuda_properties", py_properties, METH_O, "What is known of a GPU, by name."},
    {"_cuda_memory_info", py_memory_info, METH_O, "The bytes of a GPU's memory that are free, and all."},
    {"_cuda_limit_memory", py_limit_memory, METH_VARARGS, "The most memory that is taken of a GPU; 0 for no limit."},
    {"_cuda_blas_handle", py_blas_handle, METH_O, "cuBLAS's handle of this thread for a GPU."},
    {"_cuda_profile", py_profile, METH_O, "Tells NVIDIA's profilers to begin (True) or to end (False)."},
    {"_cuda_can_access_peer", py_can_access_peer, METH_VARARGS, "Whether one GPU reads the memory of another."},
    {"_cuda_driver_version", py_driver_version, METH_NOARGS, "The version of CUDA that the driver is for: 13000."},
    {"_cuda_allow_tf32", py_allow_tf32, METH_O, "Whether products of float32 matrices may round to TF32."},
    {"_cuda_use_cudnn", py_use_cudnn, METH_O, "Whether cuDNN may be used."},
    {"_cuda_allow_cudnn_tf32", py_allow_cudnn_tf32, METH_O, "Whether its convolutions of float32 may round to TF32."},
    {"_cuda_cudnn_version", py_cudnn_version, METH_NOARGS, "The version of cuDNN, or None."},
    {"_cuda_kernels", py_kernels, METH_O, "The names of kernels that a GPU has (True), or has not (False)."},
    {"_cuda_source", py_source, METH_VARARGS, "The text of an elementwise kernel for a type."},
    {"_cuda_compile", py_compile, METH_VARARGS, "The machine code of a text for an architecture."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void init_cuda(PyObject* module) {
  check(PyModule_AddFunctions(module, functions) == 0);
  init_cuda_streams(module);
  init_cuda_marks(module);
}

}  // namespace adjoint::python
