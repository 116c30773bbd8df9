// The Generator type, the default generator and its seeds.
#include "types/generator.h"

#include <memory>

#include "core/help.h"
#include "core/tensor.h"
#include "types/types.h"

namespace adjoint {
namespace {

struct GeneratorObject {
  PyObject_HEAD
  Generator* generator;
  bool owned;
};

PyTypeObject* generator_type;
PyObject* default_object;

Generator& generator_in(PyObject* self) { return *reinterpret_cast<GeneratorObject*>(self)->generator; }

PyObject* wrap_generator(Generator* generator, bool owned) {
  auto* self = PyObject_New(GeneratorObject, generator_type);
  if (!self) return nullptr;
  self->generator = generator;
  self->owned = owned;
  return reinterpret_cast<PyObject*>(self);
}

PyObject* generator_new(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    static const char* names[] = {"device", nullptr};
    PyObject* device = Py_None;
    check(PyArg_ParseTupleAndKeywords(args, kwargs, "|O:Generator", const_cast<char**>(names), &device));
    if (device != Py_None && device_kind(device) != "cpu" && device_kind(device) != "cuda")
      fail("Cannot get a generator of the device ", device_kind(device), "; there are those of cpu and cuda only");
    auto generator =
        std::make_unique<Generator>(Generator::kDefaultSeed, device == Py_None ? Device() : to_device(device));
    Object self = checked(wrap_generator(generator.get(), true));
    generator.release();
    return self.take();
  });
}

void generator_dealloc(PyObject* self) {
  auto* object = reinterpret_cast<GeneratorObject*>(self);
  if (object->owned) delete object->generator;
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

/// Seeds are 64 bits, written as a signed or as an unsigned number.
uint64_t to_seed(PyObject* object) {
  int overflow = 0;
  int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow == 0) return static_cast<uint64_t>(value);
  uint64_t wide = overflow > 0 ? PyLong_AsUnsignedLongLong(object) : 0;
  if (overflow < 0 || PyErr_Occurred()) {
    PyErr_Clear();
    fail(ErrorKind::Value, "Overflow when unpacking long long: a seed is a number from -2**63 to 2**64 - 1");
  }
  return wide;
}

