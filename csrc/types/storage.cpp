#include "types/storage.h"

#include <unordered_map>

#include "core/batched.h"
#include "core/help.h"
#include "core/mode.h"
#include "core/relocation.h"
#include "core/shared_memory.h"

namespace adjoint {
namespace {

/// Note [Storage objects]: a storage has at most one Python object, so that `is` tells whether memory is shared and
/// attributes stay. While tensors use the storage, its notes keep the object, which holds nothing; when the last one is
/// gone the object gets the only reference to the storage, and is kept by those alone who hold it.
struct StorageObject {
  PyObject_HEAD
  Storage* storage;
  Device device;
};

PyTypeObject* storage_type;
/// torch.UntypedStorage, which objects are made of, and torch.TypedStorage, which has one of them; owned, or null while
/// the module that defines them is not imported.
PyTypeObject* untyped_type = nullptr;
PyTypeObject* typed_type = nullptr;

StorageObject* object_of(PyObject* self) { return reinterpret_cast<StorageObject*>(self); }
Storage* storage_of(PyObject* self) {
  Storage* storage = object_of(self)->storage;
  if (!storage) fail("the storage was never made; use torch.UntypedStorage(size)");
  return storage;
}

void leave(Storage* storage) {
  StorageNotes* notes = notes_of(storage);
  notes->object_is_kept = false;
  storage->refs = 1;
  Py_DECREF(notes->object);
}

Object wrap_storage(Storage* storage, Device device, PyTypeObject* type) {
  StorageNotes& notes = make_notes(storage);
  if (notes.object) {
    Object found = Object::borrow(notes.object);
    keep_object(storage);
    return found;
  }
  Object made = checked(type->tp_alloc(type, 0));
  object_of(made.get())->storage = storage;
  object_of(made.get())->device = device;
  // Allocating may have run anything.
  StorageNotes& now = make_notes(storage);
  if (now.object) {
    object_of(made.get())->storage = nullptr;
    return Object::borrow(now.object);
  }
  now.object = Object::borrow(made.get()).take();
  now.object_is_kept = true;
  return made;
}

PyTypeObject* type_to_make() {
  if (!untyped_type) checked(PyImport_ImportModule("adjoint.storage"));
  if (!untyped_type) fail("torch.UntypedStorage is not defined yet: adjoint.storage is being imported");
  return untyped_type;
}

// ---- Weak references

/// Numbers that stand for storages, alive or gone. A number is the address of its storage, unless that is still the
/// number of one that lay there before.
struct Weak {
  Storage* storage;  ///< null: it is gone
  Device device;
  int64_t count;
};
std::unordered_map<uintptr_t, Weak>& weak_references() {
  static auto* table = new std::unordered_map<uintptr_t, Weak>;
  return *table;
}

void expire(uintptr_t weak) { weak_references().at(weak).storage = nullptr; }

uintptr_t weak_number(PyObject* number) {
  const auto value = static_cast<uintptr_t>(PyLong_AsUnsignedLongLong(number));
  check(!(value == static_cast<uintptr_t>(-1) && PyErr_Occurred()));
  return value;
}
Weak& find_weak(uintptr_t number) {
  auto found = weak_references().find(number);
  if (found == weak_references().end())
    fail(ErrorKind::Value, "expected a number that storage._weak_ref() gave and that was not freed; got ", number);
  return found->second;
}

PyObject* method_weak_ref(PyObject* self, PyObject*) {
  return guarded([&] {
    Storage* storage = storage_of(self);
    StorageNotes& notes = make_notes(storage);
    if (!notes.weak) {
      static uintptr_t next = 1;
      auto number = reinterpret_cast<uintptr_t>(storage);
      while (weak_references().contains(number)) number = next += 2;  // addresses are even
      weak_references()[number] = {storage, object_of(self)->device, 0};
      notes.weak = number;
    }
    ++weak_references()[notes.weak].count;
    return PyLong_FromUnsignedLongLong(notes.weak);
  });
}
PyObject* method_expired(PyObject*, PyObject* number) {
  return guarded([&] { return PyBool_FromLong(find_weak(weak_number(number)).storage == nullptr); });
}
PyObject* method_free_weak(PyObject*, PyObject* number) {
  return guarded([&]() -> PyObject* {
    const uintptr_t value = weak_number(number);
    Weak& weak = find_weak(value);
    if (--weak.count == 0) {
      if (weak.storage) make_notes(weak.storage).weak = 0;
      weak_references().erase(value);
    }
    Py_RETURN_NONE;
  });
}
PyObject* method_from_weak(PyObject*, PyObject* number) {
  return guarded([&]() -> PyObject* {
    const Weak weak = find_weak(weak_number(number));
    if (!weak.storage) Py_RETURN_NONE;
    return wrap_storage(weak.storage, weak.device, type_to_make()).take();
  });
}

// ---- The object

PyObject* storage_new(PyTypeObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_RuntimeError,
                  "Cannot directly construct StorageBase; subclass it and then construct that: use "
                  "torch.UntypedStorage(size)");
  return nullptr;
}

int storage_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return 0;
}

