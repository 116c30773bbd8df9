// What Python sees of a node: name(), next_functions, metadata, hooks, saved values.

#include "python/graph_bindings.h"
#include "python/guard.h"
#include "tape/node.h"

namespace adjoint {

using python::check;
using python::checked;
using python::guarded;

namespace {

Node& node_of(PyObject* self) { return *reinterpret_cast<Node*>(self); }

PyObject* node_name(PyObject* self, PyObject*) {
  const std::string& name = node_of(self).kind->name();
  // torch's C++ classes show their namespace here.
  if (name == "AccumulateGrad" || name == "CopySlices" || name == "CopyBackwards")
    return PyUnicode_FromFormat("torch::autograd::%s", name.c_str());
  return PyUnicode_FromString(name.c_str());
}

PyObject* node_sequence(PyObject* self, PyObject*) { return PyLong_FromUnsignedLongLong(node_of(self).sequence); }

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
  if (!place) place = checked(PyDict_New()).take();
  return Py_NewRef(place);
}
PyObject* pre_hooks(PyObject* self, void*) {
  return guarded([&] { return hook_dict(extra_of(node_of(self)).pre_hooks); });
}
PyObject* post_hooks(PyObject* self, void*) {
  return guarded([&] { return hook_dict(extra_of(node_of(self)).post_hooks); });
}

PyObject* node_dir(PyObject* self, PyObject*) {
  return guarded([&] {
    Object names = checked(PyObject_Dir(reinterpret_cast<PyObject*>(Py_TYPE(self))));
    auto add = [&](const std::vector<std::string>& more) {
      for (const std::string& name : more)
        check(PyList_Append(names.get(), checked(PyUnicode_FromString(name.c_str())).get()) == 0);
    };
    add(node_of(self).kind->attribute_names());
    add(python::raw_saved_names(node_of(self)));
    return names.take();
  });
}

}  // namespace

PyObject* node_repr(PyObject* self) {
  return PyUnicode_FromFormat("<%s object at %p>", node_of(self).kind->name().c_str(), static_cast<void*>(self));
}

PyMethodDef node_methods[] = {
    {"name", node_name, METH_NOARGS, "The name of the node's kind."},
    {"_sequence_nr", node_sequence, METH_NOARGS, "Newer nodes have larger numbers."},
    {"__dir__", node_dir, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef node_getset[] = {
    {"next_functions", next_functions, nullptr, "Where the gradients go: pairs of node (or None) and output number.",
     nullptr},
    {"metadata", metadata, nullptr, "A dict for the user's own notes.", nullptr},
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
      if (Object found = python::raw_saved(node, text + std::string_view("_raw_saved_").size())) return found.take();
    }
    PyErr_Restore(owned_type.take(), owned_error.take(), owned_traceback.take());
    return nullptr;
  });
}

}  // namespace adjoint
