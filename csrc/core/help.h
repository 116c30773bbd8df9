// What help() shows for functions, methods and types of the native core: a signature, which inspect.signature reads, a
// sentence and an example. tests/test_documented.py sees that all have one, tests/test_docs.py runs the examples.
#pragma once

namespace adjoint::help {

// ---- python/tensor_type.cpp

inline constexpr char kDim[] = R"doc(dim($self)
--

The number of dimensions.

>>> import adjoint as torch
>>> torch.ones(2, 3).dim()
2
)doc";

inline constexpr char kNdimension[] = R"doc(ndimension($self)
--

The number of dimensions; another name of dim().

>>> import adjoint as torch
>>> torch.ones(2, 3).ndimension()
2
)doc";

inline constexpr char kNumel[] = R"doc(numel($self)
--

The number of elements.

>>> import adjoint as torch
>>> torch.ones(2, 3).numel()
6
)doc";

inline constexpr char kNelement[] = R"doc(nelement($self)
--

The number of elements; another name of numel().

>>> import adjoint as torch
>>> torch.ones(2, 3).nelement()
6
)doc";

inline constexpr char kElementSize[] = R"doc(element_size($self)
--

How many bytes an element takes.

>>> import adjoint as torch
>>> torch.ones(2, dtype=torch.float64).element_size()
8
)doc";

inline constexpr char kStorageOffset[] = R"doc(storage_offset($self)
--

How many elements of the storage lie before the first one.

>>> import adjoint as torch
>>> torch.arange(5)[2:].storage_offset()
2
)doc";

inline constexpr char kDataPtr[] = R"doc(data_ptr($self)
--

The address of the first element, as a number.

>>> import adjoint as torch
>>> x = torch.ones(4)
>>> x[2:].data_ptr() - x.data_ptr()
8
)doc";

inline constexpr char kIsFloatingPoint[] = R"doc(is_floating_point($self)
--

Whether the elements are real floats.

>>> import adjoint as torch
>>> torch.ones(2).is_floating_point(), torch.tensor([1, 2]).is_floating_point()
(True, False)
)doc";

inline constexpr char kIsComplex[] = R"doc(is_complex($self)
--

Whether the elements are complex numbers.

>>> import adjoint as torch
>>> torch.tensor([1j]).is_complex(), torch.ones(2).is_complex()
(True, False)
)doc";

inline constexpr char kIsSigned[] = R"doc(is_signed($self)
--

Whether the elements can be negative.

>>> import adjoint as torch
>>> torch.tensor([1]).is_signed(), torch.tensor([True]).is_signed()
(True, False)
)doc";

inline constexpr char kIsInference[] = R"doc(is_inference($self)
--

Whether the tensor was made in inference mode.

>>> import adjoint as torch
>>> with torch.inference_mode():
...     x = torch.ones(2)
>>> x.is_inference(), torch.ones(2).is_inference()
(True, False)
)doc";

inline constexpr char kSize[] = R"doc(size($self, dim=None)
--

The sizes of all dimensions, or of one of them.

>>> import adjoint as torch
>>> x = torch.ones(2, 3)
>>> x.size(), x.size(-1)
(torch.Size([2, 3]), 3)
)doc";

inline constexpr char kStride[] = R"doc(stride($self, dim=None)
--

How many elements apart neighbours lie: along all dimensions, or along one of them.

>>> import adjoint as torch
>>> x = torch.ones(2, 3)
>>> x.stride(), x.t().stride(0)
((3, 1), 1)
)doc";

inline constexpr char kIsContiguous[] = R"doc(is_contiguous($self, *, memory_format=...)
--

Whether the elements lie in memory in row-major order, or in that of a memory format.

>>> import adjoint as torch
>>> x = torch.ones(2, 3)
>>> x.is_contiguous(), x.t().is_contiguous()
(True, False)
)doc";

inline constexpr char kItem[] = R"doc(item($self)
--

The only element, as a number of Python.

>>> import adjoint as torch
>>> torch.tensor([[2.5]]).item()
2.5
)doc";

inline constexpr char kTolist[] = R"doc(tolist($self)
--

The elements as nested lists of numbers; of a 0-d tensor, the number.

>>> import adjoint as torch
>>> torch.tensor([[1, 2], [3, 4]]).tolist()
[[1, 2], [3, 4]]
)doc";

