// torch.device: a name for where tensors lie, also for places that this build cannot compute in, and the default one.
#include <cstring>
#include <string>
#include <vector>

#include "python/types.h"

namespace adjoint::python {
namespace {

constexpr const char* kKinds[] = {"cpu",    "cuda", "ipu",  "xpu",  "mkldnn", "opengl",       "opencl",
                                  "ideep",  "hip",  "ve",   "fpga", "maia",   "xla",          "lazy",
                                  "vulkan", "mps",  "meta", "hpu",  "mtia",   "privateuseone"};

struct DeviceObject {
  PyObject_HEAD
  const char* kind;  ///< one of kKinds
  int index;         ///< -1: none given
};

PyTypeObject* device_type;
PyObject* cpu_device;
PyObject* meta_device;

// Thread by thread, as in torch. `defaults_changed` stays false in nearly all programs, which need not look further.
bool defaults_changed = false;
thread_local PyObject* chosen_device = nullptr;       ///< by set_default_device; owned, or null
thread_local std::vector<PyObject*> entered_devices;  ///< by `with torch.device(...)`, innermost last; owned

DeviceObject* device_of(PyObject* self) { return reinterpret_cast<DeviceObject*>(self); }

PyObject* new_device(const char* kind, int index) {
  auto* device = PyObject_New(DeviceObject, device_type);
  if (!device) return nullptr;
  device->kind = kind;
  device->index = index;
  return reinterpret_cast<PyObject*>(device);
}

PyObject* device_repr(PyObject* self) {
  auto* device = device_of(self);
  if (device->index >= 0) return PyUnicode_FromFormat("device(type='%s', index=%d)", device->kind, device->index);
  return PyUnicode_FromFormat("device(type='%s')", device->kind);
}
PyObject* device_str(PyObject* self) {
  auto* device = device_of(self);
  if (device->index >= 0) return PyUnicode_FromFormat("%s:%d", device->kind, device->index);
  return PyUnicode_FromString(device->kind);
}
PyObject* device_get_type(PyObject* self, void*) { return PyUnicode_FromString(device_of(self)->kind); }
PyObject* device_get_index(PyObject* self, void*) {
  int index = device_of(self)->index;
  if (index < 0) Py_RETURN_NONE;
  return PyLong_FromLong(index);
}
Py_hash_t device_hash(PyObject* self) {
  return static_cast<Py_hash_t>(device_of(self)->kind[0]) * 1009 + std::strlen(device_of(self)->kind) * 131 +
         device_of(self)->index + 7;
}
PyObject* device_compare(PyObject* a, PyObject* b, int op) {
  if (!PyObject_TypeCheck(b, device_type) || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  bool equal = device_of(a)->kind == device_of(b)->kind && device_of(a)->index == device_of(b)->index;
  return PyBool_FromLong(equal == (op == Py_EQ));
}

/// Parses "cpu" or "cuda:0".
const char* parse_device(const char* text, int* index) {
  const char* colon = std::strchr(text, ':');
  std::string kind(text, colon ? static_cast<size_t>(colon - text) : std::strlen(text));
  *index = -1;
  if (colon) {
    char* end = nullptr;
    long value = std::strtol(colon + 1, &end, 10);
    if (end == colon + 1 || *end || value < 0 || value > 127) fail("Invalid device string: '", text, "'");
    *index = static_cast<int>(value);
  }
  std::string known;
  for (const char* name : kKinds) {
    if (kind == name) return name;
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  fail("Expected one of ", known, " device type at start of device string: ", kind, "; use device='cpu'");
}

[[noreturn]] void refuse(const std::string& kind) {
  constexpr const char* advice = "; this build computes on the cpu only: use device='cpu'";
  std::string upper;
  for (char c : kind) upper += static_cast<char>(c - 'a' + 'A');
  if (kind == "mps") fail("PyTorch is not linked with support for mps devices", advice);
  if (kind == "cuda" || kind == "xpu")
    fail(ErrorKind::Assertion, "Torch not compiled with ", upper, " enabled", advice);
  fail(ErrorKind::NotImplemented, "Could not run 'aten::empty.memory_format' with arguments from the '", upper,
       "' backend", advice);
}

PyObject* device_new(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"type", "index", nullptr};
    PyObject* source = nullptr;
    PyObject* number = Py_None;
    check(PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:device", const_cast<char**>(names), &source, &number));
    if (PyObject_TypeCheck(source, device_type)) return Py_NewRef(source);
    int index;
    if (PyLong_Check(source) && !PyBool_Check(source))
      fail("Cannot access accelerator device when none is available; use device='cpu'");
    if (!PyUnicode_Check(source))
      fail(ErrorKind::Type, "device(): argument 'type' must be str or device, not ", Py_TYPE(source)->tp_name);
    const char* text = PyUnicode_AsUTF8(source);
    check(text != nullptr);
    const char* kind = parse_device(text, &index);
    if (number != Py_None) {
      if (index >= 0) fail("type (string) must not include an index because index was passed explicitly: ", text);
      index = static_cast<int>(PyLong_AsLong(number));
      check(!PyErr_Occurred());
      if (index < 0) fail("Device index must not be negative");
    }
    return new_device(kind, index);
  });
}
PyObject* device_reduce(PyObject* self, PyObject*) {
  Object text = Object::steal(device_str(self));
  return text ? Py_BuildValue("(O(O))", device_type, text.get()) : nullptr;
}
PyObject* device_enter(PyObject* self, PyObject*) {
  return guarded([&] {
    entered_devices.push_back(Py_NewRef(self));
    defaults_changed = true;
    return Py_NewRef(self);
  });
}
PyObject* device_exit(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    if (entered_devices.empty()) fail("torch.device: __exit__ without __enter__ in this thread");
    PyObject* left = entered_devices.back();
    entered_devices.pop_back();
    Py_DECREF(left);
    Py_RETURN_NONE;
  });
}

