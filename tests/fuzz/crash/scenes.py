"""Short programs with holes: what is more than one call, such as hooks, Functions, saving, and views changed in place.

<t> a tensor, <u> one that was made before if there is one, <v> any value, <i> an integer, <s> sizes, <d> a type.
"""

SCENES = """
x = <t>; y = x[<v>]; y
x = <t>; x[<v>] = <v>; x
x = <t>; x[<v>, <v>] = <t>; x
x = <t>; y = x[<v>, <v>, <v>]; y.sum().backward()
x = <t>; v = x.view(<s>); v.mul_(2); x.sum().backward(); v
x = <t>; b = x * 1; v = b[...]; v.add_(<v>); b.sum().backward(); x.grad
x = <t>; b = x * 1; v = b.flatten(); w = v[:2]; w.copy_(<t>); v.mul_(v); b.sum().backward(); x.grad
x = <t>; b = x.clone(); p, *q = b.unbind(); p.add_(<v>); b.sum().backward()
x = <t>; b = x.clone(); p, *q = b.split(<i>); p.mul_(<t>); b.sum().backward()
x = <t>; y = x.as_strided(<s>, <s>, <i>); y.add_(1); y.sum().backward(); y
x = <t>; y = torch.as_strided(x, (2, 2), <s>, <i>); y
x = <t>; x.resize_(<s>); x.zero_(); x
x = <t>; x.set_(<v>); x
x = <t>; x.data = <v>; x.sum(); x
x = <t>; x.grad = <v>; x.sum().backward(); x.grad
x = <t>; x.requires_grad = <v>; x
x = <t>; x.requires_grad_(<v>); x.sum().backward()
x = <t>; x.names; x.real; x.imag; x.mT; x.mH; x.H; x.T
x = <t>; x += <v>; x *= <t>; x -= <v>; x.sum().backward()
x = <t>; x /= <v>; x //= <v>; x **= <v>; x
x = <t>; x &= <v>; x |= <v>; x ^= <v>; x <<= <v>; x >>= <v>; x
x = <t>; y = x + <v>; y = <v> * y; y = y - <t>; y = <v> / y; y.sum().backward()
x = <t>; y = x ** <v>; y = <v> ** x; y = x % <v>; y = x // <v>; y = x @ <v>; y
x = <t>; y = x == <v>; y = x < <v>; y = x >= <t>; y = -x; y = ~x; y = abs(x); y
x = <t>; y = x << <v>; y = x >> <t>; y = <v> & x; y = x | <t>; y
x = <t>; len(x); bool(x); int(x); float(x); complex(x); x.__index__(); list(x); hash(x); <v> in x
x = <t>; iter(x); reversed(x); format(x, <v>); divmod(x, <v>); round(x, <v>); x
x = <t>; h = x.register_hook(lambda g: <v>); (x * 2).sum().backward(); h.remove()
x = <t>; y = x * 2; h = y.register_hook(lambda g: <t>); y.retain_grad(); y.sum().backward(); y.grad
x = <t>; y = x * 2; h = y.grad_fn.register_prehook(lambda g: <v>); y.sum().backward()
x = <t>; y = x * 2; h = y.grad_fn.register_hook(lambda a, b: <v>); y.sum().backward()
x = <t>; x.register_post_accumulate_grad_hook(lambda p: p.grad.resize_(<s>)); (x * 2).sum().backward(); x.grad
x = <t>; y = x * 2; h = y.register_hook(lambda g: y.sum().backward(retain_graph=True)); y.sum().backward(retain_graph=True)
x = <t>; y = x.exp(); torch.autograd.grad(y, <v>, <v>)
x = <t>; y = x.sin(); torch.autograd.grad(y, x, <v>, <v>, <v>)
x = <t>; y = x * x; torch.autograd.grad([y, y], [x, <u>], [torch.ones_like(y), <v>], allow_unused=True)
x = <t>; y = x * x; torch.autograd.grad(y.sum(), x, create_graph=True)[0].sum().backward(); x.grad
x = <t>; y = x * x; torch.autograd.backward(<v>, <v>); x.grad
x = <t>; y = x * x; y.backward(<v>, inputs=<v>); x.grad
x = <t>; y = x * x; y.backward(<t>, retain_graph=True); y.backward(torch.ones_like(y)); x.grad
x = <t>; y = (x * x).sum(); y.backward(create_graph=True); x.grad.sum().backward(); x.grad = None
x = <t>; y = x.exp(); y.add_(1); y.sum().backward()
x = <t>; y = x.exp(); y.detach_(); y.requires_grad_(); y.sum().backward()
x = <t>; y = x * 2; g = y.grad_fn; g.next_functions; g(<v>); g.name(); g.metadata; dir(g); [getattr(g, n, 0) for n in dir(g)]
x = <t>; y = x.exp(); g = y.grad_fn; g._saved_result; y.sum().backward(); g._saved_result
x = <t>; F = type('F', (torch.autograd.Function,), {'forward': staticmethod(lambda c, *a: <v>), 'backward': staticmethod(lambda c, *g: <v>)}); y = F.apply(x, <v>); y.sum().backward()
x = <t>; F = type('F', (torch.autograd.Function,), {'forward': staticmethod(lambda c, a: a * 2), 'backward': staticmethod(lambda c, g: <v>)}); y = F.apply(x); y.sum().backward(); x.grad
x = <t>; F = type('F', (torch.autograd.Function,), {'forward': staticmethod(lambda c, a: (c.save_for_backward(a, <v>), a)[1]), 'backward': staticmethod(lambda c, g: c.saved_tensors[0] * g)}); y = F.apply(x); y.sum().backward()
x = <t>; F = type('F', (torch.autograd.Function,), {'forward': staticmethod(lambda c, a: (c.mark_dirty(a, <v>), a.mul_(2))[1]), 'backward': staticmethod(lambda c, g: g)}); y = F.apply(x * 1); y.sum().backward()
x = <t>; F = type('F', (torch.autograd.Function,), {'forward': staticmethod(lambda c, a: (c.mark_non_differentiable(<v>), a[...], a.clone())), 'backward': staticmethod(lambda c, *g: g[-1])}); y = F.apply(x); y[-1].sum().backward()
x = <t>; F = type('F', (torch.autograd.Function,), {'forward': staticmethod(lambda a: a * 2), 'setup_context': staticmethod(lambda c, i, o: c.save_for_backward(*i, o)), 'backward': staticmethod(lambda c, g: g * c.saved_tensors[<i> % 2])}); y = F.apply(x); torch.autograd.grad(y.sum(), x, create_graph=True)
x = <t>; c = torch.autograd.graph.saved_tensors_hooks(lambda t: <v>, lambda t: <v>); c.__enter__(); y = x.exp(); c.__exit__(None, None, None); y.sum().backward()
x = <t>; c = torch.autograd.graph.saved_tensors_hooks(<v>, <v>); c.__enter__(); y = x * x; c.__exit__(None, None, None); y.sum().backward()
x = <t>; c = torch.autograd.graph.save_on_cpu(); c.__enter__(); y = x * x; c.__exit__(None, None, None); y.sum().backward(); x.grad
x = <t>; y = torch.utils.checkpoint.checkpoint(lambda a: <v>, x, use_reentrant=<v>); y.sum().backward()
x = <t>; y = torch.utils.checkpoint.checkpoint(lambda a: a.exp() * a, x, use_reentrant=bool(<i> % 2)); y.sum().backward(); x.grad
x = <t>.reshape(-1)[:64]; torch.autograd.functional.jacobian(lambda a: <v>, x)
x = <t>.reshape(-1)[:64]; torch.autograd.functional.hessian(lambda a: (a * a).sum(), x, create_graph=<v>)
x = <t>; torch.autograd.functional.vjp(lambda a: a * 2, x, <v>)
x = <t>; torch.autograd.functional.jvp(lambda a: a * 2, x, <v>)
x = <t>; torch.autograd.graph.register_multi_grad_hook([x, <u>], lambda g: <v>); (x * 2).sum().backward()
x = <t>; torch.autograd.graph.increment_version(<v>); x
x = <t>; torch.autograd.gradcheck(lambda a: a * 2, x, raise_exception=False)
x = <t>; y = x * x; str(torch.inspect.graph(y)); torch.inspect.saved_tensors(y); str(torch.inspect.explain_grad(x, y))
x = <t>; torch.inspect.graph(<v>); torch.inspect.saved_tensors(<v>); torch.inspect.explain_grad(<v>, <v>)
x = <t>; with_mode = torch.inference_mode(<v>); with_mode.__enter__(); y = x * 2; with_mode.__exit__(None, None, None); y.add_(1); y.sum().backward()
x = <t>; c = torch.autocast('cpu', torch.bfloat16); c.__enter__(); y = x @ <t>; y = torch.nn.functional.linear(x, <t>); c.__exit__(None, None, None); y.sum().backward()
x = <t>; c = torch.autocast(<v>, <v>, <v>); c.__enter__(); y = x @ x; c.__exit__(None, None, None); y
x = <t>; copy.copy(x); copy.deepcopy(x); pickle.loads(pickle.dumps(x)); pickle.loads(pickle.dumps(x.detach()))
x = <t>; repr(x); str(x); torch.set_printoptions(precision=4); repr([x, <t>])
x = <t>; n = x.numpy(); n = np.asarray(x); n = np.array(x, dtype='f8'); np.add(x, <v>); np.sum(x); n[...] = 3; x
x = <t>; torch.from_numpy(x.detach().numpy()[..., ::-1]); torch.from_numpy(<v>); x
x = <t>; n = x.detach().numpy(); y = torch.from_numpy(n); y.resize_(<s>); y
x = <t>; y = torch.from_dlpack(x); y.add_(1); np.from_dlpack(x); x.__dlpack__(<v>); x.__dlpack_device__()
x = <t>; c = x.__dlpack__(); y = torch.from_dlpack(c); torch.from_dlpack(c)
x = <t>; torch.from_dlpack(<v>); torch.utils.dlpack.to_dlpack(<v>); torch.utils.dlpack.from_dlpack(<v>)
x = <t>; torch.tensor(<v>, dtype=<d>); torch.as_tensor(<v>); torch.asarray(<v>, dtype=<d>, copy=<v>)
x = <t>; torch.tensor([<v>, x, <u>]); torch.tensor([[x[0], <v>]]); torch.stack([x, <u>])
x = <t>; torch.frombuffer(<v>, dtype=<d>, count=<i>, offset=<i>)
x = <t>; torch.frombuffer(bytearray(64), dtype=<d>, count=<i>, offset=<i>).sum()
x = <t>; y = torch.empty(<s>, dtype=<d>); y.sum(); y = torch.zeros(<s>, dtype=<d>); y.sum(); y = torch.full(<s>, <v>, dtype=<d>); y.sum()
x = <t>; y = torch.empty_strided(<s>, <s>, dtype=<d>); y.fill_(1); y.sum(); y = x.new_empty_strided(<s>, <s>); y.zero_(); y
x = <t>; torch.arange(<v>, <v>, <v>, dtype=<d>).sum(); torch.linspace(<v>, <v>, <i>, dtype=<d>).sum()
x = <t>; torch.eye(<i>, <i>, dtype=<d>).sum(); torch.tril_indices(<i>, <i>, <i>); torch.randperm(<i>, dtype=<d>)
x = <t>; torch.rand(<s>, dtype=<d>); torch.randn(<s>, dtype=<d>); torch.randint(<i>, <i>, <s>, dtype=<d>)
x = <t>; x.normal_(<v>, <v>); x.uniform_(<v>, <v>); x.random_(<v>, <v>); x.exponential_(<v>); x.geometric_(<v>); x.bernoulli_(<v>)
x = <t>; torch.multinomial(x, <i>, <v>); torch.bernoulli(x, <v>); torch.poisson(x); torch.binomial(x, <t>); torch.normal(x, <v>)
x = <t>; g = torch.Generator(); g.manual_seed(<v>); g.set_state(<v>); g.get_state(); torch.rand(2, generator=g)
x = <t>; s = torch.get_rng_state(); s[<i>] = <i>; torch.set_rng_state(s); torch.rand(3)
x = <t>; b = io.BytesIO(); torch.save(x, b); torch.load(io.BytesIO(b.getvalue()), weights_only=<v>)
x = <t>; b = io.BytesIO(); torch.save({'a': x, 'b': <v>}, b); torch.load(io.BytesIO(b.getvalue()))
x = <t>; b = io.BytesIO(); torch.save([x, x.view(-1), <u>], b); b = bytearray(b.getvalue()); b[<i> * 7919 % len(b)] ^= 1 << (<i> % 8); torch.load(io.BytesIO(b)).sum()
x = <t>; b = io.BytesIO(); torch.save(x, b); torch.load(io.BytesIO(b.getvalue()[: <i> * 31 % 900])); torch.load(<v>)
x = <t>; b = io.BytesIO(); torch.save(x, b); d = b.getvalue(); k = <i> * 7919 % len(d); torch.load(io.BytesIO(d[:k] + bytes([<i> % 256]) * 4 + d[k + 4:]), weights_only=False)
x = <t>; s = x.untyped_storage(); s.nbytes(); s[<i>]; s.resize_(<i>); x.sum()
x = <t>; s = x.storage(); s[<i>]; list(s)[:3]; len(s); s.resize_(<i>); x
x = <t>; v = x.view(-1); y = (x * x).sum(); s = x.untyped_storage(); s.resize_(<i> % 5000); x.sum(); v.detach().fill_(1); s.resize_(<i> % 5000); y.backward(); v
x = <t>; s = x.untyped_storage(); s.resize_(0); x + x; x.clone(); x.tolist(); x.detach().numpy(); s.resize_(64); x
x = <t>; s = x.untyped_storage(); v = x[..., :1]; x.resize_(<s>); v.add_(1); s.nbytes(); v.untyped_storage() is s
x = <t>; n = x.detach().numpy(); s = x.untyped_storage(); s.resize_(<i> % 5000); s.share_memory_(); n.sum(); x.set_(s, <i>, <s>); n
x = <t>; s = x.untyped_storage(); p = s[<v>]; s.resize_(<i> % 5000); p.tolist(); p.share_memory_(); x.set_(p); x
x = <t>; s = x.untyped_storage(); x.set_(s, <v>, <v>, <v>); x.set_(s, <i>, <s>, <s>); x.sum()
x = <t>; y = <t>; y.set_(x.untyped_storage(), <i> % 9, <s>); y.add_(1); x.sum(); y
x = <t>; s = x.untyped_storage(); w = s._weak_ref(); s.note = x; del x; torch.UntypedStorage._expired(w); torch.UntypedStorage._new_with_weak_ptr(w); torch.UntypedStorage._free_weak_ref(w); torch.UntypedStorage._expired(<v>)
s = torch.UntypedStorage(<v>); s.fill_(<v>); s[<v>]; s[<v>] = <v>; s.copy_(<v>); s.resize_(<v>); s.clone()
s = torch.UntypedStorage(<v>, device=<v>); s.byteswap(<v>); s.type(<v>); s.to(device=<v>); s.float(); s.new()
s = torch.UntypedStorage(range((<i>) % 100)); s[<v>] = <v>; s[<i>:<i>].fill_(<v>); s.byteswap(<d>); s[<i>:].type(<v>); s.tolist()
s = torch.TypedStorage(<v>, dtype=<d>); s[<v>]; s[<v>] = <v>; s.fill_(<v>); s.copy_(<v>); s.resize_(<v>); s.type(<v>); s.tolist()
s = torch.TypedStorage(wrap_storage=torch.UntypedStorage(range(17))[<i>:], dtype=<d>); s.tolist(); s[<i>]; s.long(); copy.deepcopy([s, s]); pickle.loads(pickle.dumps(s))
torch.UntypedStorage.from_buffer(<v>, <v>, <v>, <v>, <v>)
torch.UntypedStorage.from_buffer(bytearray(range(64)), 'big', count=<i>, offset=<i>, dtype=<d>); torch.UntypedStorage.from_file(<v>, False, <v>); torch.from_file(<v>, False, <v>, dtype=<d>)
torch.UntypedStorage._new_shared_fd_cpu(<v>, <v>); torch.UntypedStorage._new_shared(<v>); torch.UntypedStorage._new_with_weak_ptr(<v>); torch._C._storage_of(<v>)
x = <t>; s = x.untyped_storage(); b = io.BytesIO(); torch.save([s, x, x._typed_storage(), <v>], b); torch.load(io.BytesIO(b.getvalue()))
x = <t>; y = x.share_memory_(); y.is_shared(); y.add_(1); y
x = <t>; p = torch.nn.Parameter(x); p.data.mul_(2); p.grad = torch.ones_like(p); torch.nn.utils.clip_grad_norm_([p], <v>); torch.nn.utils.clip_grad_value_([p], <v>)
x = <t>; s = torch.amp.GradScaler('cpu', <v>); o = torch.optim.SGD([x], 0.1); s.scale((x * 2).sum()).backward(); s.unscale_(o); s.step(o); s.update(<v>)
x = <t>; p = torch.nn.utils.rnn.pack_padded_sequence(x, <v>, <v>, <v>); torch.nn.utils.rnn.pad_packed_sequence(p)
x = <t>; p = torch.nn.utils.rnn.pack_padded_sequence(torch.rand(4, 2, 3), [4, 2]); r = torch.nn.LSTM(3, 2); r(p, <v>); r(p._replace(batch_sizes=<t>)); r(p._replace(data=<t>))
x = <t>; torch.nn.utils.rnn.pad_sequence([x, <u>], <v>, <v>); torch.nn.utils.parameters_to_vector([x, <u>]); torch.nn.utils.vector_to_parameters(<t>, [x, <u>])
x = <t>; torch.func.functional_call(torch.nn.Linear(3, 2), {'weight': <v>}, (x,)); torch.func.functional_call(torch.nn.Linear(3, 2), {'bias': <t>}, (x,))
x = <t>; y = functools.reduce(lambda a, _: a * 1.01, range(3000), x); y.sum().backward(); x.grad
x = <t>; y = functools.reduce(lambda a, _: a[...], range(3000), x * 1); y.add_(1); y.sum().backward(); x.grad
x = <t>; y = x * 1; [y[i : i + 1].mul_(2) for i in range(300)]; y.sum().backward(); x.grad
x = <t>; torch.einsum(<v>, x, <t>); torch.einsum('ij,jk->ik', x, <t>); torch.einsum(x, [0, 1], <t>, [1, 2], <v>)
x = <t>; a = torch.ops; torch.testing.assert_close(x, <v>); torch.testing.make_tensor(<s>, dtype=<d>, device='cpu', low=<v>, high=<v>)
x = <t>; torch.Size(<v>); torch.Size([2, 3])[<v>]; torch.device(<v>, <v>); torch.finfo(<v>); torch.iinfo(<v>)
x = <t>; x.to(<v>); x.to(<d>, <v>); x.type(<v>); x.view(<d>); x.contiguous(memory_format=<v>); x.cpu(<v>)
"""

