#include "python/inspect_bindings.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "op/op.h"
#include "tape/history.h"
#include "types/types.h"

namespace adjoint::python {
namespace {

Node& to_node(PyObject* object) {
  if (!is_node(object)) fail(ErrorKind::Type, "expected a node of the graph; got ", Py_TYPE(object)->tp_name);
  return *reinterpret_cast<Node*>(object);
}

/// _gradient_edge(tensor): (node, output number) where the gradient of a tensor that requires grad goes.
PyObject* py_gradient_edge(PyObject*, PyObject* tensor) {
  return guarded([&] {
    if (!is_tensor(tensor)) fail(ErrorKind::Type, "expected a tensor; got ", Py_TYPE(tensor)->tp_name);
    if (!requires_grad(as_tensor(tensor))) fail("a tensor that does not require grad has no place in a graph");
    Edge edge = gradient_edge(as_tensor(tensor));
    NodePtr owned = NodePtr::steal(edge.node);
    return checked(Py_BuildValue("(OI)", as_object(edge.node), edge.index)).take();
  });
}

/// _reached_nodes(roots): the nodes that backward from these would pass, newest first, leaves last.
PyObject* py_reached_nodes(PyObject*, PyObject* roots) {
  return guarded([&] {
    if (!PyTuple_Check(roots)) fail(ErrorKind::Type, "expected a tuple of nodes; got ", Py_TYPE(roots)->tp_name);
    std::vector<Node*> found;
    std::unordered_set<Node*> seen;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(roots); ++i) {
      Node* root = &to_node(PyTuple_GET_ITEM(roots, i));
      if (seen.insert(root).second) found.push_back(root);
    }
    for (size_t i = 0; i < found.size(); ++i) {
      for (uint32_t e = 0; e < found[i]->n_edges; ++e) {
        Node* next = found[i]->edges()[e].node;
        if (next && seen.insert(next).second) found.push_back(next);
      }
    }
    // The leaves' nodes have the largest sequence number of all: one more makes it the smallest.
    std::stable_sort(found.begin(), found.end(), [](Node* a, Node* b) { return a->sequence + 1 > b->sequence + 1; });
    Object list = checked(PyList_New(static_cast<Py_ssize_t>(found.size())));
    for (size_t i = 0; i < found.size(); ++i)
      PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), Py_NewRef(as_object(found[i])));
    return list.take();
  });
}

/// _describe_node(node): (outputs as (dtype, shape) or None, file, line, function, were its saved values freed).
PyObject* py_describe_node(PyObject*, PyObject* object) {
  return guarded([&] {
    const Node& node = to_node(object);
    Object outputs = checked(PyTuple_New(node.n_outputs));
    for (uint32_t i = 0; i < node.n_outputs; ++i) {
      const OutputMeta& meta = node.outputs()[i];
      Object item = Object::borrow(Py_None);
      if (meta.shape)
        item = checked(PyTuple_Pack(2, dtype_object(meta.dtype), make_tuple(meta.shape->size_span()).get()));
      PyTuple_SET_ITEM(outputs.get(), i, item.take());
    }
    PyObject* file = node.code ? node.code->co_filename : Py_None;
    PyObject* function = node.code ? node.code->co_name : Py_None;
    int line = node.code ? PyCode_Addr2Line(node.code, node.instruction) : 0;
    PyObject* released = node.released() ? Py_True : Py_False;
    return checked(Py_BuildValue("(OOiOO)", outputs.get(), file, line, function, released)).take();
  });
}

/// Note [Whose memory]: a storage belongs to the graph alone when every reference to it is one of the graph's saved
/// values, or of tensors that only the graph holds. Dropping the graph frees exactly these storages.
class SavedMemory {
 public:
  struct Holding {
    size_t node;  ///< the oldest one that holds the storage
    std::string name;
    DType dtype;
    ShapePtr shape;
    uint32_t refs = 0;  ///< references that the graph accounts for
  };

  void visit(size_t index, const Node& node) {
    index_ = index;
    visit_saved(node, true);
  }

  /// The holdings, oldest node first, as tuples (node, name, dtype, shape, bytes, does it belong to the graph alone).
  Object rows() {
    for (auto& [tensor, refs] : tensors_)
      if (Py_REFCNT(as_object(tensor)) == static_cast<Py_ssize_t>(refs)) ++holdings_.at(tensor->storage).refs;
    Object list = checked(PyList_New(0));
    for (Storage* storage : order_) {
      const Holding& held = holdings_.at(storage);
      bool alone = held.refs == storage->refs && !storage->is_foreign();
      Object row = checked(Py_BuildValue("(nsOOnO)", static_cast<Py_ssize_t>(held.node), held.name.c_str(),
                                         dtype_object(held.dtype), make_tuple(held.shape->size_span()).get(),
                                         static_cast<Py_ssize_t>(storage->nbytes), alone ? Py_True : Py_False));
      check(PyList_Append(list.get(), row.get()) == 0);
    }
    return list;
  }

