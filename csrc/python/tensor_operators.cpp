#include "python/tensor_operators.h"

#include <algorithm>

#include "core/batched.h"
#include "op/object.h"
#include "op/transform.h"
#include "python/creation.h"
#include "python/indexing.h"
#include "python/interop.h"
#include "python/overridable.h"
#include "transforms/wrapped.h"

namespace adjoint::python {
namespace {

/// Each operator looks its op up once.
template <Name name>
Op& named_op() {
  static Op& op = require_op(name.text);
  return op;
}

template <Name name>
PyObject* unary(PyObject* a) {
  return do_alone<name>({a}, [&] { return call_op(named_op<name>(), {a}).take(); });
}
template <Name name>
PyObject* binary(PyObject* a, PyObject* b) {
  return guarded([&] { return call_binary(named_op<name>(), a, b); });
}

using Operation = PyObject* (*)(PyObject*, PyObject*);

/// `object` is the operand beside a tensor.
bool is_array(PyObject* object) {
  return !is_tensor(object) && !PyFloat_CheckExact(object) && !PyLong_CheckExact(object) && is_numpy_array(object);
}
/// Of a tensor and an array, on either side, NumPy computes, by its own rules of types; the result is a tensor. Of one
/// that requires grad the op is recorded, on tensors of the type that NumPy would choose.
PyObject* operate_in_numpy(Operation operation, PyObject* a, PyObject* b) {
  if (recording() && requires_grad(as_tensor(is_tensor(a) ? a : b))) {
    Object module = checked(PyImport_ImportModule("adjoint._numpy_functions"));
    Object both = checked(PyObject_CallMethod(module.get(), "operands", "OO", a, b));
    return operation(PyTuple_GET_ITEM(both.get(), 0), PyTuple_GET_ITEM(both.get(), 1));
  }
  auto array = [](PyObject* object) { return checked(PyObject_CallMethod(object, "__array__", nullptr)); };
  Object result = checked(operation(array(a).get(), array(b).get()));
  return PyObject_CallMethod(is_tensor(a) ? a : b, "__array_wrap__", "O", array(result.get()).get());
}
/// An operator of numbers: `operation` is the same one of Python.
template <Operation operation, Operation of_tensors>
PyObject* plain_arithmetic(PyObject* a, PyObject* b) {
  if (is_array(is_tensor(a) ? b : a)) return guarded([&] { return operate_in_numpy(operation, a, b); });
  return of_tensors(a, b);
}
/// Whether an operator asks for an operand beside a tensor: of others Python, or NumPy, makes what it can.
bool is_asked_for(PyObject* operand) {
  if (is_tensor(operand) || PyLong_Check(operand) || may_override(operand)) return true;  // of any size
  Scalar scratch;
  return to_scalar(operand, &scratch);
}
/// What an operator is called where it is taken over, in this order of operands.
template <Name method, Telling telling, class F>
PyObject* operate_or_leave(PyObject* tensor, PyObject* other, F plain) {
  return guarded([&] {
    if (telling == Telling::Native && !is_asked_for(other)) return guarded(plain);
    return operate<method, telling>({tensor, other}, plain);
  });
}
/// A method under which an operator is known.
template <Name name_, Telling telling_ = Telling::Native>
struct Known {
  static constexpr auto name = name_;
  static constexpr Telling telling = telling_;
};
template <Name name>
using KnownInPython = Known<name, Telling::InPython>;

/// The op `name` is what it is of tensors, and of a tensor and a number; Method and Reflected are what it is called
/// where it is taken over, by what is on the left of it.
template <Name name, Operation operation, Operation of_tensors, class Method, class Reflected = Method>
PyObject* arithmetic(PyObject* a, PyObject* b) {
  const bool plain_operand = Py_TYPE(b) == tensor_type || PyFloat_CheckExact(b) || PyLong_CheckExact(b);
  if (Py_TYPE(a) == tensor_type && plain_operand && !(mode_flags & kFunctionMode)) [[likely]]
    return guarded([&] { return call_op(named_op<name>(), {a, b}).take(); });
  auto plain = [&] { return plain_arithmetic<operation, of_tensors>(a, b); };
  return is_tensor(a) ? operate_or_leave<Method::name, Method::telling>(a, b, plain)
                      : operate_or_leave<Reflected::name, Reflected::telling>(b, a, plain);
}
template <Name name, Name method, Telling telling = Telling::Native>
PyObject* in_place(PyObject* a, PyObject* b) {
  return operate_or_leave<method, telling>(a, b, [&] { return call_binary_in_place(named_op<name>(), a, b); });
}

/// number - tensor is one node, as in torch.
PyObject* subtract(PyObject* a, PyObject* b) {
  return guarded(
      [&] { return is_tensor(a) ? call_binary(named_op<"sub">(), a, b) : call_binary(named_op<"rsub">(), b, a); });
}
/// number * tensor is tensor * number, as in torch: half types round the first operand.
PyObject* multiply(PyObject* a, PyObject* b) {
  return guarded(
      [&] { return is_tensor(a) ? call_binary(named_op<"mul">(), a, b) : call_binary(named_op<"mul">(), b, a); });
}
/// number / tensor is number * reciprocal, as in torch.
PyObject* divide(PyObject* a, PyObject* b) {
  return guarded([&]() -> PyObject* {
    if (is_tensor(a)) return call_binary(named_op<"div">(), a, b);
    Scalar scratch;
    if (!to_scalar(a, &scratch)) Py_RETURN_NOTIMPLEMENTED;
    Object reciprocal = call_op(named_op<"reciprocal">(), {b});
    return call_binary(named_op<"mul">(), reciprocal.get(), a);
  });
}
/// Of a subclass, Python takes `__iadd__` for the concatenation of sequences as well, and would return NotImplemented.
PyObject* add_in_place(PyObject* a, PyObject* b) {
  PyObject* result = in_place<"add", "add_">(a, b);
  const PyNumberMethods* other = Py_TYPE(b)->tp_as_number;
  if (result != Py_NotImplemented || (other && other->nb_add)) return result;
  Py_DECREF(result);
  return PyErr_Format(PyExc_TypeError, "unsupported operand type(s) for +=: '%s' and '%s'", Py_TYPE(a)->tp_name,
                      Py_TYPE(b)->tp_name);
}
PyObject* plain_power(PyObject* a, PyObject* b) { return PyNumber_Power(a, b, Py_None); }
PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return arithmetic<"pow", plain_power, binary<"pow">, KnownInPython<"__pow__">, KnownInPython<"__rpow__">>(a, b);
}
PyObject* in_place_power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return in_place<"pow", "__ipow__", Telling::InPython>(a, b);
}
PyObject* matrix_multiply(PyObject* a, PyObject* b) {
  return guarded([&]() -> PyObject* {
    if (!is_tensor(a) || !is_tensor(b)) Py_RETURN_NOTIMPLEMENTED;
    if (as_tensor(a)->ndim() == 2 && as_tensor(b)->ndim() == 2) {
      static PyObject* name = checked(PyUnicode_InternFromString("matmul")).take();
      PyObject* arguments[] = {a, b};
      CallSpan span(name, arguments, 2);
      return call_op(named_op<"mm">(), {a, b}).take();
    }
    static PyObject* matmul =
        checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), "matmul")).take();
    return call_python(matmul, a, b);
  });
}
PyObject* multiply_matrices(PyObject* a, PyObject* b) {
  if (Py_TYPE(a) == tensor_type && Py_TYPE(b) == tensor_type && !(mode_flags & kFunctionMode)) [[likely]]
    return matrix_multiply(a, b);
  auto plain = [&] { return plain_arithmetic<PyNumber_MatrixMultiply, matrix_multiply>(a, b); };
  if (!is_tensor(a)) return operate<"__rmatmul__", Telling::InPython>({b, a}, plain);
  return is_tensor(b) || may_override(b) ? operate<"matmul", Telling::Native>({a, b}, plain) : guarded(plain);
}
PyObject* invert(PyObject* a) {
  return do_alone<"__invert__">({a}, [&] {
    if (!is_integral(as_tensor(a)->dtype))
      fail(ErrorKind::Type, "~ (operator.invert) is only implemented on integer and Boolean-type tensors");
    return call_op(named_op<"bitwise_not">(), {a}).take();
  });
}
PyObject* positive(PyObject* a) {
  return do_alone<"positive">({a}, [&] { return Py_NewRef(a); });
}