SCENES = [line for line in SCENES.strip().splitlines() if line]

# What is done with the result of a call, <r>.
AFTER = """
repr(<r>)
<r>.tolist()
<r>.sum().backward()
<r>.sum().backward(create_graph=True)
<r>.backward(torch.ones_like(<r>))
<r>.backward(<v>)
torch.autograd.grad(<r>.sum(), [<u>], allow_unused=True, create_graph=True)
torch.autograd.grad(<r>, [<u>], <t>)
<r>.mul_(2)
<r>.add_(<t>)
<r>.zero_()
<r>[<v>] = <v>
<r>[<v>]
<r>.resize_(<s>)
<r>.view(<s>).add_(1)
<r>.reshape(-1)[::2].add_(1)
<r>.T.mul_(<r>)
<r>.copy_(<t>)
<r>.requires_grad_()
<r>.detach_()
<r>.clone().contiguous().view(-1)
<r>.numpy()
<r>.detach().numpy()[...]
copy.deepcopy(<r>)
pickle.loads(pickle.dumps(<r>))
torch.from_dlpack(<r>)
<r>.to(<d>)
<r>.to('meta').sum()
<r> + <u>
<r> * <r>
<r>.sum(<v>)
<r>.as_strided(<s>, <s>)
<r>.unfold(0, 1, 1).mul_(1)
<r>.register_hook(lambda g: <v>)
<r>.grad_fn.next_functions
<u>.grad
<u>.mul_(2)
<u>.resize_(0)
(<r> * 2).sum().backward()
(<r>.abs() + 1).log().sum().backward()
"""
AFTER = [line for line in AFTER.strip().splitlines() if line]