 private:
  void visit_saved(const Node& node, bool sole) {
    auto* op = dynamic_cast<const Op*>(node.kind);
    for (uint32_t i = 0; i < node.n_saved; ++i)
      visit_value(node.saved()[i], op && i < op->items.size() ? op->items[i].name : "", sole);
    PyObject** attributes = _PyObject_GetDictPtr(as_object(const_cast<Node*>(&node)));
    if (attributes && *attributes) visit_attributes(*attributes, sole);
  }

  void visit_value(const SavedValue& value, const std::string& name, bool sole) {
    if (value.kind() == SavedValue::Kind::List) {
      for (size_t i = 0; i < value.list_size(); ++i)
        visit_value(value.list_item(i), name + "[" + std::to_string(i) + "]", sole);
    } else if (value.kind() == SavedValue::Kind::Object) {
      visit_object(value.object(), name, sole, 0);
    } else if (value.kind() == SavedValue::Kind::Packed) {
      visit_object(value.packed_object(), name, sole, 1);
    } else if (Storage* storage = value.storage()) {
      hold(storage, name, value.dtype(), value.shape()).refs += sole;
    }
  }

  /// `sole`: everything between the node and the object is referred to once.
  void visit_object(PyObject* object, const std::string& name, bool sole, int depth) {
    constexpr int kDeepest = 8;
    if (depth > kDeepest) return;
    if (is_tensor(object)) {
      Tensor* tensor = as_tensor(object);
      if (!tensor->storage) return;
      hold(tensor->storage, name, tensor->dtype, tensor->shape);
      tensors_[tensor] += sole;
      return;
    }
    sole = sole && Py_REFCNT(object) == 1;
    if (PyTuple_Check(object)) {
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
        visit_object(PyTuple_GET_ITEM(object, i), name, sole, depth + 1);
    } else if (PyList_Check(object)) {
      for (Py_ssize_t i = 0; i < PyList_GET_SIZE(object); ++i)
        visit_object(PyList_GET_ITEM(object, i), name, sole, depth + 1);
    } else if (PyDict_Check(object)) {
      PyObject *key, *value;
      for (Py_ssize_t position = 0; PyDict_Next(object, &position, &key, &value);)
        visit_object(value, name, sole, depth + 1);
    } else if (is_node(object)) {
      visit_saved(*reinterpret_cast<Node*>(object), sole);
    }
  }

  /// The attributes of a custom Function's ctx.
  void visit_attributes(PyObject* dict, bool sole) {
    PyObject *key, *value;
    for (Py_ssize_t position = 0; PyDict_Next(dict, &position, &key, &value);) {
      const char* text = PyUnicode_AsUTF8(key);
      check(text != nullptr);
      visit_object(value, std::string("ctx.") + text, sole, 1);
    }
  }

  Holding& hold(Storage* storage, const std::string& name, DType dtype, Shape* shape) {
    auto [place, fresh] = holdings_.try_emplace(storage);
    if (fresh) {
      place->second = {index_, name, dtype, ShapePtr::borrow(shape), 0};
      order_.push_back(storage);
    }
    return place->second;
  }

  size_t index_ = 0;
  std::unordered_map<Storage*, Holding> holdings_;
  std::vector<Storage*> order_;
  std::unordered_map<Tensor*, size_t> tensors_;
};

/// _saved_memory(nodes): what the nodes of a list hold, one row for each storage; see SavedMemory::rows.
PyObject* py_saved_memory(PyObject*, PyObject* nodes) {
  return guarded([&] {
    if (!PyList_Check(nodes)) fail(ErrorKind::Type, "expected a list of nodes; got ", Py_TYPE(nodes)->tp_name);
    std::vector<std::pair<const Node*, size_t>> oldest_first;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(nodes); ++i)
      oldest_first.emplace_back(&to_node(PyList_GET_ITEM(nodes, i)), static_cast<size_t>(i));
    std::stable_sort(oldest_first.begin(), oldest_first.end(),
                     [](auto& a, auto& b) { return a.first->sequence < b.first->sequence; });
    SavedMemory memory;
    for (auto& [node, index] : oldest_first) memory.visit(index, *node);
    return memory.rows().take();
  });
}

PyMethodDef functions[] = {
    {"_gradient_edge", py_gradient_edge, METH_O, "Where the gradient of a tensor goes: (node, output number)."},
    {"_reached_nodes", py_reached_nodes, METH_O, "The nodes that backward from a tuple of nodes would pass."},
    {"_describe_node", py_describe_node, METH_O, "(outputs, file, line, function, freed) of a node."},
    {"_saved_memory", py_saved_memory, METH_O, "The storages that a list of nodes holds."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void init_inspect(PyObject* module) { check(PyModule_AddFunctions(module, functions) == 0); }

}  // namespace adjoint::python
