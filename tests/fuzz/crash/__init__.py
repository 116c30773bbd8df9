"""Programs that make no sense, run on this library alone: none may crash, hang or fail internally.

pool.py           what calls are fed with: tensors of every type and layout, and values that make no sense
targets.py        what is called: everything public, with the arguments of tests/samples
layers.py         modules and optimizers; scenes.py: short programs of views, hooks, Functions, files and NumPy,
                  and the transforms that calls are put under: vmap, alone and with others around it or inside
program.py        one program from a seed and a number, written while it runs
judge.py          whether an exception is an answer or an accident
workers.py        processes with limits on memory and time, and what they leave behind when they die

python -m tests.fuzz.crash COUNT [SEED] [--first NUMBER] [--severe]

Under the sanitizers, which take no limit on addresses, add max_allocation_size_mb=1024:allocator_may_return_null=1 to
ASAN_OPTIONS.
"""