template <Name name, Name method = name>
PyObject* comparison(PyObject* a, PyObject* b) {
  auto plain = [&] { return binary<name>(a, b); };
  if (Py_TYPE(a) == tensor_type && plainly_called(&b, 1)) [[likely]]
    return guarded(plain);
  // For a subclass, and for modes, == is `__eq__`; for what stands beside a tensor, `eq`.
  constexpr bool one_name = method == name;
  if (one_name || (is_ordinary(a) && !(mode_flags & kFunctionMode)))
    return operate_or_leave<name, Telling::Native>(a, b, plain);
  return operate<method, Telling::Native>({a, b}, plain);
}
PyObject* compare(PyObject* a, PyObject* b, int op) {
  switch (op) {
    case Py_EQ: return comparison<"eq", "__eq__">(a, b);
    case Py_NE: return comparison<"ne">(a, b);
    case Py_LT: return comparison<"lt">(a, b);
    case Py_LE: return comparison<"le">(a, b);
    case Py_GT: return comparison<"gt">(a, b);
    default: return comparison<"ge">(a, b);
  }
}

int plain_truth(PyObject* self) {
  return guarded(
      [&] {
        Tensor* tensor = as_tensor(self);
        if (is_batched(tensor) && !is_wrapped(tensor))
          fail(
              "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't "
              "support that: the elements of the batch may differ. Use torch.where() to choose by element.");
        if (tensor->numel() == 0) fail("Boolean value of Tensor with no values is ambiguous; test its numel()");
        if (tensor->numel() > 1)
          fail(
              "Boolean value of Tensor with more than one value is ambiguous; use any() or all(), or where() to choose "
              "by element");
        return PyObject_IsTrue(item(tensor).get());
      },
      -1);
}
int truth(PyObject* self) {
  if (is_ordinary(self) && !(mode_flags & kFunctionMode)) [[likely]]
    return plain_truth(self);
  Object answer = Object::steal(do_alone<"__bool__">({self}, [&]() -> PyObject* {
    int value = plain_truth(self);
    return value < 0 ? nullptr : PyBool_FromLong(value);
  }));
  if (!answer) return -1;
  if (PyBool_Check(answer.get())) return answer.get() == Py_True;
  PyErr_Format(PyExc_TypeError, "__bool__ should return bool, returned %s", Py_TYPE(answer.get())->tp_name);
  return -1;
}
/// The only element, for int() and float().
Object only_element(PyObject* self) {
  if (as_tensor(self)->numel() != 1)
    fail(ErrorKind::Value, "only one element tensors can be converted to Python scalars; got shape ",
         to_string(as_tensor(self)->sizes()), ": reduce it with sum() or mean(), or index one element");
  Object element = item(as_tensor(self));
  if (!PyComplex_Check(element.get())) return element;
  Py_complex value = PyComplex_AsCComplex(element.get());
  if (value.imag != 0) fail("value cannot be converted to type double without overflow: its imaginary part is not 0");
  return checked(PyFloat_FromDouble(value.real));
}
PyObject* to_long(PyObject* self) {
  return do_alone<"__int__">({self}, [&] { return PyNumber_Long(only_element(self).get()); });
}
PyObject* to_double(PyObject* self) {
  return do_alone<"__float__">({self}, [&] {
    warn_scalar_of_grad(as_tensor(self));
    return PyNumber_Float(only_element(self).get());
  });
}
PyObject* to_index(PyObject* self) {
  return do_alone<"__index__">({self}, [&] {
    Tensor* tensor = as_tensor(self);
    if (!is_integral(tensor->dtype) || tensor->numel() != 1)
      fail(ErrorKind::Type, "only integer tensors of a single element can be converted to an index");
    return PyNumber_Index(item(tensor).get());
  });
}

