// Streams, events, graphs and pinned memory for src/adjoint/cuda: handles go to Python as numbers.
#include <string_view>
#include <vector>

#include "core/guard.h"
#include "core/lock.h"
#include "core/relocation.h"
#include "core/tensor.h"
#include "cuda/allocator.h"
#include "cuda/graphs.h"
#include "cuda/pinned.h"
#include "cuda/runtime.h"
#include "cuda/streams.h"
#include "ops/memory.h"
#include "python/cuda_bindings.h"
#include "python/interop.h"
#include "types/generator.h"
#include "types/types.h"

namespace adjoint::python {
namespace {

/// Lets other threads run while this one waits.
template <class F>
auto waiting(F&& f) {
  struct Unlocked {
    PyThreadState* state = PyEval_SaveThread();
    ~Unlocked() { take_lock(state); }
  } unlocked;
  return f();
}

using Handle = unsigned long long;
template <class Pointer>
Pointer pointer_to(Handle handle) {
  return reinterpret_cast<Pointer>(static_cast<uintptr_t>(handle));
}
template <class Pointer>
PyObject* handle_of(Pointer pointer) {
  return PyLong_FromUnsignedLongLong(reinterpret_cast<uintptr_t>(pointer));
}

// ---- Streams

PyObject* py_new_stream(PyObject*, PyObject* args) {
  return guarded([&] {
    int index, priority;
    check(PyArg_ParseTuple(args, "ii:_cuda_new_stream", &index, &priority));
    return handle_of(cuda::pooled_stream(index, priority));
  });
}
PyObject* py_current_stream(PyObject*, PyObject* index) {
  return guarded([&] { return handle_of(cuda::current_stream(to_device_index(index))); });
}
PyObject* py_set_stream(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int index;
    Handle stream;
    check(PyArg_ParseTuple(args, "iK:_cuda_set_stream", &index, &stream));
    cuda::use(index);
    cuda::set_current_stream(index, pointer_to<cuda::Stream>(stream));
    Py_RETURN_NONE;
  });
}
PyObject* py_stream_priority(PyObject*, PyObject* stream) {
  return guarded(
      [&] { return PyLong_FromLong(cuda::priority_of(pointer_to<cuda::Stream>(PyLong_AsUnsignedLongLong(stream)))); });
}
PyObject* py_stream_done(PyObject*, PyObject* args) {
  return guarded([&] {
    int index;
    Handle stream;
    check(PyArg_ParseTuple(args, "iK:_cuda_stream_done", &index, &stream));
    return PyBool_FromLong(cuda::is_done(index, pointer_to<cuda::Stream>(stream)));
  });
}
PyObject* py_stream_synchronize(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int index;
    Handle stream;
    check(PyArg_ParseTuple(args, "iK:_cuda_stream_synchronize", &index, &stream));
    waiting([&] { cuda::synchronize(index, pointer_to<cuda::Stream>(stream)); });
    Py_RETURN_NONE;
  });
}
PyObject* py_capturing(PyObject*, PyObject* index) {
  return guarded([&] { return PyBool_FromLong(cuda::is_capturing(to_device_index(index))); });
}

// ---- Events

PyObject* py_new_event(PyObject*, PyObject* args) {
  return guarded([&] {
    int index, timed, blocking;
    check(PyArg_ParseTuple(args, "ipp:_cuda_new_event", &index, &timed, &blocking));
    return handle_of(cuda::make_event(index, timed, blocking));
  });
}
PyObject* py_destroy_event(PyObject*, PyObject* event) {
  return guarded([&]() -> PyObject* {
    cuda::destroy_event(pointer_to<cuda::Event>(PyLong_AsUnsignedLongLong(event)));
    Py_RETURN_NONE;
  });
}
/// Of a device, an event and a stream.
template <void (*act)(int, cuda::Event, cuda::Stream)>
PyObject* py_event_on_stream(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int index;
    Handle event, stream;
    check(PyArg_ParseTuple(args, "iKK", &index, &event, &stream));
    act(index, pointer_to<cuda::Event>(event), pointer_to<cuda::Stream>(stream));
    Py_RETURN_NONE;
  });
}
void wait_on(int index, cuda::Event event, cuda::Stream stream) { cuda::wait(index, stream, event); }
PyObject* py_event_done(PyObject*, PyObject* args) {
  return guarded([&] {
    int index;
    Handle event;
    check(PyArg_ParseTuple(args, "iK:_cuda_event_done", &index, &event));
    return PyBool_FromLong(cuda::is_done(index, pointer_to<cuda::Event>(event)));
  });
}
PyObject* py_event_synchronize(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int index;
    Handle event;
    check(PyArg_ParseTuple(args, "iK:_cuda_event_synchronize", &index, &event));
    waiting([&] { cuda::synchronize_event(index, pointer_to<cuda::Event>(event)); });
    Py_RETURN_NONE;
  });
}
PyObject* py_elapsed(PyObject*, PyObject* args) {
  return guarded([&] {
    int index;
    Handle begin, end;
    check(PyArg_ParseTuple(args, "iKK:_cuda_elapsed", &index, &begin, &end));
    return PyFloat_FromDouble(
        static_cast<double>(cuda::elapsed(index, pointer_to<cuda::Event>(begin), pointer_to<cuda::Event>(end))));
  });
}

