#include "tape/hooks.h"

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
  Object hooks = Object::steal(PyDict_Values(dict));
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
  Tensor* fresh = as_tensor(answer);
  if (gradient && !same_sizes(fresh->shape, gradient->shape))
    fail("hook '", hook_name(hook), "' has changed the size of value: from ", to_string(gradient->sizes()), " to ",
         to_string(fresh->sizes()));
  if (gradient && fresh->dtype != gradient->dtype)
    fail("hook '", hook_name(hook), "' has changed the type of value (was torch.", info(gradient->dtype).legacy_name,
         "Tensor got torch.", info(fresh->dtype).legacy_name, "Tensor)");
  gradient = TensorPtr::borrow(fresh);
}

/// Takes a node hook's tuple in place of the gradients.
void replace_gradients(TensorPtr* gradients, uint32_t n, PyObject* answer, PyObject* hook) {
  if (answer == Py_None) return;
  if (n == 1 && is_tensor(answer)) return replace_gradient(gradients[0], answer, hook);
  Object items = Object::steal(PySequence_Fast(answer, "a node's hook must return None or a tuple of tensors"));
  if (!items) fail_python();
  if (PySequence_Fast_GET_SIZE(items.get()) != static_cast<Py_ssize_t>(n))
    fail("hook '", hook_name(hook), "' has returned an incorrect number of values (got ",
         PySequence_Fast_GET_SIZE(items.get()), ", but expected ", n, ")");
  for (uint32_t i = 0; i < n; ++i) replace_gradient(gradients[i], PySequence_Fast_GET_ITEM(items.get(), i), hook);
}

}  // namespace

void run_tensor_hooks(Node& node, TensorPtr* outputs, bool create_graph) {
  for (size_t k = 0; k < node.extra->tensor_hooks.size(); ++k) {
    auto [index, dict] = node.extra->tensor_hooks[k];
    if (!outputs[index]) continue;
    each_hook(dict, [&](PyObject* hook) {
      Object answer = Object::steal(PyObject_CallOneArg(hook, as_object(outputs[index].get())));
      if (!answer) fail_python();
      replace_gradient(outputs[index], answer.get(), hook);
    });
  }
  for (auto& [index, reference] : node.extra->retained) {
    PyObject* tensor = PyWeakref_GetObject(reference);
    if (tensor && tensor != Py_None && outputs[index]) accumulate_grad(as_tensor(tensor), outputs[index], create_graph);
  }
}

void apply_with_hooks(Node& node, TensorPtr* outputs, TensorPtr* edges, const ApplyContext& context) {
  each_hook(node.extra->pre_hooks, [&](PyObject* hook) {
    Object answer = Object::steal(PyObject_CallOneArg(hook, as_tuple(outputs, node.n_outputs).get()));
    if (!answer) fail_python();
    replace_gradients(outputs, node.n_outputs, answer.get(), hook);
  });
  Object incoming = node.extra->post_hooks ? as_tuple(outputs, node.n_outputs) : Object();
  node.kind->apply(node, outputs, edges, context);
  each_hook(node.extra->post_hooks, [&](PyObject* hook) {
    Object outgoing = as_tuple(edges, node.n_edges);
    Object answer = Object::steal(PyObject_CallFunctionObjArgs(hook, outgoing.get(), incoming.get(), nullptr));
    if (!answer) fail_python();
    replace_gradients(edges, node.n_edges, answer.get(), hook);
  });
  Tensor* leaf = accumulated_leaf(node);
  if (leaf && leaf->extra && leaf->extra->post_hooks) {
    each_hook(leaf->extra->post_hooks, [&](PyObject* hook) {
      Object answer = Object::steal(PyObject_CallOneArg(hook, as_object(leaf)));
      if (!answer) fail_python();
    });
  }
}

PyObject* tensor_hook_dict(Tensor* tensor) {
  TensorExtra& extra = extra_of(tensor);
  if (extra.hooks) return extra.hooks;
  Object dict = Object::steal(PyDict_New());
  if (!dict) fail_python();
  Edge edge = gradient_edge(tensor);
  NodePtr node = NodePtr::steal(edge.node);
  Py_INCREF(dict.get());
  extra_of(*node).tensor_hooks.emplace_back(edge.index, dict.get());
  extra.hooks = dict.take();
  return extra.hooks;
}

void retain_grad(Tensor* tensor) {
  if (!requires_grad(tensor)) fail("can't retain_grad on Tensor that has requires_grad=False");
  if (is_leaf(tensor) || (tensor->flags & kRetainsGrad)) return;
  Object reference = Object::steal(PyWeakref_NewRef(as_object(tensor), nullptr));
  if (!reference) fail_python();
  Node* node = current_grad_fn(tensor);
  extra_of(*node).retained.emplace_back(tensor->output_nr, reference.take());
  tensor->flags |= kRetainsGrad;
}

}  // namespace adjoint
