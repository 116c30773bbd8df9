#include "tape/hooks.h"

#include <algorithm>

#include "core/batched.h"
#include "core/lock.h"
#include "core/mode.h"
#include "op/transform.h"
#include "tape/anomaly.h"
#include "tape/history.h"

namespace adjoint {
namespace {

[[noreturn]] void fail_python() { throw Error(ErrorKind::Python, ""); }

Object as_argument(const TensorPtr& tensor) { return Object::borrow(tensor ? as_object(tensor.get()) : Py_None); }

Object as_tuple(const TensorPtr* tensors, uint32_t n) {
  Object tuple = Object::steal(PyTuple_New(n));
  if (!tuple) fail_python();
  for (uint32_t i = 0; i < n; ++i) PyTuple_SET_ITEM(tuple.get(), i, as_argument(tensors[i]).take());
  return tuple;
}

/// Calls f(hook) for a snapshot of the hooks: a hook may remove itself.
template <class F>
void each_hook(PyObject* dict, F&& f) {
  if (!dict) return;
  Object hooks = Object::steal(PyMapping_Values(dict));
  if (!hooks) fail_python();
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(hooks.get()); ++i) f(PyList_GET_ITEM(hooks.get(), i));
}

std::string hook_name(PyObject* hook) {
  Object name = Object::steal(PyObject_GetAttrString(hook, "__name__"));
  const char* text = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : nullptr;
  PyErr_Clear();
  return text ? text : Py_TYPE(hook)->tp_name;
}

/// Takes a hook's answer in place of the gradient.
void replace_gradient(TensorPtr& gradient, PyObject* answer, PyObject* hook) {
  if (answer == Py_None) return;
  if (!is_tensor(answer))
    fail(ErrorKind::Type, "expected Variable, but hook returned '", Py_TYPE(answer)->tp_name,
         "'; return a tensor or None");
  if (!gradient) fail("can't replace a None gradient with a non-None value; return None in its place");
  Tensor* fresh = as_tensor(answer);
  if (!same_sizes(fresh->shape, gradient->shape))
    fail("hook '", hook_name(hook), "' has changed the size of value: from ", to_string(gradient->sizes()), " to ",
         to_string(fresh->sizes()), "; return a gradient of the size that came in");
  if (place_of(fresh->device) != place_of(gradient->device))
    fail("hook '", hook_name(hook), "' has changed the type of value: from device ", device_name(gradient->device.type),
         " to ", device_name(fresh->device.type), "; return a gradient on the device that came in");
  if (fresh->dtype != gradient->dtype)
    fail("hook '", hook_name(hook), "' has changed the type of value (was torch.", info(gradient->dtype).legacy_name,
         "Tensor got torch.", info(fresh->dtype).legacy_name, "Tensor); convert it back with to()");
  gradient = TensorPtr::borrow(fresh);
}

/// Takes a node hook's tuple in place of the gradients; None in it makes a gradient undefined.
void replace_gradients(TensorPtr* gradients, uint32_t n, PyObject* answer, PyObject* hook) {
  if (answer == Py_None) return;
  if (!PyTuple_Check(answer))
    fail(ErrorKind::Type, "expected tuple, but hook returned '", Py_TYPE(answer)->tp_name,
         "'; return a tuple of gradients or None");
  if (PyTuple_GET_SIZE(answer) != static_cast<Py_ssize_t>(n))
    fail("hook '", hook_name(hook), "' has returned an incorrect number of values (got ", PyTuple_GET_SIZE(answer),
         ", but expected ", n, "); return one for each gradient that came in");
  for (uint32_t i = 0; i < n; ++i) {
    PyObject* item = PyTuple_GET_ITEM(answer, i);
    if (item == Py_None) {
      gradients[i].reset();
    } else {
      replace_gradient(gradients[i], item, hook);
    }
  }
}

/// Runs f; in anomaly mode an exception is explained by where `node` was made.
template <class F>
void explained(Node& node, F&& f) {
  if (!(anomaly_flags & kAnomaly)) return f();
  ApplyingNode applying(node);
  try {
    f();
  } catch (...) {
    explain_failure(node);
    throw;
  }
}

thread_local RunningBackward* running = nullptr;
uint64_t last_run = 0;

void apply_node(Node& node, TensorPtr* outputs, TensorPtr* edges, const ApplyContext& context) {
  bool any = std::any_of(outputs, outputs + node.n_outputs, [](const TensorPtr& g) { return static_cast<bool>(g); });
  if (any || node.kind->runs_on_undefined()) apply_watched(node, outputs, edges, context);
  Tensor* leaf = accumulated_leaf(node);
  if (!leaf || !leaf->extra) return;
  each_hook(leaf->extra->post_hooks, [&](PyObject* hook) {
    Object answer = Object::steal(call_python(hook, as_object(leaf)));
    if (!answer) fail_python();
    if (answer.get() != Py_None && !is_tensor(answer.get()))
      fail(ErrorKind::Type, "expected Variable, but hook returned '", Py_TYPE(answer.get())->tp_name,
           "'; a post accumulate grad hook returns None");
    if (answer.get() != Py_None) fail("Tensor post accumulate grad hooks should return None; change .grad itself");
  });
}

}  // namespace

