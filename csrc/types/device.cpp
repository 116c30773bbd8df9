// torch.device: a name for where tensors lie, also for places that this build cannot compute in, and the default one.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "core/device_error.h"
#include "core/help.h"
#include "core/lock.h"
#include "types/types.h"

namespace adjoint {
namespace {

constexpr const char* kKinds[] = {"cpu",    "cuda", "ipu",  "xpu",  "mkldnn", "opengl",       "opencl",
                                  "ideep",  "hip",  "ve",   "fpga", "maia",   "xla",          "lazy",
                                  "vulkan", "mps",  "meta", "hpu",  "mtia",   "privateuseone"};

/// As torch keeps the index of a device in a byte.
constexpr int kMaxIndex = 127;

struct DeviceObject {
  PyObject_HEAD
  const char* kind;  ///< one of kKinds
  int index;         ///< -1: none given
};

PyTypeObject* device_type;
PyObject* cpu_device;
PyObject* meta_device;
std::vector<PyObject*> cuda_devices;  ///< by number, made when first asked for

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
  if (!PyObject_TypeCheck(b, device_type)) Py_RETURN_NOTIMPLEMENTED;
  if (op != Py_EQ && op != Py_NE) {
    PyErr_SetString(PyExc_TypeError, "comparison not implemented: devices have no order");
    return nullptr;
  }
  bool equal = device_of(a)->kind == device_of(b)->kind && device_of(a)->index == device_of(b)->index;
  return PyBool_FromLong(equal == (op == Py_EQ));
}

/// The index of "cuda:1": decimal digits without a zero before them.
int parse_index(std::string_view digits, const char* text) {
  bool number =
      !digits.empty() && std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!number || (digits.size() > 1 && digits[0] == '0')) fail("Invalid device string: '", text, "'");
  int index = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (digits.size() > 3 || index > kMaxIndex)
    fail("Could not parse device index '", digits, "' in device string '", text, "'; it must be at most ", kMaxIndex);
  return index;
}