inline constexpr char kDetach[] = R"doc(detach_($self)
--

Drops the history of this tensor, which becomes a leaf that requires no gradient.

>>> import adjoint as torch
>>> x = torch.ones(2, requires_grad=True) * 2
>>> x.detach_()
tensor([2., 2.])
)doc";

inline constexpr char kRequiresGrad[] = R"doc(requires_grad_($self, requires_grad=True)
--

Sets whether operations on this tensor are recorded, and returns it.

>>> import adjoint as torch
>>> torch.ones(2).requires_grad_()
tensor([1., 1.], requires_grad=True)
)doc";

inline constexpr char kRetainGrad[] = R"doc(retain_grad($self)
--

Asks backward to keep .grad of this tensor, though it is no leaf.

>>> import adjoint as torch
>>> x = torch.tensor([3.0], requires_grad=True)
>>> y = x * 2
>>> y.retain_grad()
>>> (y * y).sum().backward()
>>> y.grad
tensor([12.])
)doc";

inline constexpr char kAsSubclass[] = R"doc(as_subclass($self, cls)
--

The same memory as a tensor of a subclass, with its history.

>>> import adjoint as torch
>>> class Length(torch.Tensor):
...     pass
>>> torch.ones(2).as_subclass(Length)
Length([1., 1.])
)doc";

inline constexpr char kTensorType[] = R"doc(Tensor(*data, device=None)
--

An n-dimensional array that can record what is computed from it.

Tensors are made by torch.tensor() and its like. The class itself makes float32 tensors: of sizes, uninitialised, or
of nested lists.

>>> import adjoint as torch
>>> torch.Tensor([1, 2])
tensor([1., 2.])
>>> x = torch.tensor([1.0, 2.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2., 4.])
)doc";

// ---- python/creation.cpp

inline constexpr char kNew[] = R"doc(new($self, *args, device=None)
--

torch.Tensor(...) in the type of this tensor: of sizes, uninitialised, or of data.

>>> import adjoint as torch
>>> torch.ones(2, dtype=torch.float64).new([1, 2])
tensor([1., 2.], dtype=torch.float64)
)doc";

inline constexpr char kNewTensor[] =
    R"doc(new_tensor($self, data, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False)
--

torch.tensor(data) in the type of this tensor, and on its device, unless told otherwise.

>>> import adjoint as torch
>>> torch.ones(2, dtype=torch.float64).new_tensor([1, 2])
tensor([1., 2.], dtype=torch.float64)
)doc";

// ---- python/creation_data.cpp

inline constexpr char kTensor[] = R"doc(tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False)
--

A new tensor with a copy of data: a number, nested lists of numbers, an array.

The type is that of the data, whole numbers int64 and others the default float type, unless dtype says otherwise.

>>> import adjoint as torch
>>> torch.tensor([[1, 2], [3, 4]])
tensor([[1, 2],
        [3, 4]])
>>> torch.tensor([1.5, 2.0], requires_grad=True)
tensor([1.5000, 2.0000], requires_grad=True)
)doc";

inline constexpr char kAsTensor[] = R"doc(as_tensor(data, dtype=None, device=None)
--

Data as a tensor: the tensor itself, one on the memory of a NumPy array, or a copy where it must be.

>>> import adjoint as torch
>>> x = torch.ones(2)
>>> torch.as_tensor(x) is x
True
>>> torch.as_tensor([1, 2])
tensor([1, 2])
)doc";

inline constexpr char kAsarray[] = R"doc(asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False)
--

An object as a tensor, on its memory where that can be; copy=True copies always, copy=False never.

>>> import adjoint as torch
>>> import numpy as np
>>> a = np.zeros(2)
>>> x = torch.asarray(a)
>>> a[0] = 7
>>> x
tensor([7., 0.], dtype=torch.float64)
)doc";

// ---- op/autocast.cpp

inline constexpr char kIsAutocastCacheEnabled[] = R"doc(is_autocast_cache_enabled()
--

Whether autocast keeps the casts of parameters until its context ends.

>>> import adjoint as torch
>>> torch.is_autocast_cache_enabled()
True
)doc";

inline constexpr char kSetAutocastCacheEnabled[] = R"doc(set_autocast_cache_enabled(enabled, /)
--

Sets whether autocast keeps the casts of parameters until its context ends.