RunningBackward::RunningBackward() : id_(++last_run), outer_(std::exchange(running, this)) {}
RunningBackward::~RunningBackward() { running = outer_; }
RunningBackward* RunningBackward::current() { return running; }
void RunningBackward::set_current(RunningBackward* run) { running = run; }
void RunningBackward::run_callbacks() {
  executing_ = nullptr;
  for (size_t i = 0; i < callbacks_.size(); ++i) {
    Object callback = std::move(callbacks_[i]);
    if (!Object::steal(call_python(callback.get()))) fail_python();
  }
}

PyObject* new_hook_table() {
  PyObject* table = PyODict_New();
  if (!table) fail_python();
  return table;
}

void run_tensor_hooks(Node& node, TensorPtr* outputs, bool create_graph) {
  explained(node, [&] {
    for (size_t k = 0; k < node.extra->tensor_hooks.size(); ++k) {
      auto [index, dict] = node.extra->tensor_hooks[k];
      each_hook(dict, [&](PyObject* hook) {
        Object answer = Object::steal(call_python(hook, as_argument(outputs[index]).get()));
        if (!answer) fail_python();
        replace_gradient(outputs[index], answer.get(), hook);
      });
    }
    for (size_t k = 0; k < node.extra->retained.size(); ++k) {
      auto [index, reference] = node.extra->retained[k];
      PyObject* tensor = PyWeakref_GetObject(reference);
      if (tensor && tensor != Py_None && outputs[index])
        accumulate_grad(as_tensor(tensor), outputs[index], create_graph);
    }
  });
}

void apply_with_hooks(Node& node, TensorPtr* outputs, TensorPtr* edges, const ApplyContext& context) {
  explained(node, [&] {
    PyObject* pre_hooks = node.extra ? node.extra->pre_hooks : nullptr;
    each_hook(pre_hooks, [&](PyObject* hook) {
      Object answer = Object::steal(call_python(hook, as_tuple(outputs, node.n_outputs).get()));
      if (!answer) fail_python();
      replace_gradients(outputs, node.n_outputs, answer.get(), hook);
    });
    PyObject* post_hooks = node.extra ? node.extra->post_hooks : nullptr;
    Object incoming = post_hooks ? as_tuple(outputs, node.n_outputs) : Object();
    apply_node(node, outputs, edges, context);
    each_hook(post_hooks, [&](PyObject* hook) {
      Object outgoing = as_tuple(edges, node.n_edges);
      Object answer = Object::steal(call_python(hook, outgoing.get(), incoming.get()));
      if (!answer) fail_python();
      replace_gradients(edges, node.n_edges, answer.get(), hook);
    });
    if (anomaly_flags & kAnomaly) check_gradients(node, edges);
  });
}

PyObject* tensor_hook_dict(Tensor* tensor) {
  Edge edge = gradient_edge(tensor);
  NodePtr node = NodePtr::steal(edge.node);
  TensorExtra& extra = extra_of(tensor);
  if (!extra.hooks) {
    extra.hooks = new_hook_table();
    extra_of(*node).tensor_hooks.emplace_back(edge.index, Py_NewRef(extra.hooks));
  }
  return extra.hooks;
}

void set_tensor_hooks(Tensor* tensor, PyObject* dict) {
  TensorExtra& extra = extra_of(tensor);
  Edge edge = requires_grad(tensor) ? gradient_edge(tensor) : Edge{nullptr, 0};
  NodePtr node = NodePtr::steal(edge.node);
  if (node && extra.hooks) {
    std::erase_if(extra_of(*node).tensor_hooks, [&](const auto& entry) {
      if (entry.second != extra.hooks) return false;
      Py_DECREF(entry.second);
      return true;
    });
  }
  Object before = Object::steal(std::exchange(extra.hooks, Py_XNewRef(dict)));
  if (node && dict) extra_of(*node).tensor_hooks.emplace_back(edge.index, Py_NewRef(dict));
}

/// Asks output `output_nr` of the tensor's grad_fn for its gradient.
static void retain_at_node(Tensor* tensor) {
  Object reference = Object::steal(PyWeakref_NewRef(as_object(tensor), nullptr));
  if (!reference) fail_python();
  extra_of(*tensor->grad_fn).retained.emplace_back(tensor->output_nr, reference.take());
}

void retain_grad(Tensor* tensor) {
  if (!requires_grad(tensor))
    fail("can't retain_grad on Tensor that has requires_grad=False; no gradient will reach it");
  if (is_leaf(tensor) || (tensor->flags & kRetainsGrad)) return;
  retain_at_node(tensor);
  tensor->flags |= kRetainsGrad;
}

void move_retained_grad(Tensor* tensor, Node* before) {
  if (before && before->extra) {
    std::erase_if(before->extra->retained, [&](const auto& entry) {
      if (PyWeakref_GetObject(entry.second) != as_object(tensor)) return false;
      Py_DECREF(entry.second);
      return true;
    });
  }
  if (tensor->grad_fn) retain_at_node(tensor);
}

}  // namespace adjoint