Py_ssize_t plain_length(PyObject* self) {
  return guarded(
      [&] {
        Tensor* tensor = as_tensor(self);
        if (tensor->ndim() == 0) fail(ErrorKind::Type, "len() of a 0-d tensor; it is one number, item() in Python");
        return static_cast<Py_ssize_t>(tensor->size(0));
      },
      Py_ssize_t{-1});
}
Py_ssize_t length(PyObject* self) {
  if (is_ordinary(self) && !(mode_flags & kFunctionMode)) [[likely]]
    return plain_length(self);
  Object answer = Object::steal(do_alone<"__len__", Telling::InPython>({self}, [&]() -> PyObject* {
    Py_ssize_t count = plain_length(self);
    return count < 0 ? nullptr : PyLong_FromSsize_t(count);
  }));
  if (!answer) return -1;
  Py_ssize_t count = PyNumber_AsSsize_t(answer.get(), PyExc_OverflowError);
  if (count < 0 && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "__len__() should return >= 0");
  return count < 0 ? -1 : count;
}
PyObject* subscript(PyObject* self, PyObject* key) {
  if (Py_TYPE(self) == tensor_type && is_ordinary(key) && !(mode_flags & kFunctionMode)) [[likely]]
    return guarded([&] { return get_item(as_tensor(self), key).take(); });
  return do_alone<"__getitem__", Telling::Native>({self, key}, [&] { return get_item(as_tensor(self), key).take(); });
}
int assign_subscript(PyObject* self, PyObject* key, PyObject* value) {
  const bool ordinary = Py_TYPE(self) == tensor_type && value && is_ordinary(key) && is_ordinary(value);
  if (ordinary && !(mode_flags & kFunctionMode)) [[likely]]
    return guarded([&] { return set_item(as_tensor(self), key, value), 0; }, -1);
  auto plain = [&]() -> PyObject* {
    set_item(as_tensor(self), key, value);
    Py_RETURN_NONE;
  };
  if (!value) return guarded([]() -> int { fail(ErrorKind::Type, "elements of a tensor cannot be deleted"); }, -1);
  return Object::steal(do_alone<"__setitem__", Telling::Native>({self, key, value}, plain)) ? 0 : -1;
}
PyObject* sequence_item(PyObject* self, Py_ssize_t index) {
  Object key = Object::steal(PyLong_FromSsize_t(index));
  return key ? subscript(self, key.get()) : nullptr;
}
constexpr const char* kNoIteration = "iteration over a 0-d tensor; it is one number: unsqueeze(0) makes a list of it";
PyObject* iterate(PyObject* self) {
  return guarded([&] {
    if (overridden(&self, 1)) {
      Object dims = checked(PyObject_CallMethod(self, "dim", nullptr));
      Object none = checked(PyLong_FromLong(0));
      int scalar = PyObject_RichCompareBool(dims.get(), none.get(), Py_EQ);
      check(scalar >= 0);
      if (scalar) fail(ErrorKind::Type, kNoIteration);
      return PyObject_GetIter(checked(PyObject_CallMethod(self, "unbind", "O", none.get())).get());
    }
    if (as_tensor(self)->ndim() == 0) fail(ErrorKind::Type, kNoIteration);
    return PyObject_GetIter(call_op(named_op<"unbind">(), {self}).get());
  });
}

}  // namespace