// ---- Graphs

constexpr const char* kGraph = "adjoint.cuda graph";
cuda::CapturedGraph& graph_in(PyObject* capsule) {
  auto* graph = static_cast<cuda::CapturedGraph*>(PyCapsule_GetPointer(capsule, kGraph));
  check(graph != nullptr);
  return *graph;
}
PyObject* py_new_graph(PyObject*, PyObject*) {
  return guarded([&] {
    auto* graph = new cuda::CapturedGraph;
    return checked(PyCapsule_New(graph, kGraph,
                                 [](PyObject* capsule) {
                                   delete static_cast<cuda::CapturedGraph*>(PyCapsule_GetPointer(capsule, kGraph));
                                 }))
        .take();
  });
}
int capture_mode(std::string_view word) {
  if (word == "global") return cuda::kCaptureGlobal;
  if (word == "thread_local") return cuda::kCaptureThreadLocal;
  if (word == "relaxed") return cuda::kCaptureRelaxed;
  fail("Unknown capture error mode. Expected `global`, `thread_local`, or `relaxed`, got ", std::string(word));
}
PyObject* py_graph_begin(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* graph;
    Handle pool;
    const char* mode;
    check(PyArg_ParseTuple(args, "OKs:_cuda_graph_begin", &graph, &pool, &mode));
    graph_in(graph).begin(pool, capture_mode(mode));
    Py_RETURN_NONE;
  });
}
PyObject* py_graph_draw_from(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *graph, *object;
    check(PyArg_ParseTuple(args, "OO:_cuda_graph_draw_from", &graph, &object));
    Generator* generator = to_generator(object);
    if (!generator) fail(ErrorKind::Type, "expected a torch.Generator; got ", Py_TYPE(object)->tp_name);
    graph_in(graph).draw_from(*generator);
    Py_RETURN_NONE;
  });
}
template <void (cuda::CapturedGraph::*act)()>
PyObject* py_graph(PyObject*, PyObject* graph) {
  return guarded([&]() -> PyObject* {
    (graph_in(graph).*act)();
    Py_RETURN_NONE;
  });
}
PyObject* py_graph_pool(PyObject*, PyObject* graph) {
  return guarded([&] { return PyLong_FromUnsignedLongLong(graph_in(graph).pool()); });
}
PyObject* py_new_pool(PyObject*, PyObject*) {
  return guarded([&] { return PyLong_FromUnsignedLongLong(cuda::new_pool()); });
}

template <void (*act)(uint64_t)>
PyObject* py_pool(PyObject*, PyObject* pool) {
  return guarded([&]() -> PyObject* {
    act(PyLong_AsUnsignedLongLong(pool));
    check(!PyErr_Occurred());
    Py_RETURN_NONE;
  });
}
PyObject* py_pool_users(PyObject*, PyObject* pool) {
  return guarded([&] { return PyLong_FromLong(cuda::pool_users(PyLong_AsUnsignedLongLong(pool))); });
}
PyObject* py_choose_pool(PyObject*, PyObject* args) {
  return guarded([&] {
    int index;
    Handle pool;
    check(PyArg_ParseTuple(args, "iK:_cuda_choose_pool", &index, &pool));
    return PyLong_FromUnsignedLongLong(cuda::choose_pool(index, pool));
  });
}

// ---- Memory

