"""How Numba is made to compile a kernel in one piece.

Numba optimises every helper and turns it into machine code of its own, then does both again
inside each function that calls it. Nobody calls our helpers from Python, so here they are only
kept as they are, not optimised at all, and linked into the kernels that need them. A kernel is
optimised as a whole, and its helpers are private to it: one with a single caller is inlined,
however long it is, and one without a caller is dropped. Kernels compile in less time and run up to
twice as fast.

This uses insides of Numba that may change. `works` tries them out once per process, before the
first function is compiled; where they fail, Numba's own way is taken, which gives the same bits.
Only functions that were marked with one of the two pipelines are concerned.
"""

import warnings
from typing import Any

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.typed_passes import IRLegalization

from globalbandits.compiling.borrowing import BorrowingPass
from globalbandits.compiling.quicker import quicker

_UNRESOLVED = ".numba.unresolved$"  # names of pointers to functions that call each other
_state: dict[str, bool] = {}  # "works": what a trial has shown


class _Environments:
    """Takes the environments of helpers, until there is code that has a place for them."""

    def __init__(self) -> None:
        self.taken: list[tuple[str, Any]] = []

    def set_env(self, name: str, environment: Any) -> None:
        """Keep one."""
        self.taken.append((name, environment))


class _Linked(JITCodeLibrary):  # type: ignore[misc]
    """The code of a helper: kept as it is until a kernel links it."""

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self.environments = _Environments()

    @property
    def codegen(self) -> Any:
        return self.environments

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        self._raise_if_finalized()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """There is no machine code."""
        self._ensure_finalized()
        return 0


class _Whole(JITCodeLibrary):  # type: ignore[misc]
    """The code of a kernel with all its helpers."""

    _linking_libraries: list[Any]

    def finalize(self) -> None:
        self._linking_libraries = _with_helpers(self._linking_libraries)
        super().finalize()
        for library in self._linking_libraries:
            if isinstance(library, _Linked):
                for name, environment in library.environments.taken:
                    if self._codegen._engine.is_symbol_defined(name):
                        self._codegen.set_env(name, environment)

    def _optimize_final_module(self) -> None:
        module = self._final_module
        pointed_to = {value.name.removeprefix(_UNRESOLVED) for value in module.global_variables}
        helpers = _names_of_helpers(self._linking_libraries)
        for function in module.functions:  # without those that only dead code had called
            if function.name in helpers and not function.is_declaration:
                function.linkage = "weak_odr" if function.name in pointed_to else "internal"
        passes = self._codegen._module_pass_manager()
        if isinstance(passes, tuple):  # since Numba 0.62
            manager, builder = passes
            manager.run(module, builder)
        else:
            passes.run(module)


def _with_helpers(libraries: list[Any]) -> list[Any]:
    """Libraries with all that their helpers need, each once, and after all that need it.

    LLVM takes a helper only if something it has taken before calls it.
    """
    begun: set[int] = set()
    backwards: list[Any] = []

    def visit(library: Any) -> None:
        if id(library) not in begun:
            begun.add(id(library))
            if isinstance(library, _Linked):
                for needed in reversed(library._linking_libraries):
                    visit(needed)
            backwards.append(library)

    for library in reversed(libraries):
        visit(library)
    return backwards[::-1]


def _names_of_helpers(libraries: list[Any]) -> set[str]:
    """Functions defined in libraries of helpers."""
    return {
        function.name
        for library in libraries
        if isinstance(library, _Linked)
        for function in library._final_module.functions
        if not function.is_declaration
    }


def has_rings(library: Any) -> bool:
    """Whether functions of a library call each other, by pointers that this process has set."""
    pointers = (value.name for value in library._final_module.global_variables)
    return any(name.startswith(_UNRESOLVED) for name in pointers)


class _Pipeline(Compiler):  # type: ignore[misc]
    """Numba's own passes; code goes into a library of our kind."""

    library: Any

    def compile_extra(self, function: Any) -> Any:
        if not works():
            return super().compile_extra(function)
        codegen = self.state.targetctx.codegen()
        self.state.library = self.library(codegen, function.__qualname__)
        self.state.library.enable_object_caching()
        with quicker():
            return super().compile_extra(function)

    def define_pipelines(self) -> Any:
        pipelines = super().define_pipelines()
        if works():
            for passes in pipelines:
                passes.add_pass_after(BorrowingPass, IRLegalization)
                passes.finalize()
        return pipelines


class HelperPipeline(_Pipeline):
    """For functions that only kernels call."""

    library = _Linked


class KernelPipeline(_Pipeline):
    """For functions that are called from Python, or by address."""

    library = _Whole


def works() -> bool:
    """Whether this version of Numba can be used this way."""
    if "works" not in _state:
        _state["works"] = True  # for the functions of the trial
        try:
            _state["works"] = _is_right(*_trial())
        except Exception as error:  # whatever has changed inside Numba
            _state["works"] = False
            warnings.warn(
                f"Numba {numba.__version__} is taken as it is, and compiles more slowly: {error}",
                RuntimeWarning,
                stacklevel=2,
            )
    return _state["works"]


def _trial() -> tuple[Any, Any]:
    """A kernel with a helper that has a helper."""

    @numba.njit(pipeline_class=HelperPipeline, no_cpython_wrapper=True, no_cfunc_wrapper=True)
    def inner(x):  # type: ignore[no-untyped-def] # numba: disable
        if x < 0.0:
            raise ValueError("negative")
        return x + 1.0

    @numba.njit(pipeline_class=HelperPipeline, no_cpython_wrapper=True, no_cfunc_wrapper=True)
    def outer(x):  # type: ignore[no-untyped-def]
        return 2.0 * inner(x)

    @numba.njit(pipeline_class=KernelPipeline, no_cfunc_wrapper=True)
    def kernel(x):  # type: ignore[no-untyped-def]
        return outer(x) + inner(x)

    return kernel, inner


def _is_right(kernel: Any, helper: Any) -> bool:
    """Whether the trial gives what it should, and its helper has no code of its own."""
    if kernel(1.0) != 6.0:
        return False
    (result,) = helper.overloads.values()
    if not isinstance(result.library, _Linked):
        return False
    try:
        kernel(-1.0)
    except ValueError:
        return True
    return False