void add_operator_slots(std::vector<PyType_Slot>& slots) {
  auto add = [&](int slot, auto function) { slots.push_back({slot, reinterpret_cast<void*>(function)}); };
  add(Py_nb_add, arithmetic<"add", PyNumber_Add, binary<"add">, Known<"add">>);
  add(Py_nb_subtract, arithmetic<"sub", PyNumber_Subtract, subtract, Known<"sub">, KnownInPython<"__rsub__">>);
  add(Py_nb_multiply, arithmetic<"mul", PyNumber_Multiply, multiply, Known<"mul">>);
  add(Py_nb_true_divide, arithmetic<"div", PyNumber_TrueDivide, divide, Known<"div">, KnownInPython<"__rtruediv__">>);
  add(Py_nb_floor_divide, arithmetic<"floor_divide", PyNumber_FloorDivide, binary<"floor_divide">,
                                     KnownInPython<"__floordiv__">, KnownInPython<"__rfloordiv__">>);
  add(Py_nb_remainder,
      arithmetic<"remainder", PyNumber_Remainder, binary<"remainder">, Known<"remainder">, KnownInPython<"__rmod__">>);
  add(Py_nb_power, power);
  add(Py_nb_and,
      arithmetic<"bitwise_and", PyNumber_And, binary<"bitwise_and">, Known<"__and__">, Known<"bitwise_and">>);
  add(Py_nb_or, arithmetic<"bitwise_or", PyNumber_Or, binary<"bitwise_or">, Known<"__or__">, Known<"bitwise_or">>);
  add(Py_nb_xor,
      arithmetic<"bitwise_xor", PyNumber_Xor, binary<"bitwise_xor">, Known<"__xor__">, Known<"bitwise_xor">>);
  add(Py_nb_lshift, arithmetic<"bitwise_left_shift", PyNumber_Lshift, binary<"bitwise_left_shift">, Known<"__lshift__">,
                               KnownInPython<"__rlshift__">>);
  add(Py_nb_rshift, arithmetic<"bitwise_right_shift", PyNumber_Rshift, binary<"bitwise_right_shift">,
                               Known<"__rshift__">, KnownInPython<"__rrshift__">>);
  add(Py_nb_matrix_multiply, multiply_matrices);
  add(Py_nb_inplace_add, add_in_place);
  add(Py_nb_inplace_subtract, in_place<"sub", "sub_">);
  add(Py_nb_inplace_multiply, in_place<"mul", "mul_">);
  add(Py_nb_inplace_true_divide, in_place<"div", "div_">);
  add(Py_nb_inplace_floor_divide, in_place<"floor_divide", "floor_divide_">);
  add(Py_nb_inplace_remainder, in_place<"remainder", "remainder_">);
  add(Py_nb_inplace_power, in_place_power);
  add(Py_nb_inplace_and, in_place<"bitwise_and", "__iand__">);
  add(Py_nb_inplace_or, in_place<"bitwise_or", "__ior__">);
  add(Py_nb_inplace_xor, in_place<"bitwise_xor", "__ixor__">);
  add(Py_nb_inplace_lshift, in_place<"bitwise_left_shift", "__ilshift__">);
  add(Py_nb_inplace_rshift, in_place<"bitwise_right_shift", "__irshift__">);
  add(Py_nb_negative, unary<"neg">);
  add(Py_nb_positive, positive);
  add(Py_nb_absolute, unary<"abs">);
  add(Py_nb_invert, invert);
  add(Py_nb_bool, truth);
  add(Py_nb_int, to_long);
  add(Py_nb_float, to_double);
  add(Py_nb_index, to_index);
  add(Py_tp_richcompare, compare);
  add(Py_mp_length, length);
  add(Py_mp_subscript, subscript);
  add(Py_mp_ass_subscript, assign_subscript);
  add(Py_sq_length, length);
  add(Py_sq_item, sequence_item);
  add(Py_tp_iter, iterate);
}

}  // namespace adjoint::python
