// A node of the tape: what an op leaves behind for backward. Edges, saved values and output metadata lie inline.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/streams.h"
#include "core/tensor.h"
#include "tape/saved_value.h"

namespace adjoint {

struct Node;

inline PyObject* as_object(Node* node) { return reinterpret_cast<PyObject*>(node); }
inline void retain(Node* node) { Py_INCREF(as_object(node)); }
inline void release(Node* node) { Py_DECREF(as_object(node)); }
using NodePtr = Ref<Node>;

/// Where the gradient of an input goes: output `index` of `node` (owned). A null node: no gradient is wanted.
struct Edge {
  Node* node;
  uint32_t index;
};

/// What an output of the forward looked like; a gradient is summed and cast to it. `pending` collects the gradient
/// while an engine runs that keeps its state in the nodes.
struct OutputMeta {
  Shape* shape;
  Tensor* pending;
  DType dtype;
  Device device;
  bool any_dtype;   ///< of a leaf whose .grad may be of any type: nothing is cast
  uint32_t stream;  ///< of the device, on which it was made: a number of core/streams.h
};

/// What to compute in one application of a node.
struct ApplyContext {
  bool create_graph;
  bool keep_saved;     ///< retain_graph
  const bool* wanted;  ///< per edge: is a gradient needed?
  bool grad_mode;      ///< the caller's grad mode
};

/// The behaviour shared by all nodes of a kind: one object per op, plus AccumulateGrad, CopySlices and custom
/// Functions.
class NodeKind {
 public:
  virtual ~NodeKind() = default;
  const std::string& name() const { return name_; }
  /// Computes the gradients of the edges from those of the outputs (null: undefined, counts as zero).
  virtual void apply(Node& node, TensorPtr* outputs, TensorPtr* edges, const ApplyContext& context) const = 0;
  /// Frees what only backward needs; the node stays in the graph. Called after apply unless retain_graph.
  virtual void release_saved(Node& node) const;
  /// Whether apply wants to be called even if every incoming gradient is undefined.
  virtual bool runs_on_undefined() const { return false; }
  /// Python attribute (`_saved_*`, `variable`), or null without an error set when there is none.
  virtual Object attribute(Node&, const char*) const { return {}; }
  virtual std::vector<std::string> attribute_names() const { return {}; }
  /// The Python type of nodes of this kind, made at first use; its __name__ is the kind's name.
  PyTypeObject* python_type() const;

 protected:
  explicit NodeKind(std::string name) : name_(std::move(name)) {}

 private:
  friend PyTypeObject* make_node_type(NodeKind& kind, PyObject* base, const char* module);
  std::string name_;
  mutable PyTypeObject* python_type_ = nullptr;
};

/// Makes the Python type of the nodes of one kind, derived from `base`, and tells the kind, which does not own it.
PyTypeObject* make_node_type(NodeKind& kind, PyObject* base, const char* module);

/// What few nodes need.
struct NodeExtra {
  PyObject* metadata = nullptr;    ///< dict, owned
  PyObject* pre_hooks = nullptr;   ///< dict id -> callable(grad_outputs), owned
  PyObject* post_hooks = nullptr;  ///< dict id -> callable(grad_inputs, grad_outputs), owned
  /// Hooks of the tensors that are outputs of this node: (output, dict), dict owned.
  std::vector<std::pair<uint32_t, PyObject*>> tensor_hooks;
  /// Non-leaf tensors that want their gradient kept (retain_grad): weak references, by output.
  std::vector<std::pair<uint32_t, PyObject*>> retained;
  ~NodeExtra();
};

enum NodeFlags : uint16_t {
  kReleased = 1,           ///< saved values were freed by a backward
  kNeeded = 2,             ///< the running engine must execute it (valid with the current stamp)
  kCaptured = 4,           ///< its incoming gradient is asked for (valid with the current stamp)
  kBareGradients = 8,      ///< a custom Function that gets None, not zeros, for undefined gradients
  kRecordedBackward = 16,  ///< a custom Function whose backward is running and recorded
  kBareSaved = 32,         ///< a custom Function whose backward is running under transforms, and not recorded
  kStarted = 64,           ///< a root that the running engine has begun with (valid with the current stamp)
  kPoisoned = 128,         ///< an AccumulateGrad whose leaf has become another tensor; see exchange_tensors
  kAccessed = 256,         ///< a custom Function that gives its saved tensors out once, and has
  kMarked = 512,           ///< the running engine has asked whether it is needed (valid with the current stamp)
};

struct Node {
  PyObject_VAR_HEAD
  const NodeKind* kind;
  uint64_t sequence;  ///< newer nodes have larger numbers; AccumulateGrad has the largest
  NodeExtra* extra;
  PyCodeObject* code;   ///< the Python code that made the node (owned), or null
  int32_t instruction;  ///< byte offset in it
  uint32_t n_outputs;
  uint32_t n_edges;
  uint16_t n_saved;
  uint16_t flags;
  uint32_t dependencies;  ///< engine state: edges into this node not yet processed
  uint32_t stamp;         ///< engine state: the run in which it was visited
  /// OutputMeta[n_outputs], Edge[n_edges], SavedValue[n_saved] follow.