void storage_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  // Only an object that nothing keeps ends here, and it has a reference to its storage.
  if (Storage* storage = std::exchange(object_of(self)->storage, nullptr)) {
    make_notes(storage).object = nullptr;
    release(storage);
  }
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* method_nbytes(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromSize_t(storage_of(self)->nbytes); });
}
PyObject* method_data_ptr(PyObject* self, PyObject*) {
  return guarded([&] {
    const Storage* storage = storage_of(self);
    const bool none = storage->nbytes == 0 || object_of(self)->device == DeviceType::Meta;
    return PyLong_FromVoidPtr(none ? nullptr : storage->data);
  });
}
PyObject* method_resizable(PyObject* self, PyObject*) {
  return guarded([&] { return PyBool_FromLong(is_resizable(storage_of(self))); });
}
PyObject* get_cdata(PyObject* self, void*) {
  return guarded([&] { return PyLong_FromVoidPtr(storage_of(self)); });
}
PyObject* get_device(PyObject* self, void*) { return Py_NewRef(device_object(object_of(self)->device)); }

/// _resize(nbytes), of a number that is not negative.
PyObject* method_resize(PyObject* self, PyObject* number) {
  return guarded([&] {
    const size_t nbytes = PyLong_AsSize_t(number);
    check(!(nbytes == static_cast<size_t>(-1) && PyErr_Occurred()));
    if (nbytes >> 61) fail(ErrorKind::Memory, "DefaultCPUAllocator: can't allocate memory: ", nbytes, " bytes");
    resize_storage(storage_of(self), object_of(self)->device, nbytes);
    return Py_NewRef(self);
  });
}

/// _bytes(): a tensor of all bytes, which counts changes for itself: those to a storage are nobody's.
PyObject* method_bytes(PyObject* self, PyObject*) {
  return guarded([&] {
    Storage* storage = storage_of(self);
    const auto nbytes = static_cast<int64_t>(storage->nbytes);
    TensorPtr bytes = make_tensor(StoragePtr::borrow(storage), storage->data, make_shape({&nbytes, 1}), DType::UInt8,
                                  object_of(self)->device);
    detach_version(bytes.get());
    return as_object(bytes.take());
  });
}

/// _elements(dtype): a tensor of all elements of a type, which counts changes with others on the storage.
PyObject* method_elements(PyObject* self, PyObject* dtype) {
  return guarded([&] {
    const StorageValue value{StoragePtr::borrow(storage_of(self)), object_of(self)->device, std::nullopt};
    TensorPtr elements = on_storage(value, to_dtype(dtype));
    if (mode_flags & kInferenceMode) elements->flags |= kInferenceTensor;
    return as_object(elements.take());
  });
}