PyObject* generator_manual_seed(PyObject* self, PyObject* seed) {
  return guarded([&] {
    if (!PyLong_Check(seed) || PyBool_Check(seed))
      fail("manual_seed expected a long, but got ", Py_TYPE(seed)->tp_name);
    generator_in(self).manual_seed(to_seed(seed));
    return Py_NewRef(self);
  });
}
PyObject* generator_seed(PyObject* self, PyObject*) {
  return guarded([&] {
    uint64_t seed = nondeterministic_seed();
    generator_in(self).manual_seed(seed);
    return PyLong_FromUnsignedLongLong(seed);
  });
}
PyObject* generator_initial_seed(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLongLong(generator_in(self).initial_seed());
}
PyObject* generator_get_state(PyObject* self, PyObject*) {
  return guarded([&] {
    std::vector<uint8_t> state = generator_in(self).get_state();
    auto size = static_cast<int64_t>(state.size());
    TensorPtr result = empty({&size, 1}, DType::UInt8, DeviceType::Cpu);
    std::copy(state.begin(), state.end(), result->as<uint8_t>());
    return as_object(result.take());
  });
}
PyObject* generator_set_state(PyObject* self, PyObject* state) {
  return guarded([&] {
    if (!is_tensor(state)) fail(ErrorKind::Type, "expected a torch.ByteTensor, but got ", Py_TYPE(state)->tp_name);
    Tensor* bytes = as_tensor(state);
    if (bytes->dtype != DType::UInt8 || bytes->device != DeviceType::Cpu)
      fail(ErrorKind::Type, "RNG state must be a torch.ByteTensor");
    if (bytes->ndim() != 1) fail("RNG state must have one dimension; got ", bytes->ndim(), "; flatten() it");
    std::vector<uint8_t> packed(static_cast<size_t>(bytes->numel()));
    for (size_t i = 0; i < packed.size(); ++i)
      packed[i] = bytes->as<uint8_t>()[static_cast<int64_t>(i) * bytes->stride(0)];
    generator_in(self).set_state(packed.data(), packed.size());
    return Py_NewRef(self);
  });
}
PyObject* generator_clone_state(PyObject* self, PyObject*) {
  return guarded([&] {
    auto copy = std::make_unique<Generator>(Generator::kDefaultSeed, generator_in(self).device());
    std::vector<uint8_t> state = generator_in(self).get_state();
    copy->set_state(state.data(), state.size());
    Object result = checked(wrap_generator(copy.get(), true));
    copy.release();
    return result.take();
  });
}
void check_has_offset(PyObject* self) {
  if (generator_in(self).device().type == DeviceType::Cpu)
    fail("a generator of the CPU has no offset; make one with device='cuda', or take its state");
}
PyObject* generator_get_offset(PyObject* self, PyObject*) {
  return guarded([&] {
    check_has_offset(self);
    return PyLong_FromUnsignedLongLong(generator_in(self).offset());
  });
}
PyObject* generator_set_offset(PyObject* self, PyObject* offset) {
  return guarded([&] {
    check_has_offset(self);
    if (!PyLong_Check(offset) || PyBool_Check(offset))
      fail("set_offset expected a long, but got ", Py_TYPE(offset)->tp_name);
    generator_in(self).set_offset(to_seed(offset));
    return Py_NewRef(self);
  });
}
/// (Generator, (device,), (seed, offset, state)), as torch has it; there are no offsets on the CPU.
PyObject* generator_reduce(PyObject* self, PyObject*) {
  Object state = Object::steal(generator_get_state(self, nullptr));
  if (!state) return nullptr;
  const Device device = generator_in(self).device();
  Object offset =
      device.type == DeviceType::Cpu ? Object::borrow(Py_None) : Object::steal(generator_get_offset(self, nullptr));
  if (!offset) return nullptr;
  return Py_BuildValue("(O(O)(KOO))", generator_type, device_object(device),
                       static_cast<unsigned long long>(generator_in(self).initial_seed()), offset.get(), state.get());
}
PyObject* generator_setstate(PyObject* self, PyObject* parts) {
  if (!PyTuple_Check(parts) || PyTuple_GET_SIZE(parts) != 3)
    return PyErr_Format(PyExc_TypeError, "Generator: expected a state of three parts; got %s", Py_TYPE(parts)->tp_name);
  Object seeded = Object::steal(generator_manual_seed(self, PyTuple_GET_ITEM(parts, 0)));
  return seeded ? generator_set_state(self, PyTuple_GET_ITEM(parts, 2)) : nullptr;
}
PyObject* generator_device(PyObject* self, void*) { return Py_NewRef(device_object(generator_in(self).device())); }