>>> import adjoint as torch
>>> torch.set_autocast_cache_enabled(False)
>>> torch.is_autocast_cache_enabled()
False
>>> torch.set_autocast_cache_enabled(True)
)doc";

inline constexpr char kAutocastIncrementNesting[] = R"doc(autocast_increment_nesting()
--

Counts one more open autocast context; returns how many there are.

>>> import adjoint as torch
>>> torch.autocast_increment_nesting()
1
>>> torch.autocast_decrement_nesting()
0
)doc";

inline constexpr char kAutocastDecrementNesting[] = R"doc(autocast_decrement_nesting()
--

Counts one open autocast context less; returns how many there are.

>>> import adjoint as torch
>>> torch.autocast_increment_nesting()
1
>>> torch.autocast_decrement_nesting()
0
)doc";

inline constexpr char kClearAutocastCache[] = R"doc(clear_autocast_cache()
--

Drops the casts of parameters that autocast keeps.

>>> import adjoint as torch
>>> torch.clear_autocast_cache()
)doc";

// ---- python/module.cpp

inline constexpr char kGetDefaultDtype[] = R"doc(get_default_dtype()
--

The type of new tensors of floats where none is given.

>>> import adjoint as torch
>>> torch.get_default_dtype()
torch.float32
)doc";

inline constexpr char kSetDefaultDtype[] = R"doc(set_default_dtype(d, /)
--

Sets the type of new tensors of floats where none is given.

>>> import adjoint as torch
>>> torch.set_default_dtype(torch.float64)
>>> torch.ones(1).dtype
torch.float64
>>> torch.set_default_dtype(torch.float32)
)doc";

inline constexpr char kGetNumThreads[] = R"doc(get_num_threads()
--

How many threads kernels may use.

>>> import adjoint as torch
>>> torch.get_num_threads() >= 1
True
)doc";

inline constexpr char kSetNumThreads[] = R"doc(set_num_threads(count, /)
--

Sets how many threads kernels may use. Results do not depend on it.

>>> import adjoint as torch
>>> before = torch.get_num_threads()
>>> torch.set_num_threads(1)
>>> torch.get_num_threads()
1
>>> torch.set_num_threads(before)
)doc";

inline constexpr char kResultType[] = R"doc(result_type(tensor1, tensor2, /)
--

The type in which two tensors or numbers meet, as in their sum.

>>> import adjoint as torch
>>> torch.result_type(torch.tensor([1]), 1.5)
torch.float32
)doc";

inline constexpr char kPromoteTypes[] = R"doc(promote_types(type1, type2, /)
--

The smallest type that both types can be converted to.

>>> import adjoint as torch
>>> torch.promote_types(torch.int32, torch.float16)
torch.float16
)doc";

inline constexpr char kCanCast[] = R"doc(can_cast(from_, to, /)
--

Whether values of the first type may be written into a tensor of the second.

>>> import adjoint as torch
>>> torch.can_cast(torch.float32, torch.float64), torch.can_cast(torch.float32, torch.int64)
(True, False)
)doc";

// ---- python/dlpack.cpp

inline constexpr char kFromDlpack[] = R"doc(from_dlpack(ext_tensor, *, device=None, copy=None)
--

A tensor on the memory of another library's array, which offers it by __dlpack__.

>>> import adjoint as torch
>>> import numpy as np
>>> torch.from_dlpack(np.arange(3.0))
tensor([0., 1., 2.], dtype=torch.float64)
)doc";

// ---- python/interop.cpp

inline constexpr char kFromNumpy[] = R"doc(from_numpy(ndarray, /)
--

A tensor on the memory of a NumPy array: what is written into the one is seen in the other.

>>> import adjoint as torch
>>> import numpy as np
>>> torch.from_numpy(np.array([1, 2]))
tensor([1, 2])
)doc";

inline constexpr char kFrombuffer[] = R"doc(frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False)
--

A 1-d tensor on the memory of bytes, an array or another buffer, from a number of bytes on.

>>> import adjoint as torch
>>> torch.frombuffer(bytearray([1, 0, 2, 0]), dtype=torch.int16)
tensor([1, 2], dtype=torch.int16)
)doc";

inline constexpr char kNumpy[] = R"doc(numpy($self, *, force=False)
--

A NumPy array on the same memory; force=True gives a detached copy where there can be none.

