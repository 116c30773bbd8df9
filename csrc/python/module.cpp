// The extension module adjoint._C.
#include <set>
#include <string>

#include "core/help.h"
#include "core/warning.h"
#include "cpu/blas.h"
#include "cpu/isa.h"
#include "cpu/parallel.h"
#include "cpu/processor.h"
#include "op/arg.h"
#include "op/autocast.h"
#include "op/object.h"
#include "ops/attention.h"
#include "ops/class_losses.h"
#include "ops/memory.h"
#include "ops/recurrent_network.h"
#include "python/autograd_bindings.h"
#include "python/creation.h"
#include "python/cuda_bindings.h"
#include "python/deterministic.h"
#include "python/error_node.h"
#include "python/explained.h"
#include "python/foreach_bindings.h"
#include "python/function.h"
#include "python/gradient_bindings.h"
#include "python/graph_bindings.h"
#include "python/inspect_bindings.h"
#include "python/interop.h"
#include "python/memory_bindings.h"
#include "python/module_base.h"
#include "python/module_calls.h"
#include "python/optimizer_bindings.h"
#include "python/running.h"
#include "python/shared_bindings.h"
#include "python/sparse_bindings.h"
#include "python/tensor_type.h"
#include "python/trace_bindings.h"
#include "python/transform_bindings.h"
#include "python/vmap_bindings.h"
#include "types/generator.h"
#include "types/struct_sequence.h"
#include "types/types.h"

namespace adjoint::python {
namespace {

PyObject* get_default_dtype(PyObject*, PyObject*) { return Py_NewRef(dtype_object(default_dtype())); }
PyObject* put_default_dtype(PyObject*, PyObject* value) {
  return guarded([&]() -> PyObject* {
    DType dtype = to_dtype(value);
    if (!is_float(dtype)) fail(ErrorKind::Type, "only floating-point types are supported as the default type");
    set_default_dtype(dtype);
    Py_RETURN_NONE;
  });
}
PyObject* get_num_threads(PyObject*, PyObject*) { return PyLong_FromLong(num_threads()); }
PyObject* put_num_threads(PyObject*, PyObject* value) {
  return guarded([&]() -> PyObject* {
    int64_t count = to_int(value, "set_num_threads", "int");
    if (count < 1 || count > 1024) fail("expected a positive number of threads");
    set_num_threads(static_cast<int>(count));
    Py_RETURN_NONE;
  });
}
PyObject* py_set_blas_path(PyObject*, PyObject* value) {
  return guarded([&]() -> PyObject* {
    const char* path = PyUnicode_AsUTF8(value);
    check(path != nullptr);
    blas::set_blas_path(path);
    Py_RETURN_NONE;
  });
}
PyObject* py_has_amx_fp16(PyObject*, PyObject*) { return PyBool_FromLong(cpu::has_amx_fp16()); }
PyObject* py_instruction_set(PyObject*, PyObject*) { return PyUnicode_FromString(isa_name(chosen_isa())); }

PyObject* py_compiler(PyObject*, PyObject*) {
#if defined(__clang__)
  return PyUnicode_FromString(__VERSION__);  // begins with the compiler's name
#else
  return PyUnicode_FromString("GCC " __VERSION__);
#endif
}

/// result_type(a, b): the type in which two tensors or numbers meet.
PyObject* py_result_type(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    if (nargs != 2) fail(ErrorKind::Type, "result_type() takes 2 arguments");
    ops::Operand operands[2];
    for (int i = 0; i < 2; ++i) {
      if (is_tensor(args[i])) {
        operands[i].set(as_tensor(args[i]));
      } else {
        operands[i].set(Scalar(Arg{args[i], "result_type", i ? "other" : "tensor"}));
      }
    }
    return Py_NewRef(dtype_object(ops::result_type(operands, 2)));
  });
}
PyObject* py_promote_types(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    if (nargs != 2) fail(ErrorKind::Type, "promote_types() takes 2 arguments");
    return Py_NewRef(
        dtype_object(promote(Arg{args[0], "promote_types", "type1"}, Arg{args[1], "promote_types", "type2"})));
  });
}

PyObject* py_can_cast(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    if (nargs != 2) fail(ErrorKind::Type, "can_cast() takes 2 arguments");
    DType from = Arg{args[0], "can_cast", "from_"}, to = Arg{args[1], "can_cast", "to"};
    return Py_NewRef(category(from) <= category(to) ? Py_True : Py_False);
  });
}

PyObject* py_warn_if_imaginary_part_goes(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    const char* name = "_warn_if_imaginary_part_goes";
    if (nargs != 2) fail(ErrorKind::Type, name, "() takes 2 arguments");
    warn_if_imaginary_part_goes(category(Arg{args[0], name, "from_"}), Arg{args[1], name, "to"});
    return Py_NewRef(Py_None);
  });
}

PyObject* py_struct_sequence(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    if (nargs != 2) fail(ErrorKind::Type, "_struct_sequence() takes 2 arguments");
    return make_struct_sequence(args[0], args[1]).take();
  });
}