  OutputMeta* outputs() { return reinterpret_cast<OutputMeta*>(this + 1); }
  const OutputMeta* outputs() const { return reinterpret_cast<const OutputMeta*>(this + 1); }
  Edge* edges() { return reinterpret_cast<Edge*>(outputs() + n_outputs); }
  const Edge* edges() const { return reinterpret_cast<const Edge*>(outputs() + n_outputs); }
  SavedValue* saved() { return reinterpret_cast<SavedValue*>(edges() + n_edges); }
  const SavedValue* saved() const { return reinterpret_cast<const SavedValue*>(edges() + n_edges); }
  bool released() const { return flags & kReleased; }
};

inline constexpr uint64_t kAccumulateSequence = UINT64_MAX;

/// A node with empty outputs, edges and saved values, carrying the current line of Python. With `with_dict` there is
/// room behind them for the attributes of an instance, for kinds whose type says so (see python/function.cpp).
NodePtr make_node(const NodeKind& kind, uint32_t n_outputs, uint32_t n_edges, uint32_t n_saved, bool with_dict = false);

/// The number that the next node will get.
uint64_t next_sequence_number();
/// The type of all nodes.
extern PyTypeObject* node_base_type;
bool is_node(PyObject* object);
/// Makes the base type of all nodes; called once at import. `shown`: what Python sees of a node.
PyTypeObject* init_node_type(std::span<const PyType_Slot> shown);

/// Notes what output `index` looks like.
inline void set_output_meta(Node& node, uint32_t index, const Tensor* tensor) {
  OutputMeta& meta = node.outputs()[index];
  retain(tensor->shape);
  if (meta.shape) release(meta.shape);
  meta.shape = tensor->shape;
  meta.dtype = tensor->dtype;
  meta.device = tensor->device;
  meta.stream = stream_of(tensor->device);
}
/// Sets edge i to where the gradient of `tensor` goes (nothing when it does not require one).
void set_edge(Node& node, uint32_t i, Tensor* tensor);
NodeExtra& extra_of(Node& node);

/// "file.py:12 in f", or "" when the node does not know its line.
std::string source_line(const Node& node);
std::string source_line(PyCodeObject* code, int instruction);

/// The gradient edge of a tensor that requires grad: its grad_fn, or its AccumulateGrad, which is made if need be.
/// The caller owns the reference to the edge's node.
Edge gradient_edge(Tensor* tensor);
/// What requires_grad says of a tensor that neither is marked nor has a history: true for a view of one that does.
bool base_requires_grad(const Tensor* view);
/// True when recording an op on `tensor` is needed; looks through views whose base changed.
inline bool requires_grad(const Tensor* tensor) {
  return (tensor->flags & kRequiresGrad) || tensor->grad_fn || (tensor->extra && base_requires_grad(tensor));
}
/// grad_fn brought up to date for views (borrowed; null for leaves).
Node* current_grad_fn(Tensor* tensor);
bool is_leaf(Tensor* tensor);

/// The leaf that an AccumulateGrad node accumulates into, or null for other nodes.
Tensor* accumulated_leaf(const Node& node);

/// Makes `tensor` output `index` of `node`.
void set_history(Tensor* tensor, Node* node, uint32_t index);

}  // namespace adjoint
