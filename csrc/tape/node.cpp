// Nodes: allocation from free lists, iterative destruction, their Python type.
#include "tape/node.h"

#include <new>

#include "core/help.h"
#include "core/lock.h"
#include "core/mode.h"
#include "core/source_line.h"
#include "tape/anomaly.h"
#include "tape/history.h"

namespace adjoint {

PyTypeObject* node_base_type = nullptr;

namespace {

uint64_t next_sequence = 0;

// Nodes of a size, kept for reuse; the size is counted in words of 8 bytes behind the fixed part.
constexpr int kFreeSizes = 64;
constexpr int kFreePerSize = 1024;
struct FreeNodes {
  Node* items[kFreePerSize];
  int count = 0;
};
FreeNodes free_nodes[kFreeSizes];

static_assert(sizeof(OutputMeta) % 8 == 0 && sizeof(Edge) % 8 == 0 && sizeof(SavedValue) % 8 == 0);

// All node types have the same layout, so a recycled node may change its type.
Node* allocate_node(PyTypeObject* type, size_t words) {
  if (words < kFreeSizes && free_nodes[words].count > 0) {
    Node* node = free_nodes[words].items[--free_nodes[words].count];
    PyObject_InitVar(reinterpret_cast<PyVarObject*>(node), type, static_cast<Py_ssize_t>(words));
    return node;
  }
  Node* node = PyObject_GC_NewVar(Node, type, static_cast<Py_ssize_t>(words));
  if (!node) throw Error(ErrorKind::Python, "");
  return node;
}

/// Where a node of a type with instance attributes keeps them: in its last word. Null for other nodes.
PyObject** attributes_of(Node* node) {
  if (!Py_TYPE(as_object(node))->tp_dictoffset) return nullptr;
  return reinterpret_cast<PyObject**>(node + 1) + Py_SIZE(node) - 1;
}

void drop_references(Node* node) {
  forget_accumulator(*node);
  if (PyObject** attributes = attributes_of(node)) Py_CLEAR(*attributes);
  for (uint32_t i = 0; i < node->n_saved; ++i) node->saved()[i].clear();
  for (uint32_t i = 0; i < node->n_edges; ++i) {
    Node* next = std::exchange(node->edges()[i].node, nullptr);
    if (next) release(next);
  }
  for (uint32_t i = 0; i < node->n_outputs; ++i) {
    Tensor* pending = std::exchange(node->outputs()[i].pending, nullptr);
    if (pending) release(pending);
  }
  delete std::exchange(node->extra, nullptr);
}

void destroy_node(Node* node) {
  drop_references(node);
  for (uint32_t i = 0; i < node->n_outputs; ++i)
    if (node->outputs()[i].shape) release(node->outputs()[i].shape);
  Py_XDECREF(reinterpret_cast<PyObject*>(node->code));
  PyTypeObject* type = Py_TYPE(as_object(node));
  auto words = static_cast<size_t>(Py_SIZE(node));
  if (kReuseMemory && words < kFreeSizes && free_nodes[words].count < kFreePerSize) {
    free_nodes[words].items[free_nodes[words].count++] = node;
  } else {
    PyObject_GC_Del(node);
  }
  Py_DECREF(type);
}

/// Note [Iterative teardown]: destroying a node may drop the last reference to the next one. The outermost destruction
/// works through a list, so that a chain of a million nodes needs no stack.
std::vector<Node*> doomed;
bool destroying = false;
constexpr size_t kDoomedKept = 4096;  // room that stays for the next time

void node_dealloc(PyObject* self) {
  auto* node = reinterpret_cast<Node*>(self);
  if (park_accumulator(*node)) return;
  PyObject_GC_UnTrack(self);
  if (destroying) {
    doomed.push_back(node);
    return;
  }
  destroying = true;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  in_python([&] {
    destroy_node(node);
    while (!doomed.empty()) {
      node = doomed.back();
      doomed.pop_back();
      destroy_node(node);
    }
  });
  if (doomed.capacity() > kDoomedKept) std::vector<Node*>().swap(doomed);
  destroying = false;
  PyErr_Restore(type, value, traceback);
}

int node_traverse(PyObject* self, visitproc visit, void* arg) {
  auto* node = reinterpret_cast<Node*>(self);
  Py_VISIT(Py_TYPE(self));
  if (PyObject** attributes = attributes_of(node)) Py_VISIT(*attributes);
  for (uint32_t i = 0; i < node->n_edges; ++i) Py_VISIT(as_object(node->edges()[i].node));
  for (uint32_t i = 0; i < node->n_outputs; ++i) Py_VISIT(as_object(node->outputs()[i].pending));
  for (uint32_t i = 0; i < node->n_saved; ++i)
    if (int result = node->saved()[i].traverse(visit, arg)) return result;
  if (node->extra) {
    Py_VISIT(node->extra->metadata);
    Py_VISIT(node->extra->pre_hooks);
    Py_VISIT(node->extra->post_hooks);
    for (auto& [index, hooks] : node->extra->tensor_hooks) Py_VISIT(hooks);
    for (auto& [index, reference] : node->extra->retained) Py_VISIT(reference);
  }
  return 0;
}

int node_clear(PyObject* self) {
  drop_references(reinterpret_cast<Node*>(self));
  return 0;
}

}  // namespace

uint64_t next_sequence_number() { return next_sequence; }

NodeExtra::~NodeExtra() {
  Py_XDECREF(metadata);
  Py_XDECREF(pre_hooks);
  Py_XDECREF(post_hooks);
  for (auto& [index, hooks] : tensor_hooks) Py_DECREF(hooks);
  for (auto& [index, reference] : retained) Py_DECREF(reference);
}

void NodeKind::release_saved(Node& node) const {
  bool released = false;
  for (uint32_t i = 0; i < node.n_saved; ++i) {
    SavedValue& value = node.saved()[i];
    // Plain arguments stay: a second backward fails only where a tensor is missing.
    if (value.is_tensor() || value.kind() == SavedValue::Kind::List) {
      value.clear();
      released = true;
    }
  }
  if (released) node.flags |= kReleased;
}

NodePtr make_node(const NodeKind& kind, uint32_t n_outputs, uint32_t n_edges, uint32_t n_saved, bool with_dict) {
  size_t words = (n_outputs * sizeof(OutputMeta) + n_edges * sizeof(Edge) + n_saved * sizeof(SavedValue)) / 8;
  words += with_dict;
  Node* node = allocate_node(kind.python_type(), words);
  node->kind = &kind;
  node->sequence = next_sequence++;
  node->extra = nullptr;
  node->n_outputs = n_outputs;
  node->n_edges = n_edges;
  node->n_saved = static_cast<uint16_t>(n_saved);
  node->flags = 0;
  node->dependencies = 0;
  node->stamp = 0;
  memset(static_cast<void*>(node + 1), 0, words * 8);
  node->instruction = 0;
  node->code = adjoint_current_code(&node->instruction);
  Py_XINCREF(reinterpret_cast<PyObject*>(node->code));
  PyObject_GC_Track(node);
  NodePtr made = NodePtr::steal(node);
  if (anomaly_flags & kAnomaly) [[unlikely]]
    record_making(*node);
  return made;
}

PyTypeObject* make_node_type(NodeKind& kind, PyObject* base, const char* module) {
  // Given again, so that CPython does not put its slower subtype_dealloc in between.
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(node_dealloc)},
                         {Py_tp_traverse, reinterpret_cast<void*>(node_traverse)},
                         {Py_tp_clear, reinterpret_cast<void*>(node_clear)},
                         {0, nullptr}};
  std::string qualified = std::string(module) + "." + kind.name();
  PyType_Spec spec = {qualified.c_str(), 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};
  Object bases = Object::steal(PyTuple_Pack(1, base));
  auto* type = reinterpret_cast<PyTypeObject*>(bases ? PyType_FromSpecWithBases(&spec, bases.get()) : nullptr);
  if (!type) throw Error(ErrorKind::Python, "");
  type->tp_name = kind.name().c_str();  // as torch names it in messages; __module__ has been set
  return kind.python_type_ = type;
}