/// _part(begin, nbytes): a storage on part of the memory, which from now on stays where it is.
PyObject* method_part(PyObject* self, PyObject* args) {
  return guarded([&] {
    Py_ssize_t begin, count;
    check(PyArg_ParseTuple(args, "nn:_part", &begin, &count));
    Storage* storage = storage_of(self);
    const auto nbytes = static_cast<Py_ssize_t>(storage->nbytes);
    if (begin < 0 || count < 0 || begin > nbytes || count > nbytes - begin)
      fail(ErrorKind::Index, "_part(): ", count, " bytes from ", begin, " on are not in a storage of ", nbytes);
    make_notes(storage).lent = true;
    retain(storage);
    auto part = StoragePtr::steal(adopt_memory(
        storage->data + begin, static_cast<size_t>(count), [](void* whole) { release(static_cast<Storage*>(whole)); },
        storage));
    return wrap_storage(part.get(), object_of(self)->device, type_to_make()).take();
  });
}

/// _share(): moves the memory, with all tensors on it, to where other processes can map it; False when it cannot move.
PyObject* method_share(PyObject* self, PyObject*) {
  return guarded([&] {
    Storage* storage = storage_of(self);
    if (object_of(self)->device != DeviceType::Cpu) fail("_share_fd_: only available on CPU; use .cpu() first");
    if (shared_file(storage) >= 0) return Py_NewRef(Py_True);
    return PyBool_FromLong(move_storage(storage, StoragePtr::steal(allocate_shared(storage->nbytes))));
  });
}
PyObject* method_shared_file(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromLong(shared_file(storage_of(self))); });
}

PyMethodDef methods[] = {
    {"nbytes", method_nbytes, METH_NOARGS, "The number of bytes."},
    {"data_ptr", method_data_ptr, METH_NOARGS, "The address of the first byte; 0 when there is none."},
    {"resizable", method_resizable, METH_NOARGS, "Whether resize_() can change the size."},
    {"_resize", method_resize, METH_O, "Changes the number of bytes."},
    {"_bytes", method_bytes, METH_NOARGS, "All bytes, as a tensor of uint8."},
    {"_elements", method_elements, METH_O, "All elements of a type, as a tensor."},
    {"_part", method_part, METH_VARARGS, "A storage on part of the memory."},
    {"_share", method_share, METH_NOARGS, "Moves the memory to where other processes can map it."},
    {"_shared_file", method_shared_file, METH_NOARGS, "The file descriptor of shared memory, or -1."},
    {"_weak_ref", method_weak_ref, METH_NOARGS, "A number for the storage that does not keep it alive."},
    {"_expired", method_expired, METH_O | METH_STATIC, "Whether the storage of a number of _weak_ref() is gone."},
    {"_free_weak_ref", method_free_weak, METH_O | METH_STATIC, "Gives a number of _weak_ref() back."},
    {"_new_with_weak_ptr", method_from_weak, METH_O | METH_STATIC,
     "The storage of a number of _weak_ref(); None when it is gone."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef getset[] = {{"_cdata", get_cdata, nullptr, "A number that the storage alone has while it lives.", nullptr},
                        {"device", get_device, nullptr, "Where the bytes are.", nullptr},
                        {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(storage_new)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(storage_dealloc)},
                       {Py_tp_traverse, reinterpret_cast<void*>(storage_traverse)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, getset},
                       {Py_tp_doc, const_cast<char*>(help::kStorageBase)},
                       {0, nullptr}};
PyType_Spec spec = {"torch._C.StorageBase", sizeof(StorageObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

/// _storage_of(tensor, cls=None): the object of the storage that a tensor lies on, made of `cls` if there is none yet.
PyObject* py_storage_of(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject* object;
    PyObject* cls = Py_None;
    check(PyArg_ParseTuple(args, "O|O:_storage_of", &object, &cls));
    if (!is_tensor(object)) fail(ErrorKind::Type, "_storage_of(): expected a tensor; got ", Py_TYPE(object)->tp_name);
    Tensor* tensor = as_tensor(object);
    if (is_batched(tensor))
      fail(ErrorKind::NotImplemented,
           "Cannot access storage of BatchedTensorImpl: under vmap a tensor stands for all elements of the batch, and "
           "has no memory of its own. clone() copies it; what vmap returns can be copied and saved as any tensor");
    PyTypeObject* type = cls == Py_None ? type_to_make() : reinterpret_cast<PyTypeObject*>(cls);
    if (!PyType_Check(reinterpret_cast<PyObject*>(type)) || !PyType_IsSubtype(type, type_to_make()))
      fail(ErrorKind::Type, "_storage_of(): expected a type of storages");
    return wrap_storage(tensor->storage, tensor->device, type).take();
  });
}

/// _set_storage_types(untyped, typed)
PyObject* py_set_types(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *untyped, *typed;
    check(PyArg_ParseTuple(args, "O!O!:_set_storage_types", &PyType_Type, &untyped, &PyType_Type, &typed));
    if (!PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(untyped), storage_type))
      fail(ErrorKind::Type, "_set_storage_types(): expected a type that derives from StorageBase");
    Py_XSETREF(untyped_type, reinterpret_cast<PyTypeObject*>(Py_NewRef(untyped)));
    Py_XSETREF(typed_type, reinterpret_cast<PyTypeObject*>(Py_NewRef(typed)));
    Py_RETURN_NONE;
  });
}