>>> import adjoint as torch
>>> torch.tensor([1.0, 2.0]).numpy()
array([1., 2.], dtype=float32)
)doc";

// ---- types/device.cpp

inline constexpr char kGetDefaultDevice[] = R"doc(get_default_device()
--

The device of new tensors where none is given.

>>> import adjoint as torch
>>> torch.get_default_device()
device(type='cpu')
)doc";

inline constexpr char kSetDefaultDevice[] = R"doc(set_default_device(device, /)
--

Sets the device of new tensors where none is given, in this thread; None is the CPU.

>>> import adjoint as torch
>>> torch.set_default_device("meta")
>>> torch.ones(2).device
device(type='meta')
>>> torch.set_default_device(None)
)doc";

inline constexpr char kDeviceType[] = R"doc(device(type, index=None)
--

Where a tensor's memory lies. As a context it is the device of tensors that are made in it.

>>> import adjoint as torch
>>> torch.device("cpu")
device(type='cpu')
>>> with torch.device("meta"):
...     torch.ones(2).device
device(type='meta')
)doc";

// ---- types/generator.cpp

inline constexpr char kManualSeed[] = R"doc(manual_seed(seed, /)
--

Starts the default generator's stream of this seed, from which random functions draw, and returns the generator.

>>> import adjoint as torch
>>> _ = torch.manual_seed(0)
>>> x = torch.rand(2)
>>> _ = torch.manual_seed(0)
>>> torch.equal(x, torch.rand(2))
True
)doc";

inline constexpr char kSeed[] = R"doc(seed()
--

Starts a stream that nobody can foresee, and returns its seed.

>>> import adjoint as torch
>>> torch.seed() == torch.initial_seed()
True
)doc";

inline constexpr char kInitialSeed[] = R"doc(initial_seed()
--

The seed that the default generator's stream was started with.

>>> import adjoint as torch
>>> _ = torch.manual_seed(3)
>>> torch.initial_seed()
3
)doc";

inline constexpr char kGetRngState[] = R"doc(get_rng_state()
--

The state of the default generator, as a tensor of bytes.

>>> import adjoint as torch
>>> state = torch.get_rng_state()
>>> x = torch.rand(2)
>>> torch.set_rng_state(state)
>>> torch.equal(x, torch.rand(2))
True
)doc";

inline constexpr char kSetRngState[] = R"doc(set_rng_state(new_state, /)
--

Goes on from a state of the default generator that get_rng_state() has given.

>>> import adjoint as torch
>>> state = torch.get_rng_state()
>>> x = torch.rand(2)
>>> torch.set_rng_state(state)
>>> torch.equal(x, torch.rand(2))
True
)doc";

inline constexpr char kGeneratorManualSeed[] = R"doc(manual_seed($self, seed, /)
--

Starts the stream of this seed, and returns the generator.

>>> import adjoint as torch
>>> torch.Generator().manual_seed(5).initial_seed()
5
)doc";

inline constexpr char kGeneratorSeed[] = R"doc(seed($self)
--

Starts a stream that nobody can foresee, and returns its seed.

>>> import adjoint as torch
>>> g = torch.Generator()
>>> g.seed() == g.initial_seed()
True
)doc";

inline constexpr char kGeneratorInitialSeed[] = R"doc(initial_seed($self)
--

The seed that the stream was started with.

>>> import adjoint as torch
>>> torch.Generator().manual_seed(5).initial_seed()
5
)doc";

inline constexpr char kGeneratorGetState[] = R"doc(get_state($self)
--

The state, as a tensor of bytes.

>>> import adjoint as torch
>>> torch.Generator().get_state().dtype
torch.uint8
)doc";

inline constexpr char kGeneratorSetState[] = R"doc(set_state($self, new_state, /)
--

Goes on from a state, and returns the generator.

>>> import adjoint as torch
>>> a, b = torch.Generator().manual_seed(5), torch.Generator()
>>> _ = b.set_state(a.get_state())
>>> torch.equal(torch.rand(2, generator=a), torch.rand(2, generator=b))
True
)doc";

inline constexpr char kGeneratorGetOffset[] = R"doc(get_offset($self)
--

How far the stream of a GPU's generator has come: four for each fill.

>>> import adjoint as torch
>>> torch.Generator("cuda").get_offset() if torch.cuda.is_available() else 0
0)doc";