PyTypeObject* NodeKind::python_type() const {
  if (!python_type_)
    make_node_type(const_cast<NodeKind&>(*this), reinterpret_cast<PyObject*>(node_base_type), "adjoint.autograd");
  return python_type_;
}

bool is_node(PyObject* object) { return PyType_IsSubtype(Py_TYPE(object), node_base_type); }

void set_edge(Node& node, uint32_t i, Tensor* tensor) { node.edges()[i] = input_edge(tensor); }

NodeExtra& extra_of(Node& node) {
  if (!node.extra) node.extra = new NodeExtra;
  return *node.extra;
}

std::string source_line(PyCodeObject* code, int instruction) {
  if (!code) return "";
  int line = PyCode_Addr2Line(code, instruction);
  const char* file = PyUnicode_AsUTF8(code->co_filename);
  const char* function = PyUnicode_AsUTF8(code->co_name);
  if (!file || !function) {
    PyErr_Clear();
    return "";
  }
  return std::string(file) + ":" + std::to_string(line) + " in " + function;
}

std::string source_line(const Node& node) { return source_line(node.code, node.instruction); }

PyTypeObject* init_node_type(std::span<const PyType_Slot> shown) {
  std::vector<PyType_Slot> slots = {
      {Py_tp_dealloc, reinterpret_cast<void*>(node_dealloc)},
      {Py_tp_traverse, reinterpret_cast<void*>(node_traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(node_clear)},
      {Py_tp_doc, const_cast<char*>(help::kNode)},
  };
  slots.insert(slots.end(), shown.begin(), shown.end());
  slots.push_back({0, nullptr});
  PyType_Spec spec = {"adjoint.autograd.Node", sizeof(Node), 8,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                      slots.data()};
  node_base_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return node_base_type;
}

}  // namespace adjoint