Tensor* tensor_in(PyObject* object) {
  if (!is_tensor(object)) fail(ErrorKind::Type, "expected a Tensor; got ", Py_TYPE(object)->tp_name);
  return as_tensor(object);
}
PyObject* py_record_stream(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* object;
    Handle stream;
    check(PyArg_ParseTuple(args, "OK:_cuda_record_stream", &object, &stream));
    Tensor* tensor = tensor_in(object);
    if (tensor->device.type != DeviceType::Cuda)
      fail(ErrorKind::NotImplemented, "record_stream(): the tensor is on ", to_string(tensor->device),
           ", and only memory of a GPU is used by streams");
    cuda::record_stream(const_cast<Storage*>(memory_of(tensor->storage)), pointer_to<cuda::Stream>(stream));
    Py_RETURN_NONE;
  });
}
PyObject* py_is_pinned(PyObject*, PyObject* object) {
  return guarded([&] {
    const Tensor* tensor = tensor_in(object);
    return PyBool_FromLong(tensor->device == DeviceType::Cpu && cuda::why_unavailable().empty() &&
                           cuda::is_pinned(tensor->storage->data));
  });
}
/// _cuda_pin(tensor): a tensor of the same values and geometry in pinned memory.
PyObject* py_pin(PyObject*, PyObject* object) {
  return guarded([&] { return as_object(pinned(tensor_in(object)).take()); });
}
PyObject* py_pinned_stats(PyObject*, PyObject*) {
  return guarded([&] {
    const cuda::PinnedStats stats = cuda::pinned_stats();
    auto four = [](const cuda::Counter& counter) {
      return Py_BuildValue("(LLLL)", counter.now, counter.peak, counter.came, counter.went);
    };
    return checked(Py_BuildValue("{sNsNsNsN}", "allocations", four(stats.blocks), "allocated_bytes", four(stats.bytes),
                                 "active_requests", four(stats.used), "active_bytes", four(stats.used_bytes)))
        .take();
  });
}
PyObject* py_reset_pinned_peaks(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    cuda::reset_pinned_peaks();
    Py_RETURN_NONE;
  });
}
PyObject* py_reset_pinned_sums(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    cuda::reset_pinned_sums();
    Py_RETURN_NONE;
  });
}
/// _cuda_register_host(address, bytes, flags): the driver's answer, as a number.
PyObject* py_register_host(PyObject*, PyObject* args) {
  return guarded([&] {
    Handle address, nbytes;
    unsigned flags;
    check(PyArg_ParseTuple(args, "KKI:_cuda_register_host", &address, &nbytes, &flags));
    return PyLong_FromLong(cuda::register_host(pointer_to<void*>(address), nbytes, flags));
  });
}
PyObject* py_unregister_host(PyObject*, PyObject* address) {
  return guarded([&] {
    const Handle place = PyLong_AsUnsignedLongLong(address);
    check(!PyErr_Occurred());
    return PyLong_FromLong(cuda::unregister_host(pointer_to<void*>(place)));
  });
}
/// _cuda_from_pointer(address, shape, strides or None, dtype, stream, owner): a tensor on the memory at an address.
PyObject* py_from_pointer(PyObject*, PyObject* args) {
  return guarded([&] {
    Handle address, stream;
    PyObject *shape, *strides, *dtype, *owner;
    check(PyArg_ParseTuple(args, "KOOOKO:_cuda_from_pointer", &address, &shape, &strides, &dtype, &stream, &owner));
    auto numbers = [](PyObject* tuple) {
      Object items = checked(PySequence_Tuple(tuple));
      std::vector<int64_t> values;
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i)
        values.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(items.get(), i)));
      check(!PyErr_Occurred());
      return values;
    };
    const std::vector<int64_t> sizes = numbers(shape);
    ShapePtr dense = make_shape(Sizes(sizes));
    std::vector<int64_t> steps(dense->strides(), dense->strides() + dense->ndim);
    if (strides != Py_None) steps = numbers(strides);
    if (steps.size() != sizes.size()) fail(ErrorKind::Value, "__cuda_array_interface__: strides do not fit the shape");
    for (int64_t step : steps)
      if (step < 0) fail(ErrorKind::Value, "negative strides are not supported; copy the array first");
    int index = cuda::current_device();
    cuda::use(index);
    if (address)
      cuda::check(cuda::driver().pointer_attribute(&index, cuda::kDeviceOfPointer, address), "asking where memory is");
    const Device device{DeviceType::Cuda, static_cast<uint8_t>(index)};
    // What the other library has queued there comes first; 1 is the default stream, 0 none that is known.
    auto* theirs = stream == 1 ? nullptr : pointer_to<cuda::Stream>(stream);
    cuda::Stream ours = cuda::current_stream(index);
    if (stream != 0 && theirs != ours) cuda::follow(index, theirs, index, ours);
    Py_INCREF(owner);
    return as_object(adopt(
                         pointer_to<void*>(address), sizes, steps, to_dtype(dtype),
                         [](void* kept) {
                           if (Py_IsInitialized()) Py_DECREF(static_cast<PyObject*>(kept));
                         },
                         owner, ArrayUse::Shared, device)
                         .take());
  });
}
PyObject* py_running_captures(PyObject*, PyObject*) { return PyLong_FromLong(cuda::running_captures()); }
PyObject* py_empty_pinned_cache(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    cuda::empty_pinned_cache();
    Py_RETURN_NONE;
  });
}