# Transforms of a function <f> of tensors <a>; <b> are these, or batches of them.
TRANSFORMS = """
torch.vmap(<f>, randomness='different')(*<b>)
torch.vmap(<f>, randomness='same')(*<b>)
torch.vmap(<f>, randomness='different')(*<b>)
torch.vmap(<f>)(*<b>)
torch.vmap(<f>, <v>, <v>)(*<b>)
torch.vmap(<f>, in_dims=-1, out_dims=-1, chunk_size=<i>)(*<b>)
torch.vmap(torch.vmap(<f>), randomness='different')(*[b[None] for b in <b>])
torch.vmap(<f>, randomness='different')(*[b[:0] for b in <b>])
torch.vmap(lambda *a: torch.func.grad(lambda *a: (<f>)(*a).sum())(*a))(*<b>)
torch.func.grad(lambda *a: torch.vmap(<f>)(*a).sum())(*<b>)
torch.func.jvp(<f>, <a>, <a>)
torch.vmap(lambda *a: torch.func.jvp(<f>, a, a))(*<b>)
torch.func.jvp(torch.vmap(<f>), tuple(<b>), tuple(<b>))
torch.func.vjp(<f>, *<a>)[1](<t>)
torch.func.jacrev(lambda *a: (<f>)(*a).reshape(-1)[:8])(*<a>)
torch.func.functionalize(<f>)(*<a>)
torch.vmap(torch.func.functionalize(<f>))(*<b>)
"""
TRANSFORMS = [line for line in TRANSFORMS.strip().splitlines() if line]

