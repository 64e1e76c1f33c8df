"""States that kernels hand to each other by their address.

Numba passes a named tuple of arrays as some ten numbers for each array, hundreds for a state, which every call takes apart and
every function puts together again: a third of all code there was to compile. A class that is `passed_by_address` is laid
down once, when a kernel is called from Python; its fields are read where they are used, and nothing else can be done with it.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.imputils import impl_ret_borrowed, lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import NativeValue, register_model, typeof_impl, unbox

_types: Any = types  # untyped
_models: Any = models
_cgutils: Any = cgutils
_borrowed: Any = impl_ret_borrowed
_Template: Any = AttributeTemplate
_Native: Any = NativeValue
_lower_fields: Any = lower_getattr_generic
_infer_fields: Any = infer_getattr
_model: Any = register_model
_unboxes: Any = unbox


class ByAddress(_types.Type):  # type: ignore[misc]
    """The type of a named tuple that is passed by its address."""

    def __init__(self, parts: Any, of: type) -> None:
        self.types, self.instance_class, self.fields = tuple(parts), of, tuple(of._fields)  # type: ignore[attr-defined]
        super().__init__(f"address of {of.__name__}({', '.join(map(str, self.types))})")

    @property
    def key(self) -> Any:
        return self.instance_class, self.types


@_model(ByAddress)
class _Model(_models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        fields = [manager.lookup(part).get_value_type() for part in kind.types]
        super().__init__(manager, kind, ir.LiteralStructType(fields).as_pointer())


@_infer_fields
class _Fields(_Template):  # type: ignore[misc]
    key = ByAddress

    def generic_resolve(self, kind: Any, field: str) -> Any:
        return kind.types[kind.fields.index(field)] if field in kind.fields else None


@_lower_fields(ByAddress)  # type: ignore[untyped-decorator]
def _read(context: Any, builder: Any, kind: Any, address: Any, field: str) -> Any:
    place = kind.fields.index(field)
    value = builder.load(_cgutils.gep_inbounds(builder, address, 0, place))
    return _borrowed(context, builder, kind.types[place], value)


@_unboxes(ByAddress)  # type: ignore[untyped-decorator]
def _lay_down(kind: Any, value: Any, c: Any) -> Any:
    """The fields side by side in the memory of the function that Python calls."""
    address = _cgutils.alloca_once(c.builder, c.context.get_value_type(kind).pointee)
    failed, cleanups = _cgutils.false_bit, []
    for place, part in enumerate(kind.types):
        field = c.unbox(part, c.pyapi.tuple_getitem(value, place))
        c.builder.store(field.value, _cgutils.gep_inbounds(c.builder, address, 0, place))
        failed = c.builder.or_(failed, field.is_error)
        if field.cleanup is not None:
            cleanups.append(field.cleanup)

    def clean_up() -> None:
        for one in reversed(cleanups):
            one()

    return _Native(address, is_error=failed, cleanup=clean_up)


def passed_by_address(state: type) -> None:
    """Let kernels take values of a class of named tuples by their address."""

    @typeof_impl.register(state)
    def _typed(value: Any, context: Any) -> Any:
        parts = [typeof_impl(part, context) for part in value]
        return None if any(part is None for part in parts) else ByAddress(parts, state)
