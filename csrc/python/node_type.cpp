#include "python/node_type.h"

#include "core/guard.h"
#include "core/mode.h"
#include "op/recorded.h"
#include "op/transform.h"
#include "python/graph_bindings.h"
#include "tape/hooks.h"
#include "types/types.h"

namespace adjoint::python {
namespace {

Node& node_of(PyObject* self) { return *reinterpret_cast<Node*>(self); }

PyObject* node_name(PyObject* self, PyObject*) {
  const std::string& name = node_of(self).kind->name();
  // torch's C++ classes show their namespace here.
  if (name == "AccumulateGrad" || name == "CopySlices" || name == "CopyBackwards" || name == "NotImplemented" ||
      name == "Error")
    return PyUnicode_FromFormat("torch::autograd::%s", name.c_str());
  return PyUnicode_FromString(name.c_str());
}

PyObject* node_sequence(PyObject* self, PyObject*) { return PyLong_FromUnsignedLongLong(node_of(self).sequence); }

PyObject* node_set_sequence(PyObject* self, PyObject* number) {
  const unsigned long long value = PyLong_AsUnsignedLongLong(number);
  if (PyErr_Occurred()) return nullptr;
  node_of(self).sequence = value;
  Py_RETURN_NONE;
}

PyObject* next_functions(PyObject* self, void*) {
  return guarded([&] {
    Node& node = node_of(self);
    Object result = checked(PyTuple_New(node.n_edges));
    for (uint32_t i = 0; i < node.n_edges; ++i) {
      const Edge& edge = node.edges()[i];
      PyObject* next = edge.node ? as_object(edge.node) : Py_None;
      PyTuple_SET_ITEM(result.get(), i, checked(Py_BuildValue("(OI)", next, edge.node ? edge.index : 0u)).take());
    }
    return result.take();
  });
}

PyTypeObject* input_metadata_type() {
  static PyStructSequence_Field fields[] = {{"shape", nullptr},
                                            {"dtype", nullptr},
                                            {"device", nullptr},
                                            {"is_nested_tensor", nullptr},
                                            {"is_cpp_nested_tensor", nullptr},
                                            {nullptr, nullptr}};
  static PyStructSequence_Desc description = {"adjoint.autograd._InputMetadata",
                                              "What a gradient that comes into a node must look like.", fields, 5};
  static PyTypeObject* type = PyStructSequence_NewType(&description);
  check(type != nullptr);
  return type;
}

/// What the gradients that come in look like: one entry for each output of the op that can have one.
PyObject* input_metadata(PyObject* self, void*) {
  return guarded([&] {
    Node& node = node_of(self);
    Object list = checked(PyList_New(0));
    for (uint32_t i = 0; i < node.n_outputs; ++i) {
      const OutputMeta& meta = node.outputs()[i];
      if (!meta.shape || !is_differentiable(meta.dtype)) continue;
      Object entry = checked(PyStructSequence_New(input_metadata_type()));
      PyStructSequence_SET_ITEM(entry.get(), 0, make_size(meta.shape->size_span()).take());
      PyStructSequence_SET_ITEM(entry.get(), 1, Py_NewRef(dtype_object(meta.dtype)));
      PyStructSequence_SET_ITEM(entry.get(), 2, Py_NewRef(device_object(meta.device)));
      PyStructSequence_SET_ITEM(entry.get(), 3, Py_NewRef(Py_False));
      PyStructSequence_SET_ITEM(entry.get(), 4, Py_NewRef(Py_False));
      check(PyList_Append(list.get(), entry.get()) == 0);
    }
    return checked(PyList_AsTuple(list.get())).take();
  });
}

PyObject* metadata(PyObject* self, void*) {
  return guarded([&] {
    PyObject*& dict = extra_of(node_of(self)).metadata;
    if (!dict) dict = checked(PyDict_New()).take();
    return Py_NewRef(dict);
  });
}

PyObject* node_requires_grad(PyObject*, void*) { Py_RETURN_TRUE; }

PyObject* source(PyObject* self, void*) { return PyUnicode_FromString(source_line(node_of(self)).c_str()); }

/// The dict that holds a node's hooks of one kind, made if need be.
PyObject* hook_dict(PyObject*& place) {
  if (!place) place = new_hook_table();
  return Py_NewRef(place);
}
PyObject* pre_hooks(PyObject* self, void*) {
  return guarded([&] { return hook_dict(extra_of(node_of(self)).pre_hooks); });
}
PyObject* post_hooks(PyObject* self, void*) {
  return guarded([&] { return hook_dict(extra_of(node_of(self)).post_hooks); });
}

/// One gradient handed to a node, in the shape and type that its rule expects.
TensorPtr given_gradient(const OutputMeta& meta, PyObject* given, Py_ssize_t position) {
  if (given == Py_None) return {};
  if (!is_tensor(given)) fail(ErrorKind::Type, "argument ", position, " is not a Variable");
  Tensor* gradient = as_tensor(given);
  if (!meta.shape) return TensorPtr::borrow(gradient);
  if (!same_sizes(gradient->shape, meta.shape))
    fail("Mismatch in shape: argument ", position, " has shape ", to_string(gradient->sizes()), "; expected ",
         to_string(meta.shape->size_span()));
  return gradient->dtype == meta.dtype ? TensorPtr::borrow(gradient) : cast_recorded(gradient, meta.dtype);
}

PyObject* node_dir(PyObject* self, PyObject*) {
  return guarded([&] {
    Object names = checked(PyObject_Dir(reinterpret_cast<PyObject*>(Py_TYPE(self))));
    auto add = [&](const std::vector<std::string>& more) {
      for (const std::string& name : more)
        check(PyList_Append(names.get(), checked(PyUnicode_FromString(name.c_str())).get()) == 0);
    };
    add(node_of(self).kind->attribute_names());
    add(raw_saved_names(node_of(self)));
    return names.take();
  });
}

PyObject* node_repr(PyObject* self) {
  return PyUnicode_FromFormat("<%s object at %p>", node_of(self).kind->name().c_str(), static_cast<void*>(self));
}

PyObject* node_call(PyObject* self, PyObject* args, PyObject* keywords) {
  return guarded([&] {
    Node& node = node_of(self);
    if (Py_TYPE(self)->tp_dictoffset) fail(ErrorKind::Type, "'", node.kind->name(), "' object is not callable");
    if (keywords && PyDict_GET_SIZE(keywords)) fail(ErrorKind::Type, "keyword arguments are not supported");
    if (PyTuple_GET_SIZE(args) != static_cast<Py_ssize_t>(node.n_outputs))
      fail(ErrorKind::Type, "expected ", node.n_outputs, " arguments, got ", PyTuple_GET_SIZE(args), " instead");
    std::vector<TensorPtr> outputs(node.n_outputs), edges(node.n_edges);
    bool any = node.kind->runs_on_undefined();
    for (uint32_t i = 0; i < node.n_outputs; ++i) {
      outputs[i] = given_gradient(node.outputs()[i], PyTuple_GET_ITEM(args, i), i);
      any |= static_cast<bool>(outputs[i]);
    }
    auto wanted = std::make_unique<bool[]>(node.n_edges);
    for (uint32_t i = 0; i < node.n_edges; ++i) wanted[i] = node.edges()[i].node;
    bool grad_mode = grad_enabled();
    if (any) apply_watched(node, outputs.data(), edges.data(), {grad_mode, true, wanted.get(), grad_mode});
    Object results = checked(PyTuple_New(node.n_edges));
    for (uint32_t i = 0; i < node.n_edges; ++i)
      PyTuple_SET_ITEM(results.get(), i, edges[i] ? as_object(edges[i].take()) : Py_NewRef(Py_None));
    return node.n_edges == 1 ? Py_NewRef(PyTuple_GET_ITEM(results.get(), 0)) : results.take();
  });
}

PyMethodDef node_methods[] = {
    {"name", node_name, METH_NOARGS, "The name of the node's kind."},
    {"_sequence_nr", node_sequence, METH_NOARGS, "Newer nodes have larger numbers."},
    {"_set_sequence_nr", node_set_sequence, METH_O, "Sets the number: larger ones are applied first."},
    {"__dir__", node_dir, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef node_getset[] = {
    {"next_functions", next_functions, nullptr, "Where the gradients go: pairs of node (or None) and output number.",
     nullptr},
    {"metadata", metadata, nullptr, "A dict for the user's own notes.", nullptr},
    {"_input_metadata", input_metadata, nullptr, "Shape, dtype and device of each gradient that comes in.", nullptr},
    {"requires_grad", node_requires_grad, nullptr, "True: what does not require grad has no node.", nullptr},
    {"source_line", source, nullptr, "The line of Python that made the node.", nullptr},
    {"_pre_hooks", pre_hooks, nullptr, nullptr, nullptr},
    {"_post_hooks", post_hooks, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyObject* node_getattro(PyObject* self, PyObject* name) {
  PyObject* value = PyObject_GenericGetAttr(self, name);
  if (value || !PyErr_ExceptionMatches(PyExc_AttributeError)) return value;
  PyObject *type, *error, *traceback;
  PyErr_Fetch(&type, &error, &traceback);
  return guarded([&]() -> PyObject* {
    Object owned_type = Object::steal(type), owned_error = Object::steal(error),
           owned_traceback = Object::steal(traceback);
    const char* text = PyUnicode_AsUTF8(name);
    check(text != nullptr);
    Node& node = node_of(self);
    if (Object found = node.kind->attribute(node, text)) return found.take();
    if (std::string_view(text).starts_with("_raw_saved_")) {
      if (Object found = raw_saved(node, text + std::string_view("_raw_saved_").size())) return found.take();
    }
    PyErr_Restore(owned_type.take(), owned_error.take(), owned_traceback.take());
    return nullptr;
  });
}

}  // namespace

PyTypeObject* init_nodes() {
  const PyType_Slot shown[] = {
      {Py_tp_methods, node_methods},
      {Py_tp_getset, node_getset},
      {Py_tp_getattro, reinterpret_cast<void*>(node_getattro)},
      {Py_tp_repr, reinterpret_cast<void*>(node_repr)},
      {Py_tp_call, reinterpret_cast<void*>(node_call)},
  };
  return init_node_type(shown);
}

}  // namespace adjoint::python