PyObject* py_is_storage(PyObject*, PyObject* object) { return PyBool_FromLong(is_storage(object)); }

PyMethodDef functions[] = {
    {"_is_storage", py_is_storage, METH_O, "Whether an object is a storage."},
    {"_storage_of", py_storage_of, METH_VARARGS, "The storage of a tensor."},
    {"_set_storage_types", py_set_types, METH_VARARGS, "Sets the types that storages are objects of."},
    {nullptr, nullptr, 0, nullptr}};

bool is_typed(PyObject* object) { return typed_type && PyObject_TypeCheck(object, typed_type); }

}  // namespace

void keep_object(Storage* storage) {
  StorageNotes* notes = notes_of(storage);
  if (!notes || !notes->object || notes->object_is_kept || storage->refs < 2) return;
  notes->object_is_kept = true;
  Py_INCREF(notes->object);
  --storage->refs;
}

bool is_storage(PyObject* object) { return PyObject_TypeCheck(object, storage_type) || is_typed(object); }

StorageValue to_storage(PyObject* object) {
  Object untyped = Object::borrow(object);
  std::optional<DType> dtype;
  if (is_typed(object)) {
    untyped = checked(PyObject_GetAttrString(object, "_untyped_storage"));
    dtype = to_dtype(checked(PyObject_GetAttrString(object, "_dtype")).get());
  }
  if (!PyObject_TypeCheck(untyped.get(), storage_type))
    fail(ErrorKind::Type, "expected a storage; got ", Py_TYPE(untyped.get())->tp_name);
  return {StoragePtr::borrow(storage_of(untyped.get())), object_of(untyped.get())->device, dtype};
}

void check_storage_type(const StorageValue& value, DType dtype) {
  if (value.dtype && *value.dtype != dtype)
    fail("Expected a Storage of type ", info(dtype).legacy_name, " or an UntypedStorage, but got type ",
         info(*value.dtype).legacy_name, " for argument 1 'storage'; use tensor.view(dtype)");
}

TensorPtr on_storage(const StorageValue& value, DType dtype) {
  check_alignment(value.storage.get(), dtype);
  const auto count = static_cast<int64_t>(value.storage->nbytes) / itemsize(dtype);
  return make_tensor(value.storage, value.storage->data, make_shape({&count, 1}), dtype, value.device);
}

void init_storage(PyObject* module) {
  leave_to_object = leave;
  expire_weak = expire;
  storage_type = make_type(module, &spec, "StorageBase");
  check(PyModule_AddFunctions(module, functions) == 0);
}

}  // namespace adjoint