PyMethodDef generator_methods[] = {
    {"manual_seed", generator_manual_seed, METH_O, help::kGeneratorManualSeed},
    {"seed", generator_seed, METH_NOARGS, help::kGeneratorSeed},
    {"initial_seed", generator_initial_seed, METH_NOARGS, help::kGeneratorInitialSeed},
    {"get_state", generator_get_state, METH_NOARGS, help::kGeneratorGetState},
    {"set_state", generator_set_state, METH_O, help::kGeneratorSetState},
    {"get_offset", generator_get_offset, METH_NOARGS, help::kGeneratorGetOffset},
    {"set_offset", generator_set_offset, METH_O, help::kGeneratorSetOffset},
    {"clone_state", generator_clone_state, METH_NOARGS, help::kGeneratorCloneState},
    {"__reduce__", generator_reduce, METH_NOARGS, "__reduce__(): what pickle asks for."},
    {"__setstate__", generator_setstate, METH_O, "__setstate__(state): what pickle kept."},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef generator_getset[] = {{"device", generator_device, nullptr, "The device of the generator.", nullptr},
                                  {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot generator_slots[] = {{Py_tp_new, reinterpret_cast<void*>(generator_new)},
                                 {Py_tp_dealloc, reinterpret_cast<void*>(generator_dealloc)},
                                 {Py_tp_methods, generator_methods},
                                 {Py_tp_getset, generator_getset},
                                 {Py_tp_doc, const_cast<char*>(help::kGenerator)},
                                 {0, nullptr}};
PyType_Spec generator_spec = {"adjoint.Generator", sizeof(GeneratorObject), 0, Py_TPFLAGS_DEFAULT, generator_slots};

/// manual_seed(seed) of the default generator takes whatever int() takes.
PyObject* py_manual_seed(PyObject*, PyObject* seed) {
  return guarded([&] {
    Object number = checked(PyNumber_Long(seed));
    const uint64_t value = to_seed(number.get());
    default_generator().manual_seed(value);
    seed_devices(value);
    return Py_NewRef(default_object);
  });
}
PyObject* py_seed(PyObject*, PyObject*) {
  Object seed = Object::steal(generator_seed(default_object, nullptr));
  if (seed) seed_devices(default_generator().initial_seed());
  return seed.take();
}
/// _device_generator(index): the default generator of a GPU. _seed_devices(seed): seeds those of all.
PyObject* py_device_generator(PyObject*, PyObject* index) {
  return guarded([&] {
    const long number = PyLong_AsLong(index);
    check(number != -1 || !PyErr_Occurred());
    const int count = kind_of(DeviceType::Cuda).count();
    if (number < 0 || number >= count) fail("there is no generator of GPU ", number, "; there are ", count, " GPUs");
    return checked(wrap_generator(&default_generator({DeviceType::Cuda, static_cast<uint8_t>(number)}), false)).take();
  });
}
PyObject* py_seed_devices(PyObject*, PyObject* seed) {
  return guarded([&] {
    Object number = checked(PyNumber_Long(seed));
    seed_devices(to_seed(number.get()));
    return Py_NewRef(Py_None);
  });
}
PyObject* py_initial_seed(PyObject*, PyObject*) { return generator_initial_seed(default_object, nullptr); }
PyObject* py_get_rng_state(PyObject*, PyObject*) { return generator_get_state(default_object, nullptr); }
PyObject* py_set_rng_state(PyObject*, PyObject* state) {
  Object result = Object::steal(generator_set_state(default_object, state));
  return result ? Py_NewRef(Py_None) : nullptr;
}

PyMethodDef functions[] = {
    {"manual_seed", py_manual_seed, METH_O, help::kManualSeed},
    {"seed", py_seed, METH_NOARGS, help::kSeed},
    {"_device_generator", py_device_generator, METH_O, "The default generator of a GPU."},
    {"_seed_devices", py_seed_devices, METH_O, "Seeds the default generators of all GPUs."},
    {"initial_seed", py_initial_seed, METH_NOARGS, help::kInitialSeed},
    {"get_rng_state", py_get_rng_state, METH_NOARGS, help::kGetRngState},
    {"set_rng_state", py_set_rng_state, METH_O, help::kSetRngState},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

Generator* to_generator(PyObject* object) {
  return Py_TYPE(object) == generator_type ? &generator_in(object) : nullptr;
}

void init_generator(PyObject* module) {
  generator_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&generator_spec)).take());
  check(PyModule_AddObjectRef(module, "Generator", reinterpret_cast<PyObject*>(generator_type)) == 0);
  default_object = checked(wrap_generator(&default_generator(), false)).take();
  check(PyModule_AddObjectRef(module, "default_generator", default_object) == 0);
  check(PyModule_AddFunctions(module, functions) == 0);
}

}  // namespace adjoint