# Loading data, without processes of its own.
DATA = """
l = torch.utils.data.DataLoader(range(5), <v>, <v>); next(iter(l)); len(l)
l = torch.utils.data.DataLoader(range(5), 2, sampler=<v>); next(iter(l)); len(l)
l = torch.utils.data.DataLoader(range(5), batch_sampler=<v>); next(iter(l)); len(l)
l = torch.utils.data.DataLoader(<v>, 2); len(l)
l = torch.utils.data.DataLoader([<v>, <v>], 2); next(iter(l))
l = torch.utils.data.DataLoader(range(5), collate_fn=<v>, drop_last=<v>, generator=<v>); next(iter(l))
s = torch.utils.data.RandomSampler(range(5), <v>, <v>); next(iter(s)); len(s)
s = torch.utils.data.RandomSampler(range(5), num_samples=<i>); next(iter(s)); len(s)
s = torch.utils.data.RandomSampler(range(0), num_samples=<i>); next(iter(s)); len(s)
s = torch.utils.data.SequentialSampler(<v>); next(iter(s)); len(s)
s = torch.utils.data.SubsetRandomSampler(<v>, <v>); next(iter(s)); len(s)
s = torch.utils.data.WeightedRandomSampler(<v>, <v>, <v>); next(iter(s)); len(s)
s = torch.utils.data.WeightedRandomSampler([0.5, 1.0], <i>, <v>); next(iter(s)); len(s)
s = torch.utils.data.BatchSampler(<v>, <v>, <v>); next(iter(s)); len(s)
s = torch.utils.data.BatchSampler(range(5), <i>, True); next(iter(s)); len(s)
s = torch.utils.data.DistributedSampler(range(5), <i>, <i>, <v>, <v>); next(iter(s)); len(s)
d = torch.utils.data.TensorDataset(<v>, <v>); d[<v>]; len(d)
d = torch.utils.data.TensorDataset(); d[<v>]; len(d)
d = torch.utils.data.StackDataset(<v>, <v>); len(d)
d = torch.utils.data.ConcatDataset(<v>); len(d)
d = torch.utils.data.ConcatDataset([range(2), range(3)]); d[<i>]; d[<v>]
d = torch.utils.data.Subset(range(5), [1, 2]); len(d); d.__getitems__(<v>)
torch.utils.data.random_split(range(5), <v>); torch.utils.data.random_split(range(5), [<i>, <i>]); torch.utils.data.default_collate(<v>); torch.utils.data.default_collate([<v>, <v>]); torch.utils.data.default_convert(<v>)
"""
DATA = [line for line in DATA.strip().splitlines() if line]
