"""Compile plain Python functions with Numba and keep the machine code on disk.

Start with `engine`: it binds a function to its data, compiled where Numba can. It uses

- `compiler`, which hands a function and all its helpers to Numba,
- `views`, which passes a NamedTuple of arrays to compiled code as one pointer,
- `fingerprint`, a hash of everything a function depends on,
- `cache`, the files of compiled code, named by that hash,
- `memory`, which moves nested arrays into one block of memory.

Nothing here knows about bandits. `docs/compiling.md` explains the design.
"""
