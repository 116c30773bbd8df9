// What a recorded op does in backward: its saved values, its fused rules, its rules that are calls of other ops, and
// those in Python.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "core/lock.h"
#include "core/mode.h"
#include "core/sparse.h"
#include "core/tangent.h"
#include "kernels/backend.h"
#include "kernels/gathering.h"
#include "op/op.h"
#include "op/overrides.h"
#include "op/recorded.h"
#include "ops/memory.h"
#include "tape/anomaly.h"
#include "tape/geometry.h"
#include "tape/history.h"
#include "types/types.h"

namespace adjoint {
namespace {

TensorPtr zeros_of(const OutputMeta& meta) { return zeros(meta.shape->size_span(), meta.dtype, place_of(meta.device)); }

/// A number as a 0-d tensor of the widest type of its category, for a rule of results of this type: functions of
/// integers, such as log(), would give no more than the default type.
TensorPtr number_tensor(PyObject* number, DType result) {
  Scalar scalar;
  to_scalar(number, &scalar);
  if (scalar.category == Category::Integer && (result == DType::Float64 || result == DType::Complex128))
    return scalar_tensor(static_cast<double>(scalar.integer));
  switch (scalar.category) {
    case Category::Bool: return scalar_tensor(scalar.integer != 0);
    case Category::Integer: return scalar_tensor(scalar.integer);
    case Category::Float: return scalar_tensor(scalar.real);
    case Category::Complex: return scalar_tensor(complex128(scalar.real, scalar.imaginary));
  }
  return {};
}

/// What a rule gets for the gradient of an output; an undefined one counts as zero.
Object gradient_for_rule(const Node& node, const TensorPtr* gradients, uint32_t output, bool create_graph) {
  Tensor* gradient = gradients[output].get();
  if (!gradient) return wrap(zeros_of(node.outputs()[output]));
  if (create_graph || !requires_grad(gradient)) return Object::borrow(as_object(gradient));
  TensorPtr bare = alias(gradient);
  copy_tangents(bare.get(), gradient);
  return wrap(std::move(bare));
}

Object gradients_for_rule(const Node& node, const TensorPtr* gradients, bool create_graph) {
  Object tuple = checked(PyTuple_New(node.n_outputs));
  for (uint32_t i = 0; i < node.n_outputs; ++i)
    PyTuple_SET_ITEM(tuple.get(), i, gradient_for_rule(node, gradients, i, create_graph).take());
  return tuple;
}

thread_local const RuleCall* rule_call = nullptr;

}  // namespace

const RuleCall* running_rule() { return rule_call; }

TensorPtr meta_tensor(Shape* shape, DType dtype) {
  static Storage* nothing = allocate_storage(0, DeviceType::Meta);
  return make_tensor(StoragePtr::borrow(nothing), nothing->data, ShapePtr::borrow(shape), dtype, DeviceType::Meta);
}

uint32_t Op::edge_of_slot(const Node& node, uint8_t slot) const {
  uint32_t edge = 0;
  for (uint8_t candidate : edge_slots) {
    if (candidate == slot) return edge;
    edge += candidate == list_slot ? node.n_edges - static_cast<uint32_t>(edge_slots.size()) + 1 : 1;
  }
  return UINT32_MAX;
}

Object Op::unpack_item(Node& node, uint32_t index, bool with_history) const {
  const SavedItem& item = items[index];
  SavedValue& value = node.saved()[index];
  switch (value.kind()) {
    case SavedValue::Kind::Empty: fail_released(node);
    case SavedValue::Kind::Object:
      // A rule of an elementwise op is written for tensors: a number operand comes as one, in full precision.
      if (kind == Kind::Elementwise && item.index < n_operands)
        return wrap(number_tensor(value.object(), node.outputs()[0].dtype));
      return Object::borrow(value.object());
    case SavedValue::Kind::Meta: return wrap(meta_tensor(value.shape(), value.dtype()));
    case SavedValue::Kind::List: {
      uint32_t edge = with_history ? edge_of_slot(node, item.index) : UINT32_MAX;
      Object tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(value.list_size())));
      for (size_t i = 0; i < value.list_size(); ++i) {
        const SavedValue& entry = value.list_item(i);
        Object unpacked =
            entry.is_tensor()
                ? wrap(entry.unpack_with_edge(node, edge == UINT32_MAX ? nullptr : &node.edges()[edge + i]))
                : Object::borrow(entry.object());
        PyTuple_SET_ITEM(tuple.get(), i, unpacked.take());
      }
      return tuple;
    }
    case SavedValue::Kind::Pieces:
    case SavedValue::Kind::Whole:
    case SavedValue::Kind::Packed: break;
  }
  if (!with_history) return wrap(value.unpack(node));
  if (item.what == SavedItem::What::Output) {
    Edge self{&node, item.index};
    return wrap(value.unpack_with_edge(node, &self));
  }
  uint32_t edge = edge_of_slot(node, item.index);
  return wrap(value.unpack_with_edge(node, edge == UINT32_MAX ? nullptr : &node.edges()[edge]));
}

