"""How Numba is made to compile a kernel in one piece, and helpers only once.

Numba optimises every helper and turns it into machine code of its own, then does so again
inside each function that calls it. Nobody calls our helpers from Python, so here they are only
linked into the kernel that needs them; the kernel alone is optimised. Helpers of a kernel are
private to it: one with a single caller is inlined, and one without a caller left is dropped.
"""

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


class _Nowhere:
    """Stands for the place of code that does not run by itself."""

    def set_env(self, name: str, environment: Any) -> None:
        pass


class _Linked(JITCodeLibrary):  # type: ignore[misc]
    """The code of a helper: kept as it is until a kernel links it."""

    @property
    def codegen(self) -> Any:
        return _Nowhere()

    def finalize(self) -> None:
        self._raise_if_finalized()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0


class _Whole(JITCodeLibrary):  # type: ignore[misc]
    """The code of a kernel with all its helpers."""

    def finalize(self) -> None:
        self._own = {function.name for function in self._final_module.functions}
        self._linking_libraries = _with_helpers(self._linking_libraries)
        super().finalize()

    def _optimize_final_module(self) -> None:
        ours = set()
        for library in self._linking_libraries:
            if isinstance(library, _Linked):
                for f in library._final_module.functions:
                    if not f.is_declaration:
                        ours.add(f.name)
        for function in self._final_module.functions:
            if not function.is_declaration and function.name in ours:
                function.linkage = "internal"
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)


def _with_helpers(libraries: list[Any]) -> list[Any]:
    found = {}
    left = list(reversed(libraries))
    while left:
        library = left.pop()
        if id(library) not in found:
            found[id(library)] = library
            if isinstance(library, _Linked):
                left += reversed(library._linking_libraries)
    return list(found.values())


class _Pipeline(Compiler):  # type: ignore[misc]
    library_class: Any

    def compile_extra(self, function: Any) -> Any:
        codegen = self.state.targetctx.codegen()
        self.state.library = self.library_class(codegen, function.__qualname__)
        self.state.library.enable_object_caching()
        return super().compile_extra(function)


class HelperPipeline(_Pipeline):
    """For functions that only kernels call."""

    library_class = _Linked


class KernelPipeline(_Pipeline):
    """For functions that are called from Python."""

    library_class = _Whole


HELPER = {"pipeline_class": HelperPipeline}
KERNEL = {"pipeline_class": KernelPipeline}
