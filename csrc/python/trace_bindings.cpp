#include "python/trace_bindings.h"

#include "core/guard.h"
#include "python/trace.h"
#include "types/types.h"

namespace adjoint::python {
namespace {

using TracePtr = std::shared_ptr<Trace>;
constexpr const char* kCapsule = "adjoint._C.Trace";

TracePtr& to_trace(PyObject* capsule) {
  void* held = PyCapsule_GetPointer(capsule, kCapsule);
  check(held != nullptr);
  return *static_cast<TracePtr*>(held);
}

/// _new_trace(): an empty log.
PyObject* py_new_trace(PyObject*, PyObject*) {
  return guarded([&] {
    auto held = std::make_unique<TracePtr>(std::make_shared<Trace>());
    auto destroy = [](PyObject* capsule) { delete static_cast<TracePtr*>(PyCapsule_GetPointer(capsule, kCapsule)); };
    Object capsule = checked(PyCapsule_New(held.get(), kCapsule, destroy));
    held.release();
    return capsule.take();
  });
}

PyObject* py_open_trace(PyObject*, PyObject* capsule) {
  return guarded([&]() -> PyObject* {
    TracePtr trace = to_trace(capsule);
    if (!push_transform(trace)) fail("trace: expected one that is not open; this one is; make another with trace()");
    trace->set_thread(PyThread_get_thread_native_id());
    Py_RETURN_NONE;
  });
}

PyObject* py_close_trace(PyObject*, PyObject* capsule) {
  return guarded([&]() -> PyObject* {
    if (!pop_transform(*to_trace(capsule)))
      fail("trace: expected one that this thread has open; this one is closed, or of another thread; close it there");
    Py_RETURN_NONE;
  });
}

Object tensors_object(const std::vector<TracedTensor>& tensors) {
  Object tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(tensors.size())));
  for (size_t i = 0; i < tensors.size(); ++i) {
    Object sizes = make_tuple(tensors[i].shape->size_span());
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i),
                     checked(PyTuple_Pack(2, dtype_object(tensors[i].dtype), sizes.get())).take());
  }
  return tuple;
}

Object names_object(const std::vector<Object>& codes) {
  Object tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(codes.size())));
  for (size_t i = 0; i < codes.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i),
                     Py_NewRef(reinterpret_cast<PyCodeObject*>(codes[i].get())->co_qualname));
  return tuple;
}

Object event_object(const TraceEvent& event) {
  auto* code = reinterpret_cast<PyCodeObject*>(event.code.get());
  Object inputs = tensors_object(event.inputs), outputs = tensors_object(event.outputs);
  Object within = names_object(event.within);
  auto number = [](int64_t value) { return static_cast<long long>(value); };
  return checked(Py_BuildValue("(sOOOiOOLLLLkOO)", event.name.c_str(), inputs.get(), outputs.get(),
                               code ? code->co_filename : Py_None, code ? PyCode_Addr2Line(code, event.instruction) : 0,
                               code ? code->co_name : Py_None, within.get(), number(event.start),
                               number(event.duration), number(event.memory), number(event.parent), event.thread,
                               event.backward ? Py_True : Py_False, event.failed ? Py_True : Py_False));
}

/// _trace_events(trace): [(name, inputs, outputs, file, line, function, within, start, duration, memory, parent,
/// thread, backward, failed)]; inputs and outputs as (dtype, shape), times in nanoseconds.
PyObject* py_trace_events(PyObject*, PyObject* capsule) {
  return guarded([&] {
    TracePtr trace = to_trace(capsule);
    Object list = checked(PyList_New(0));
    for (size_t i = 0; i < trace->events().size(); ++i) {
      const TraceEvent event = trace->events()[i];
      check(PyList_Append(list.get(), event_object(event).get()) == 0);
    }
    return list.take();
  });
}

PyMethodDef functions[] = {
    {"_new_trace", py_new_trace, METH_NOARGS, "An empty log of ops."},
    {"_open_trace", py_open_trace, METH_O, "Lets a log see the ops that this thread calls."},
    {"_close_trace", py_close_trace, METH_O, "Ends what _open_trace began."},
    {"_trace_events", py_trace_events, METH_O, "What a log has seen, in the order in which it began."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void init_trace(PyObject* module) { check(PyModule_AddFunctions(module, functions) == 0); }

}  // namespace adjoint::python