bool Op::meets_sparse(const Node& node, const TensorPtr* gradients) const {
  if (is_sparse(gradients[0].get())) return true;
  return std::any_of(node.saved(), node.saved() + items.size(), [](const SavedValue& value) {
    return value.is_tensor() && value.device().type == DeviceType::Sparse;
  });
}

TensorPtr Op::run_loop(const Rule& rule, Node& node, const TensorPtr* gradients) const {
  Operand operands[kernels::kMaxInputs];
  // Long work releases the interpreter lock: another thread may then free what this node has saved.
  std::vector<StoragePtr> alive;
  std::vector<TensorPtr> unpacked;
  int n = 0;
  Scalar params[kMaxArguments];
  int n_params = static_cast<int>(arguments.size()) - n_operands;
  for (int i = 0; i < n_params; ++i) params[i] = arguments[n_operands + i].default_scalar;
  for (const RuleParameter& parameter : rule.form.parameters) {
    if (parameter.source == RuleParameter::Source::Gradient) {
      operands[n++].set(gradients[0].get());
      continue;
    }
    const SavedValue& value = node.saved()[parameter.index];
    if (value.kind() == SavedValue::Kind::Empty) fail_released(node);
    const SavedItem& item = items[parameter.index];
    if (value.kind() == SavedValue::Kind::Packed) {
      // The hook may free what this node has saved, too.
      for (const RuleParameter& other : rule.form.parameters)
        if (other.source == RuleParameter::Source::Item)
          if (Storage* storage = node.saved()[other.index].storage()) alive.push_back(StoragePtr::borrow(storage));
      unpacked.push_back(value.unpack(node));
      operands[n++].set(unpacked.back().get());
      continue;
    }
    if (value.is_tensor()) {
      operands[n++].set(value.shape(), value.checked_data(node), value.dtype(), value.device());
      if (WithoutLock::worthwhile(value.shape()->numel)) alive.push_back(StoragePtr::borrow(value.storage()));
      continue;
    }
    Scalar scalar;
    if (!to_scalar(value.object(), &scalar)) fail(name, ": a saved argument is neither a tensor nor a number");
    if (rule.identity_at_one && scalar.category == Category::Integer && scalar.integer == 1) return gradients[0];
    if (item.what == SavedItem::What::Argument && item.index >= n_operands) {
      params[item.index - n_operands] = scalar;
    } else {
      operands[n++].set(scalar);
    }
  }
  return ops::elementwise(*rule.loop, {.name = name.c_str(), .promote_float = options.promote_float, .stored = ~0u},
                          operands, n, params);
}