inline constexpr char kGeneratorSetOffset[] = R"doc(set_offset($self, offset, /)
--

Sets how far the stream of a GPU's generator has come, a multiple of four; returns the generator.

>>> import adjoint as torch
>>> torch.Generator("cuda").set_offset(8).get_offset() if torch.cuda.is_available() else 8
8)doc";

inline constexpr char kGeneratorCloneState[] = R"doc(clone_state($self)
--

A second generator in the same state.

>>> import adjoint as torch
>>> g = torch.Generator().manual_seed(5)
>>> torch.equal(torch.rand(2, generator=g.clone_state()), torch.rand(2, generator=g))
True
)doc";

inline constexpr char kGenerator[] = R"doc(Generator(device='cpu')
--

A stream of random numbers of its own, which functions that draw take as generator=.

>>> import adjoint as torch
>>> g = torch.Generator().manual_seed(0)
>>> torch.randint(10, (3,), generator=g)
tensor([4, 9, 3])
)doc";

// ---- python/autograd_bindings.cpp

inline constexpr char kIsGradEnabled[] = R"doc(is_grad_enabled()
--

Whether operations are recorded in this thread.

>>> import adjoint as torch
>>> with torch.no_grad():
...     torch.is_grad_enabled()
False
)doc";

// ---- types/types.cpp

inline constexpr char kDtypeType[] = R"doc(The type of a tensor's elements, such as torch.float32.

>>> import adjoint as torch
>>> torch.ones(2).dtype, torch.float32.itemsize
(torch.float32, 4)
)doc";

inline constexpr char kSizeType[] = R"doc(The sizes of a tensor: a tuple of whole numbers.

>>> import adjoint as torch
>>> torch.Size([2, 3]).numel()
6
>>> torch.ones(2, 3).shape == (2, 3)
True
)doc";

// ---- op/overrides.cpp

inline constexpr char kHasTorchFunction[] = R"doc(_has_torch_function(args, /)
--

Whether a call with these arguments is taken over, by the class of one of them or by a mode.

>>> import adjoint as torch
>>> from adjoint.overrides import has_torch_function
>>> has_torch_function((torch.ones(2), 1))
False
)doc";

inline constexpr char kHasTorchFunctionVariadic[] = R"doc(_has_torch_function_variadic(*args)
--

Whether a call with these arguments is taken over, by the class of one of them or by a mode.

>>> import adjoint as torch
>>> from adjoint.overrides import has_torch_function_variadic
>>> has_torch_function_variadic(torch.ones(2), 1)
False
)doc";

// ---- python/graph_bindings.cpp

inline constexpr char kSavedTensor[] = R"doc(SavedTensor(tensor)
--

A tensor that a node keeps for backward; hooks may pack it and unpack it.

>>> import adjoint as torch
>>> x = torch.ones(2, requires_grad=True)
>>> type(x.exp().grad_fn._raw_saved_result).__name__
'SavedTensor'
)doc";

// ---- tape/node.cpp

inline constexpr char kNode[] = R"doc(A node of the graph that backward walks: `grad_fn` of what was computed.

>>> import adjoint as torch
>>> x = torch.ones(2, requires_grad=True)
>>> node = (x * 2).exp().grad_fn
>>> node.name(), node.next_functions[0][0].name()
('ExpBackward0', 'MulBackward0')
)doc";

// ---- types/storage.cpp

inline constexpr char kStorageBase[] = R"doc(StorageBase(*args, device=None)
--

The memory of tensors, as bytes: the base of torch.UntypedStorage.

>>> import adjoint as torch
>>> isinstance(torch.ones(2).untyped_storage(), torch.StorageBase)
True
)doc";

// ---- types/formats.cpp

inline constexpr char kMemoryFormat[] =
    R"doc(The order in which the elements of a tensor lie in memory, such as torch.channels_last.

>>> import adjoint as torch
>>> x = torch.ones(1, 2, 3, 3).to(memory_format=torch.channels_last)
>>> x.stride()
(18, 1, 6, 2)
)doc";

inline constexpr char kLayout[] =
    R"doc(How a tensor keeps its elements: torch.strided all of them, torch.sparse_coo and others some.

>>> import adjoint as torch
>>> torch.ones(2).layout, torch.ones(2).to_sparse().layout
(torch.strided, torch.sparse_coo)
)doc";

}  // namespace adjoint::help