/// Parses "cpu" or "cuda:0".
const char* parse_device(const char* text, int* index) {
  std::string_view all = text;
  if (all.empty()) fail("Device string must not be empty");
  auto is_letter = [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  auto letters = static_cast<size_t>(std::find_if_not(all.begin(), all.end(), is_letter) - all.begin());
  std::string_view kind = all.substr(0, letters);
  if (letters == 0 || (letters < all.size() && all[letters] != ':'))
    fail("Invalid device string: '", text, "'; devices are written 'cpu' or 'cuda:0', and types torch.", text);
  *index = letters < all.size() ? parse_index(all.substr(letters + 1), text) : -1;
  std::string known;
  for (const char* name : kKinds) {
    if (kind == name) return name;
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  fail("Expected one of ", known, " device type at start of device string: ", kind, "; use device='cpu'");
}

bool is_text(PyObject* object) { return PyUnicode_Check(object) || PyBytes_Check(object); }
bool is_number(PyObject* object) { return PyLong_Check(object) && !PyBool_Check(object); }

/// The characters of a str or bytes, none of them zero.
const char* text_of(PyObject* object) {
  const char* text = PyBytes_Check(object) ? PyBytes_AsString(object) : PyUnicode_AsUTF8(object);
  check(text != nullptr);
  Py_ssize_t length = PyBytes_Check(object) ? PyBytes_GET_SIZE(object) : 0;
  if (PyUnicode_Check(object)) check(PyUnicode_AsUTF8AndSize(object, &length) != nullptr);
  if (std::strlen(text) != static_cast<size_t>(length)) fail("Invalid device string: '", text, "'; it holds a zero");
  return text;
}

/// Why there is no GPU to use; empty where there is one.
const std::string& cuda_absence() {
  prepare_cuda();
  return kind_of(DeviceType::Cuda).why_absent();
}

/// A number alone is an index of the accelerator.
void check_number(PyObject* number) {
  if (Py_SIZE(number) < 0) fail("Device index must not be negative");
  if (!cuda_absence().empty()) fail("Cannot access accelerator device when none is available; use device='cpu'");
}

[[noreturn]] void refuse(const std::string& kind) {
  const std::string advice = kind == "cuda"
                                 ? "; " + cuda_absence()
                                 : std::string("; this build computes on the cpu and on cuda: use device='cpu'");
  std::string upper;
  for (char c : kind) upper += static_cast<char>(c - 'a' + 'A');
  if (kind == "mps") fail("PyTorch is not linked with support for mps devices", advice);
  if (kind == "cuda" || kind == "xpu")
    fail(ErrorKind::Assertion, "Torch not compiled with ", upper, " enabled", advice);
  fail(ErrorKind::NotImplemented, "Could not run 'aten::empty.memory_format' with arguments from the '", upper,
       "' backend", advice);
}

[[noreturn]] void refuse_arguments(PyObject* args, PyObject* kwargs) {
  std::string came;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i)
    came += (i ? ", " : "") + std::string(Py_TYPE(PyTuple_GET_ITEM(args, i))->tp_name);
  PyObject *key, *value;
  Py_ssize_t place = 0;
  while (kwargs && PyDict_Next(kwargs, &place, &key, &value))
    came += (came.empty() ? "" : ", ") + std::string(PyUnicode_AsUTF8(key)) + "=" + Py_TYPE(value)->tp_name;
  fail(ErrorKind::Type, "device() received an invalid combination of arguments - got (", came,
       "), but expected (device) or (str type, int index)");
}

int read_index(PyObject* number) {
  if (!PyIndex_Check(number) || PyBool_Check(number))
    fail(ErrorKind::Type, "device(): argument 'index' (position 2) must be int, not ", Py_TYPE(number)->tp_name);
  Object whole = checked(PyNumber_Index(number));
  int overflow = 0;
  int64_t index = PyLong_AsLongLongAndOverflow(whole.get(), &overflow);
  if (overflow)
    fail(ErrorKind::Value, "Overflow when unpacking long long: the index of a device is at most ", kMaxIndex);
  if (index < 0) fail("Device index must not be negative");
  if (index > kMaxIndex) fail("device(): the index of a device is at most ", kMaxIndex, ", got ", index);
  return static_cast<int>(index);
}

/// device("cuda:1"), device("cuda", 1), and by keywords; device(device) gives the device back.
PyObject* device_new(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* source = nullptr;  // "cuda:1", a device or a number
    PyObject* type = nullptr;    // "cuda" beside an index
    PyObject* number = nullptr;
    Py_ssize_t count = PyTuple_GET_SIZE(args);
    if (count > 2) refuse_arguments(args, kwargs);
    if (count > 0) (count == 1 ? source : type) = PyTuple_GET_ITEM(args, 0);
    if (count == 2) number = PyTuple_GET_ITEM(args, 1);
    PyObject *key, *value;
    Py_ssize_t place = 0;
    while (kwargs && PyDict_Next(kwargs, &place, &key, &value)) {
      bool is_type = PyUnicode_CompareWithASCIIString(key, "type") == 0;
      bool is_index = PyUnicode_CompareWithASCIIString(key, "index") == 0;
      bool is_device = PyUnicode_CompareWithASCIIString(key, "device") == 0;
      if (!is_type && !is_index && !is_device)
        fail(ErrorKind::Type, "device() got an unexpected keyword argument '", PyUnicode_AsUTF8(key), "'");
      PyObject** slot = is_type ? &type : is_index ? &number : &source;
      if (*slot) refuse_arguments(args, kwargs);
      *slot = value;
    }
    if (number && !type) std::swap(source, type);  // device("cuda", index=1)
    if (source ? type != nullptr : type == nullptr) refuse_arguments(args, kwargs);
    if (type && !is_text(type)) {
      if (!number || count == 0) refuse_arguments(args, kwargs);
      fail(ErrorKind::Type, "device(): argument 'type' (position 1) must be str, not ", Py_TYPE(type)->tp_name);
    }
    if (source && PyObject_TypeCheck(source, device_type)) return Py_NewRef(source);
    if (source && is_number(source)) {
      check_number(source);
      return new_device(kKinds[1], read_index(source));
    }
    if (source && !is_text(source)) refuse_arguments(args, kwargs);
    const char* text = text_of(source ? source : type);
    int index;
    const char* kind = parse_device(text, &index);
    if (number && index >= 0)
      fail("type (string) must not include an index because index was passed explicitly: ", text);
    if (number && number != Py_None) index = read_index(number);
    return new_device(kind, index);
  });
}
PyObject* device_reduce(PyObject* self, PyObject*) {
  auto* device = device_of(self);
  if (device->index < 0) return Py_BuildValue("(O(s))", device_type, device->kind);
  return Py_BuildValue("(O(si))", device_type, device->kind, device->index);
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
                              {Py_tp_doc, const_cast<char*>(help::kDeviceType)},
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

PyMethodDef functions[] = {{"get_default_device", py_get_default_device, METH_NOARGS, help::kGetDefaultDevice},
                           {"set_default_device", py_set_default_device, METH_O, help::kSetDefaultDevice},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

void prepare_cuda() {
  // No guard of the compiler's: another thread could wait for it with the interpreter lock, which the import needs.
  static bool prepared = false;
  if (!prepared) checked(in_python([] { return PyImport_ImportModule("adjoint.cuda"); }));
  prepared = true;
}

static PyObject* cuda_device(size_t index) {
  while (cuda_devices.size() <= index)
    cuda_devices.push_back(checked(new_device(kKinds[1], static_cast<int>(cuda_devices.size()))).take());
  return cuda_devices[index];
}

PyObject* device_object(Device device) {
  if (device.type == DeviceType::Cuda) return cuda_device(device.index);
  return device == DeviceType::Cpu ? cpu_device : meta_device;
}

std::string device_kind(PyObject* object) {
  if (PyObject_TypeCheck(object, device_type)) return device_of(object)->kind;
  if (is_number(object)) {
    check_number(object);
    return kKinds[1];
  }
  if (!is_text(object)) fail(ErrorKind::Type, "device must be a torch.device or str, not ", Py_TYPE(object)->tp_name);
  int index;
  return parse_device(text_of(object), &index);
}

bool names_device(PyObject* object) {
  return PyObject_TypeCheck(object, device_type) || is_text(object) || is_number(object);
}

Device to_device(PyObject* object) {
  std::string kind = device_kind(object);
  if (kind == "cpu") return DeviceType::Cpu;
  if (kind == "meta") return DeviceType::Meta;
  if (kind != "cuda" || !cuda_absence().empty()) refuse(kind);
  int index = -1;
  if (PyObject_TypeCheck(object, device_type)) {
    index = device_of(object)->index;
  } else if (is_number(object)) {
    index = read_index(object);
  } else {
    parse_device(text_of(object), &index);
  }
  if (index < 0) return {DeviceType::Cuda, static_cast<uint8_t>(kind_of(DeviceType::Cuda).current())};
  if (index >= kind_of(DeviceType::Cuda).count())
    fail_device("CUDA error: invalid device ordinal; there are ", kind_of(DeviceType::Cuda).count(),
                " devices, counted from 0, got ", index);
  return {DeviceType::Cuda, static_cast<uint8_t>(index)};
}

Device default_device() { return defaults_changed ? to_device(default_device_object()) : DeviceType::Cpu; }

void init_device(PyObject* module) {
  device_type = make_type(module, &device_spec, "device");
  cpu_device = new_device(kKinds[0], -1);
  int index;
  meta_device = new_device(parse_device("meta", &index), -1);
  check(cpu_device && meta_device);
  check(PyModule_AddFunctions(module, functions) == 0);
}

}  // namespace adjoint