TensorPtr Op::loop_tangent(const Rule& rule, Tensor* tangent, PyObject* const* slots, Tensor* result) const {
  Operand operands[kernels::kMaxInputs];
  Scalar params[kMaxArguments];
  for (int i = n_operands; i < count; ++i) params[i - n_operands] = arguments[i].default_scalar;
  int n = 0;
  for (const RuleParameter& parameter : rule.form.parameters) {
    if (parameter.source == RuleParameter::Source::Gradient) {
      operands[n++].set(tangent);
      continue;
    }
    const SavedItem& item = items[parameter.index];
    if (item.what == SavedItem::What::Output) {
      operands[n++].set(result);
    } else if (is_tensor(slots[item.index]) && item.index < n_operands) {
      operands[n++].set(as_tensor(slots[item.index]));
    } else {
      Scalar scalar = Arg{slots[item.index], shown.c_str(), item.name.c_str()};
      if (item.index < n_operands) {
        operands[n++].set(scalar);
      } else {
        params[item.index - n_operands] = scalar;
      }
    }
  }
  return ops::elementwise(*rule.loop, {.name = name.c_str(), .promote_float = options.promote_float, .stored = ~0u},
                          operands, n, params);
}

TensorPtr Op::rule_tangent(const Rule& rule, Tensor* tangent, PyObject* const* slots, Tensor* result) const {
  PyObject* args[kMaxArguments * 2];
  Object owned[kMaxArguments * 2];
  size_t n = 0;
  for (const RuleParameter& parameter : rule.form.parameters) {
    if (parameter.source == RuleParameter::Source::Item) {
      const SavedItem& item = items[parameter.index];
      PyObject* value = item.what >= SavedItem::What::Output ? as_object(result) : slots[item.index];
      const bool number = item.index < n_operands && !is_tensor(value);
      owned[n] = number ? wrap(number_tensor(value, result->dtype)) : Object::borrow(value);
    } else {
      owned[n] = Object::borrow(as_object(tangent));
    }
    args[n] = owned[n].get();
    ++n;
  }
  Object answer = checked(call_python(rule.form.callable.get(), args, n, nullptr));
  return TensorPtr::borrow(Arg{answer.get(), name.c_str(), "rule"});
}