PyObject* py_prefers_cross_entropy(PyObject*, PyObject* input) {
  return PyBool_FromLong(is_tensor(input) && ops::prefers_cross_entropy(as_tensor(input)));
}

PyObject* py_attention_takes_extras(PyObject*, PyObject* query) {
  return guarded([&] { return PyBool_FromLong(is_tensor(query) && ops::attention_takes_extras(as_tensor(query))); });
}

/// A copy that is never freed, the same for the same text: as many as a program has messages.
const char* kept_words(const std::string& text) {
  static auto* all = new std::set<std::string>;
  return all->insert(text).first->c_str();
}

PyObject* py_refuse_zeros_later(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject* tensor;
    const char* words;
    check(PyArg_ParseTuple(args, "O!s:_refuse_zeros_later", tensor_type, &tensor, &words));
    return PyBool_FromLong(refuse_zeros_later(as_tensor(tensor), kept_words(words)));
  });
}

PyObject* py_takes_recurrent_network(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *input, *hidden, *batch_sizes;
    long kind;
    int both_ways, biased, rounds;
    check(PyArg_ParseTuple(args, "O!O!Olppp:_takes_recurrent_network", tensor_type, &input, tensor_type, &hidden,
                           &batch_sizes, &kind, &both_ways, &biased, &rounds));
    const auto steps = Arg{batch_sizes, "recurrent network", "batch_sizes"}.operator std::vector<int64_t>();
    return PyBool_FromLong(ops::takes_recurrent_network(as_tensor(input), as_tensor(hidden), steps, kind,
                                                        both_ways != 0, biased != 0, rounds != 0));
  });
}

PyMethodDef functions[] = {
    {"_takes_recurrent_network", py_takes_recurrent_network, METH_VARARGS,
     "Whether _recurrent_network computes a network of these tensors, batch sizes and options."},
    {"_refuse_zeros_later", py_refuse_zeros_later, METH_VARARGS,
     "Where a tensor's values would have to be waited for, lets that fail with these words if one is zero, and is "
     "True."},
    {"_prefers_cross_entropy", py_prefers_cross_entropy, METH_O,
     "Whether _cross_entropy is faster than log_softmax and nll_loss where this tensor lies."},
    {"_attention_takes_extras", py_attention_takes_extras, METH_O,
     "Whether _attention takes masks and drops weights where this query lies."},
    {"get_default_dtype", get_default_dtype, METH_NOARGS, help::kGetDefaultDtype},
    {"set_default_dtype", put_default_dtype, METH_O, help::kSetDefaultDtype},
    {"get_num_threads", get_num_threads, METH_NOARGS, help::kGetNumThreads},
    {"set_num_threads", put_num_threads, METH_O, help::kSetNumThreads},
    {"_set_blas_path", py_set_blas_path, METH_O, "Where the OpenBLAS library lies."},
    {"_has_amx_fp16", py_has_amx_fp16, METH_NOARGS, "Whether the processor multiplies tiles of halves."},
    {"_instruction_set", py_instruction_set, METH_NOARGS, "The instruction set of the loops in use."},
    {"_compiler", py_compiler, METH_NOARGS, "The compiler that built this module."},
    {"result_type", as_method(py_result_type), METH_FASTCALL, help::kResultType},
    {"promote_types", as_method(py_promote_types), METH_FASTCALL, help::kPromoteTypes},
    {"can_cast", as_method(py_can_cast), METH_FASTCALL, help::kCanCast},
    {"_warn_if_imaginary_part_goes", as_method(py_warn_if_imaginary_part_goes), METH_FASTCALL,
     "Warns, once, where complex elements become real."},
    {"_struct_sequence", as_method(py_struct_sequence), METH_FASTCALL, "A new type of tuples with names."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "adjoint._C",
                          "The native core of adjoint.",
                          -1,
                          functions,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace

static PyObject* make_module() {
  return guarded([&] {
    Object module = checked(PyModule_Create(&definition));
    prepare_for_exit();
    init_types(module.get());
    init_autograd(module.get());
    init_tensor_type(module.get());
    init_ops(module.get());
    init_autocast(module.get());
    init_deterministic(module.get());
    init_functions(module.get());
    init_error_node(module.get());
    init_graph(module.get());
    init_creation(module.get());
    init_generator(module.get());
    init_interop(module.get());
    init_shared(module.get());
    init_cuda(module.get());
    init_inspect(module.get());
    init_trace(module.get());
    init_transforms(module.get());
    init_running(module.get());
    init_vmap(module.get());
    init_memory(module.get());
    init_module_base(module.get());
    init_module_calls(module.get());
    init_explained(module.get());
    init_optimizer(module.get());
    init_gradients(module.get());
    init_foreach(module.get());
    init_sparse(module.get());
    return module.take();
  });
}

}  // namespace adjoint::python

PyMODINIT_FUNC PyInit__C() { return adjoint::python::make_module(); }