PyMethodDef functions[] = {
    {"_cuda_new_stream", py_new_stream, METH_VARARGS, "A stream of a GPU, of a priority."},
    {"_cuda_current_stream", py_current_stream, METH_O, "This thread's stream of a GPU; 0 for the default one."},
    {"_cuda_set_stream", py_set_stream, METH_VARARGS, "Chooses this thread's stream of a GPU."},
    {"_cuda_stream_priority", py_stream_priority, METH_O, "The priority of a stream."},
    {"_cuda_stream_done", py_stream_done, METH_VARARGS, "Whether all work of a stream is done."},
    {"_cuda_stream_synchronize", py_stream_synchronize, METH_VARARGS, "Waits for all work of a stream."},
    {"_cuda_capturing", py_capturing, METH_O, "Whether this thread's stream of a GPU is captured."},
    {"_cuda_new_event", py_new_event, METH_VARARGS, "An event of a GPU: timed or not, waited for asleep or not."},
    {"_cuda_destroy_event", py_destroy_event, METH_O, "Ends an event."},
    {"_cuda_record_event", py_event_on_stream<cuda::record>, METH_VARARGS, "Marks how far a stream has come."},
    {"_cuda_wait_event", py_event_on_stream<wait_on>, METH_VARARGS, "Lets a stream wait for an event."},
    {"_cuda_event_done", py_event_done, METH_VARARGS, "Whether what an event marks is done."},
    {"_cuda_event_synchronize", py_event_synchronize, METH_VARARGS, "Waits for what an event marks."},
    {"_cuda_elapsed", py_elapsed, METH_VARARGS, "Milliseconds between two events."},
    {"_cuda_running_captures", py_running_captures, METH_NOARGS, "How many graphs are being captured."},
    {"_cuda_new_graph", py_new_graph, METH_NOARGS, "A graph that is still to be captured."},
    {"_cuda_graph_begin", py_graph_begin, METH_VARARGS, "Begins to capture: a graph, a pool or 0, a mode."},
    {"_cuda_graph_draw_from", py_graph_draw_from, METH_VARARGS, "Lets fills of a capture draw from a generator."},
    {"_cuda_graph_end", py_graph<&cuda::CapturedGraph::end>, METH_O, "Ends the capture of a graph."},
    {"_cuda_graph_launch", py_graph<&cuda::CapturedGraph::launch>, METH_O, "Queues what a graph has captured."},
    {"_cuda_graph_reset", py_graph<&cuda::CapturedGraph::reset>, METH_O, "Gives up what a graph has captured."},
    {"_cuda_graph_pool", py_graph_pool, METH_O, "The pool of a graph's memory."},
    {"_cuda_new_pool", py_new_pool, METH_NOARGS, "A new pool of memory."},
    {"_cuda_retain_pool", py_pool<cuda::retain_pool>, METH_O, "Somebody uses a pool."},
    {"_cuda_release_pool", py_pool<cuda::release_pool>, METH_O, "Somebody uses a pool no longer."},
    {"_cuda_pool_users", py_pool_users, METH_O, "How many use a pool."},
    {"_cuda_choose_pool", py_choose_pool, METH_VARARGS, "This thread's memory of a GPU comes from a pool."},
    {"_cuda_record_stream", py_record_stream, METH_VARARGS, "A stream uses the memory of a tensor, too."},
    {"_cuda_is_pinned", py_is_pinned, METH_O, "Whether a tensor lies in pinned memory."},
    {"_cuda_pin", py_pin, METH_O, "A copy of a tensor in pinned memory."},
    {"_cuda_pinned_stats", py_pinned_stats, METH_NOARGS,
     "Figures of pinned memory: now, peak, sums of what came and went."},
    {"_cuda_reset_pinned_peaks", py_reset_pinned_peaks, METH_NOARGS,
     "Begins to count the peaks of pinned memory anew."},
    {"_cuda_reset_pinned_sums", py_reset_pinned_sums, METH_NOARGS, "Begins to count pinned memory's sums anew."},
    {"_cuda_register_host", py_register_host, METH_VARARGS, "Pins memory of the program's own."},
    {"_cuda_unregister_host", py_unregister_host, METH_O, "Lets memory of the program's own go that was pinned."},
    {"_cuda_from_pointer", py_from_pointer, METH_VARARGS, "A tensor on memory of a GPU that somebody else owns."},
    {"_cuda_empty_pinned_cache", py_empty_pinned_cache, METH_NOARGS, "Gives unused pinned memory back to the driver."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void init_cuda_streams(PyObject* module) { check(PyModule_AddFunctions(module, functions) == 0); }

}  // namespace adjoint::python
