#include "python/trace_bindings.h"

#include "core/guard.h"
#include "python/trace.h"
#include "types/types.h"

namespace adjoint::python {
namespace {

using TracePtr = Ref<Trace>;
constexpr const char* kCapsule = "adjoint._C.Trace";

TracePtr& to_trace(PyObject* capsule) {
  void* held = PyCapsule_GetPointer(capsule, kCapsule);
  check(held != nullptr);
  return *static_cast<TracePtr*>(held);
}

/// _new_trace(full): an empty log.
PyObject* py_new_trace(PyObject*, PyObject* full) {
  return guarded([&] {
    auto detail = full == Py_True ? Trace::Detail::Full : Trace::Detail::Plain;
    auto held = std::make_unique<TracePtr>(make_ref<Trace>(detail));
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
    TracePtr trace = to_trace(capsule);
    if (!pop_transform(*trace))
      fail("trace: expected one that this thread has open; this one is closed, or of another thread; close it there");
    trace->close();
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
  Object sequence = event.sequence ? checked(PyLong_FromUnsignedLongLong(*event.sequence)) : Object::borrow(Py_None);
  return checked(Py_BuildValue("(sOOOiOOLLLLkOOOO)", event.name.c_str(), inputs.get(), outputs.get(),
                               code ? code->co_filename : Py_None, code ? PyCode_Addr2Line(code, event.instruction) : 0,
                               code ? code->co_name : Py_None, within.get(), number(event.start),
                               number(event.duration), number(event.memory), number(event.parent), event.thread,
                               event.backward ? Py_True : Py_False, event.failed ? Py_True : Py_False,
                               event.module ? event.module.get() : Py_None, sequence.get()));
}

/// _trace_events(trace): [(name, inputs, outputs, file, line, function, within, start, duration, memory, parent,
/// thread, backward, failed, weak reference to the module, number of the node)]; inputs and outputs as (dtype, shape),
/// times in nanoseconds.
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

/// An argument of a call: (dtype, sizes, strides), a tuple of these, or its value.
Object argument_object(const TraceEvent& event, size_t argument, size_t& next) {
  auto tensor = [&] {
    const TracedTensor& found = event.inputs[next++];
    Object sizes = make_tuple(found.shape->size_span()), strides = make_tuple(found.shape->stride_span());
    return checked(PyTuple_Pack(3, dtype_object(found.dtype), sizes.get(), strides.get()));
  };
  const int count = event.arguments[argument];
  if (count == TraceEvent::kTensor) return tensor();
  if (count == TraceEvent::kOther)
    return Object::borrow(PyTuple_GET_ITEM(event.values.get(), static_cast<Py_ssize_t>(argument)));
  Object tuple = checked(PyTuple_New(count));
  for (int i = 0; i < count; ++i) PyTuple_SET_ITEM(tuple.get(), i, tensor().take());
  return tuple;
}

Object arguments_object(const TraceEvent& event) {
  Object tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(event.arguments.size())));
  size_t next = 0;
  for (size_t i = 0; i < event.arguments.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), argument_object(event, i, next).take());
  return tuple;
}

Object kinds_object(const TraceEvent& event) {
  Object tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(event.arguments.size())));
  for (size_t i = 0; i < event.arguments.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), checked(PyLong_FromLong(event.arguments[i])).take());
  return tuple;
}

/// _trace_details(trace): what a full log has seen: [(kind, name, arguments, which of them
/// are tensors, inputs, outputs, start, duration, memory before, memory, parent, thread, sequence, failed)].
PyObject* py_trace_details(PyObject*, PyObject* capsule) {
  return guarded([&] {
    TracePtr trace = to_trace(capsule);
    Object list = checked(PyList_New(0));
    auto number = [](int64_t value) { return static_cast<long long>(value); };
    for (size_t i = 0; i < trace->events().size(); ++i) {
      const TraceEvent event = trace->events()[i];
      Object arguments = arguments_object(event), kinds = kinds_object(event);
      Object inputs = tensors_object(event.inputs), outputs = tensors_object(event.outputs);
      Object row = checked(Py_BuildValue(
          "(isOOOOLLLLLkLO)", static_cast<int>(event.kind), event.name.c_str(), arguments.get(), kinds.get(),
          inputs.get(), outputs.get(), number(event.start), number(event.duration), number(event.before),
          number(event.memory), number(event.parent), event.thread,
          event.sequence ? number(static_cast<int64_t>(*event.sequence)) : -1LL, event.failed ? Py_True : Py_False));
      check(PyList_Append(list.get(), row.get()) == 0);
    }
    return list.take();
  });
}

/// _begin_span(name, *arguments): the number of a span that the program names, 0 where nobody listens.
PyObject* py_begin_span(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    if (nargs < 1 || !PyUnicode_Check(args[0])) fail(ErrorKind::Type, "_begin_span() takes a name, and arguments");
    const bool heard = mode_flags & kTransformed;
    const uint64_t number =
        heard ? begin_span(args[0], args + 1, static_cast<size_t>(nargs - 1), Span::Kind::Named) : 0;
    return PyLong_FromUnsignedLongLong(number);
  });
}

PyObject* py_end_span(PyObject*, PyObject* number) {
  return guarded([&]() -> PyObject* {
    const uint64_t span = PyLong_AsUnsignedLongLong(number);
    check(!PyErr_Occurred());
    if (span) end_span(span);
    Py_RETURN_NONE;
  });
}

PyMethodDef functions[] = {
    {"_new_trace", py_new_trace, METH_O, "An empty log of ops; with True, one that has spans, too."},
    {"_trace_details", py_trace_details, METH_O, "What a full log has seen, in the order in which it began."},
    {"_begin_span", as_method(py_begin_span), METH_FASTCALL, "Tells full logs of a part of the program."},
    {"_end_span", py_end_span, METH_O, "Ends what _begin_span began."},
    {"_open_trace", py_open_trace, METH_O, "Lets a log see the ops that this thread calls."},
    {"_close_trace", py_close_trace, METH_O, "Ends what _open_trace began."},
    {"_trace_events", py_trace_events, METH_O, "What a log has seen, in the order in which it began."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void init_trace(PyObject* module) { check(PyModule_AddFunctions(module, functions) == 0); }

}  // namespace adjoint::python