PyMethodDef device_methods[] = {
    {"__reduce__", device_reduce, METH_NOARGS, nullptr},
    {"__enter__", device_enter, METH_NOARGS, "Makes this the device of new tensors until __exit__."},
    {"__exit__", device_exit, METH_VARARGS, "Goes back to the device that was the default before."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef device_getset[] = {{"type", device_get_type, nullptr, nullptr, nullptr},
                               {"index", device_get_index, nullptr, nullptr, nullptr},
                               {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot device_slots[] = {{Py_tp_repr, reinterpret_cast<void*>(device_repr)},
                              {Py_tp_str, reinterpret_cast<void*>(device_str)},
                              {Py_tp_hash, reinterpret_cast<void*>(device_hash)},
                              {Py_tp_richcompare, reinterpret_cast<void*>(device_compare)},
                              {Py_tp_new, reinterpret_cast<void*>(device_new)},
                              {Py_tp_methods, device_methods},
                              {Py_tp_getset, device_getset},
                              {Py_tp_doc, const_cast<char*>("Where a tensor's memory lies: torch.device('cpu').")},
                              {0, nullptr}};
PyType_Spec device_spec = {"adjoint.device", sizeof(DeviceObject), 0, Py_TPFLAGS_DEFAULT, device_slots};

/// The device of new tensors (borrowed).
PyObject* default_device_object() {
  if (!entered_devices.empty()) return entered_devices.back();
  return chosen_device ? chosen_device : cpu_device;
}
PyObject* py_get_default_device(PyObject*, PyObject*) { return Py_NewRef(default_device_object()); }
PyObject* py_set_default_device(PyObject*, PyObject* device) {
  return guarded([&]() -> PyObject* {
    Object chosen;
    if (device != Py_None) chosen = checked(PyObject_CallOneArg(reinterpret_cast<PyObject*>(device_type), device));
    Py_XDECREF(std::exchange(chosen_device, chosen.take()));
    defaults_changed = true;
    Py_RETURN_NONE;
  });
}

PyMethodDef functions[] = {
    {"get_default_device", py_get_default_device, METH_NOARGS, "The device of new tensors."},
    {"set_default_device", py_set_default_device, METH_O, "Sets the device of new tensors in this thread; None: cpu."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* device_object(DeviceType device) { return device == DeviceType::Cpu ? cpu_device : meta_device; }

std::string device_kind(PyObject* object) {
  if (PyObject_TypeCheck(object, device_type)) return device_of(object)->kind;
  if (!PyUnicode_Check(object))
    fail(ErrorKind::Type, "device must be a torch.device or str, not ", Py_TYPE(object)->tp_name);
  const char* text = PyUnicode_AsUTF8(object);
  check(text != nullptr);
  int index;
  return parse_device(text, &index);
}

DeviceType to_device(PyObject* object) {
  std::string kind = device_kind(object);
  if (kind == "cpu") return DeviceType::Cpu;
  if (kind == "meta") return DeviceType::Meta;
  refuse(kind);
}

DeviceType default_device() { return defaults_changed ? to_device(default_device_object()) : DeviceType::Cpu; }

void init_device(PyObject* module) {
  device_type = make_type(module, &device_spec, "device");
  cpu_device = new_device(kKinds[0], -1);
  int index;
  meta_device = new_device(parse_device("meta", &index), -1);
  check(cpu_device && meta_device);
  check(PyModule_AddFunctions(module, functions) == 0);
}

}  // namespace adjoint::python