/// Note [Rules in Python]: a rule runs in the caller's grad mode, because a signal handler may run in its middle and
/// must see no other. Where no graph of the gradients is wanted, nothing is recorded for another reason: what the rule
/// gets has no history.
Object Op::call_rule(const Rule& rule, Node& node, const TensorPtr* gradients, uint32_t edge,
                     const ApplyContext& context) const {
  PyObject* args[kMaxArguments * 2 + 1];
  Object owned[kMaxArguments * 2];
  int n = 0;
  const RuleForm& form = rule.chosen(context.create_graph || (mode_flags & kFunctional));
  for (const RuleParameter& parameter : form.parameters) {
    switch (parameter.source) {
      case RuleParameter::Source::Gradient:
        owned[n] = gradient_for_rule(node, gradients, parameter.index, context.create_graph);
        break;
      case RuleParameter::Source::Gradients:
        owned[n] = gradients_for_rule(node, gradients, context.create_graph);
        break;
      case RuleParameter::Source::Item: owned[n] = unpack_item(node, parameter.index, context.create_graph); break;
    }
    args[n + 1] = owned[n].get();
    ++n;
  }
  GradModeGuard mode(context.create_graph || context.grad_mode);
  OverridesOff plain_ops(true);
  RuleCall call{context.wanted + edge, node.n_edges - edge};
  const RuleCall* outer = std::exchange(rule_call, &call);
  PyObject* answer = call_python(form.callable.get(), args + 1, n | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
  rule_call = outer;
  return checked(answer);
}

static const Shape* saved_shape(const Node& node, uint8_t index) {
  const SavedValue& meta = node.saved()[index];
  if (meta.kind() == SavedValue::Kind::Empty) fail_released(node);
  return meta.shape();
}
/// Whether a matrix lies column by column.
static bool is_turned(const Shape* shape) {
  return shape->ndim == 2 && shape->strides()[0] == 1 && shape->strides()[1] == shape->sizes()[0];
}

TensorPtr Op::call_directly(const DirectCall& call, Node& node, const TensorPtr* gradients,
                            const ApplyContext& context) const {
  if (!call.op) call.op = &require_op(call.target.c_str());
  PyObject* slots[kMaxArguments];
  Object owned[kMaxArguments];
  for (size_t i = 0; i < call.sources.size(); ++i) {
    const auto [what, index] = call.sources[i];
    switch (what) {
      case DirectCall::What::Default: slots[i] = call.op->defaults[i]; continue;
      case DirectCall::What::Gradient:
        owned[i] = gradient_for_rule(node, gradients, index, context.create_graph);
        break;
      case DirectCall::What::Item: owned[i] = unpack_item(node, index, context.create_graph); break;
      case DirectCall::What::Shape: owned[i] = make_size(saved_shape(node, index)->size_span()); break;
      case DirectCall::What::Turned: slots[i] = is_turned(saved_shape(node, index)) ? Py_True : Py_False; continue;
    }
    slots[i] = owned[i].get();
  }
  // As for rules in Python.
  GradModeGuard mode(context.create_graph || context.grad_mode);
  OverridesOff plain_ops(true);
  Object answer = call.op->call(slots);
  return TensorPtr::borrow(Arg{answer.get(), name.c_str(), "rule"});
}

void Op::apply_list_rule(const Rule& rule, Node& node, const TensorPtr* gradients, TensorPtr* edges, uint32_t edge,
                         uint32_t count, const ApplyContext& context) const {
  Object answer = call_rule(rule, node, gradients, edge, context);
  Object sequence = checked(PySequence_Fast(answer.get(), "the rule of a list of tensors must return a sequence"));
  if (PySequence_Fast_GET_SIZE(sequence.get()) != static_cast<Py_ssize_t>(count))
    fail(name, ": the rule gave ", PySequence_Fast_GET_SIZE(sequence.get()), " gradients for ", count, " tensors");
  for (uint32_t i = 0; i < count; ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(sequence.get(), i);
    if (item != Py_None) edges[edge + i] = TensorPtr::borrow(Arg{item, name.c_str(), "rule"});
  }
}

/// The gradient of what was copied from another device goes back there.
static void return_to_devices(Node& node, TensorPtr* edges) {
  for (uint32_t i = 0; i < node.n_edges; ++i) {
    const Edge& edge = node.edges()[i];
    if (!edges[i] || !edge.node) continue;
    Device home = place_of(edge.node->outputs()[edge.index].device);
    if (place_of(edges[i]->device) != home) edges[i] = moved_recorded(edges[i].get(), home);
  }
}

bool Op::all_by_loops(const Node& node, const TensorPtr* gradients, const ApplyContext& context) const {
  if (kind != Kind::Elementwise || context.create_graph || (mode_flags & kFunctional)) return false;
  if (sparse_in_use && meets_sparse(node, gradients)) return false;
  // What a hook unpacks lives no longer than its own computation.
  for (size_t i = 0; i < items.size(); ++i)
    if (node.saved()[i].kind() == SavedValue::Kind::Packed) return false;
  return std::ranges::all_of(edge_slots, [&](uint8_t slot) { return rules[slot].loop || rules[slot].identity; });
}

void Op::apply(Node& node, TensorPtr* outputs, TensorPtr* edges, const ApplyContext& context) const {
  if (outputs[0] && works_behind(outputs[0]->device) && all_by_loops(node, outputs, context)) [[unlikely]] {
    kernels::Gathering together(outputs[0]->device);
    apply_rules(node, outputs, edges, context);
    together.end();
  } else {
    apply_rules(node, outputs, edges, context);
  }
}

void Op::apply_rules(Node& node, TensorPtr* outputs, TensorPtr* edges, const ApplyContext& context) const {
  uint32_t edge = 0;
  for (uint8_t slot : edge_slots) {
    const Rule& rule = rules[slot];
    if (slot == list_slot) {
      uint32_t count = node.n_edges - static_cast<uint32_t>(edge_slots.size()) + 1;
      if (std::any_of(context.wanted + edge, context.wanted + edge + count, [](bool w) { return w; }))
        apply_list_rule(rule, node, outputs, edges, edge, count, context);
      edge += count;
      continue;
    }
    if (context.wanted[edge] && !edges[edge]) {
      if (!rule.refusal.empty())
        fail(ErrorKind::NotImplemented, rule.refusal, " detach() the argument if no gradient is wanted");
      if (!rule.differentiable)
        fail("derivative for aten::", name, " is not implemented; detach() its argument '",
             PyUnicode_AsUTF8(arguments[slot].name.get()), "' if no gradient is wanted");
      if (rule.identity) {
        edges[edge] = outputs[0];
      } else if (rule.zero) {
        edges[edge] = zeros_of(node.outputs()[0]);
      } else if (rule.loop && !context.create_graph && outputs[0] && !(mode_flags & kFunctional) &&
                 !(sparse_in_use && meets_sparse(node, outputs))) {
        edges[edge] = run_loop(rule, node, outputs);
      } else if (!rule.direct.target.empty() && !rule.fused.callable && !(anomaly_flags & kAnomaly)) {
        edges[edge] = call_directly(rule.direct, node, outputs, context);
      } else {
        Object answer = call_rule(rule, node, outputs, edge, context);
        if (PyTuple_Check(answer.get())) {
          // The gradients of this argument and of those after it, whose own rules are not asked.
          auto count = std::min<uint32_t>(static_cast<uint32_t>(PyTuple_GET_SIZE(answer.get())), node.n_edges - edge);
          for (uint32_t i = 0; i < count; ++i)
            if (context.wanted[edge + i])
              edges[edge + i] = TensorPtr::borrow(Arg{PyTuple_GET_ITEM(answer.get(), i), name.c_str(), "rule"});
        } else if (answer.get() != Py_None) {
          edges[edge] = TensorPtr::borrow(Arg{answer.get(), name.c_str(), "rule"});
        }
      }
    }
    ++edge;
  }
  if (crosses) return_to_devices(node, edges);
}

void Op::release_saved(Node& node) const {
  NodeKind::release_saved(node);
  // A number in a tensor's place goes like a tensor: x * 2 refuses a second backward as x * y does.
  for (uint32_t i = 0; kind == Kind::Elementwise && i < items.size(); ++i) {
    SavedValue& value = node.saved()[i];
    if (items[i].what != SavedItem::What::Argument || items[i].index >= n_operands) continue;
    if (value.kind() != SavedValue::Kind::Object) continue;
    value.clear();
    node.flags |= kReleased;
  }
}

Object Op::attribute(Node& node, const char* attribute) const {
  std::string_view text = attribute;
  if (!text.starts_with("_saved_")) return {};
  text.remove_prefix(7);
  if (text == "result") text = "out";
  if (text == "self") text = "input";
  for (uint32_t i = 0; i < items.size(); ++i) {
    const SavedItem& item = items[i];
    if (item.name != text || item.what == SavedItem::What::ArgumentMeta) continue;
    if (node.saved()[i].kind() == SavedValue::Kind::Empty && !node.released()) return Object::borrow(Py_None);
    return unpack_item(node, i, true);
  }
  return {};
}

std::vector<std::string> Op::attribute_names() const {
  std::vector<std::string> names;
  for (const SavedItem& item : items) {
    if (item.what == SavedItem::What::ArgumentMeta || item.what == SavedItem::What::OutputMeta) continue;
    std::string shown = item.name == "input" ? "self" : item.name == "out" ? "result" : item.name;
    names.push_back("_saved_" + shown);
  }
  return names;
}

}  // namespace adjoint
