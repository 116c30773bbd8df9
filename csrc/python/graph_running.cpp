#include "python/graph_running.h"

#include "tape/history.h"
#include "tape/hooks.h"

namespace adjoint::python {
namespace {

PyObject* py_current_node(PyObject*, PyObject*) {
  RunningBackward* run = RunningBackward::current();
  return Py_NewRef(run && run->executing() ? as_object(run->executing()) : Py_None);
}

PyObject* py_task_id(PyObject*, PyObject*) {
  RunningBackward* run = RunningBackward::current();
  return PyLong_FromLongLong(run ? static_cast<long long>(run->id()) - 1 : -1);
}

PyObject* py_keeps_graph(PyObject*, PyObject*) {
  RunningBackward* run = RunningBackward::current();
  return PyBool_FromLong(!run || run->keeps_graph());
}

PyObject* py_will_execute(PyObject*, PyObject* node) {
  return guarded([&] {
    if (!is_node(node)) fail("_will_engine_execute_node expects an grad_fn, but got ", Py_TYPE(node)->tp_name);
    RunningBackward* run = RunningBackward::current();
    if (!run) fail("_get_should_execute_nodes should only be called during the backward pass");
    auto* asked = reinterpret_cast<Node*>(node);
    // As in torch, where a run begins is not asked about.
    const bool executes = run->executes(asked) && !run->begins_at(asked);
    if (executes && !run->accumulates() && accumulated_leaf(*asked))
      fail(
          "A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). This is "
          "currently not supported.");
    return PyBool_FromLong(executes);
  });
}

PyObject* py_order(PyObject*, PyObject*) {
  return guarded([&] {
    RunningBackward* run = RunningBackward::current();
    if (!run) fail("_current_graph_task_execution_order should only be called during the backward pass");
    Object nodes = checked(PyList_New(0));
    for (Node* node : run->order()) check(PyList_Append(nodes.get(), as_object(node)) == 0);
    return nodes.take();
  });
}

PyObject* py_queue_callback(PyObject*, PyObject* callback) {
  return guarded([&]() -> PyObject* {
    RunningBackward* run = RunningBackward::current();
    if (!run) fail("Final callbacks can only be installed during backward pass.");
    run->add_callback(callback);
    Py_RETURN_NONE;
  });
}

PyObject* py_sequence(PyObject*, PyObject*) { return PyLong_FromUnsignedLongLong(next_sequence_number()); }

PyMethodDef functions[] = {
    {"_current_autograd_node", py_current_node, METH_NOARGS, "The node that the running backward applies, or None."},
    {"_current_graph_task_id", py_task_id, METH_NOARGS, "The number of the running backward, or -1."},
    {"_get_current_graph_task_keep_graph", py_keeps_graph, METH_NOARGS,
     "Whether the running backward keeps its graph."},
    {"_will_engine_execute_node", py_will_execute, METH_O, "Whether the running backward applies a node."},
    {"_backward_order", py_order, METH_NOARGS, "The nodes of the running backward, in the order of their turns."},
    {"_queue_callback", py_queue_callback, METH_O, "Has a callable called at the end of the running backward."},
    {"_get_sequence_nr", py_sequence, METH_NOARGS, "The number that the next node will get."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void init_graph_running(PyObject* module) { check(PyModule_AddFunctions(module, functions) == 0); }

}  // namespace adjoint::python
