# SPDX-License-Identifier: BSD-3-Clause
"""Layouts: where the bytes of some data are in memory, and their order in the packed stream."""
from __future__ import annotations

import ctypes
from typing import Any, Callable, Optional, Union

import numpy as np

from . import _program
from ._library import runtime, text_of
from ._structs import Memory, Relation, type_attr

REPR_CHARACTERS = 200


class Layout:
    """A committed, immutable layout; ``dtconv.layout()`` and the constructors make them.

    A layout may be used by any number of threads at once. Bounds and extents are in bytes, relative to the address
    of displacement 0. Layouts can be pickled: they travel in the serialised form of the library.
    """

    __slots__ = ("__weakref__", "_attr", "_handle", "_span", "_unref")

    def __init__(self, handle: int) -> None:
        """Take over a type of the library. Not for users: call ``dtconv.layout()``."""
        run = runtime()
        self._unref: Optional[Callable[[int], None]] = run.lib.dtconv_type_unref
        self._handle = handle
        run.check(run.lib.dtconv_type_commit(handle))
        self._attr = type_attr()
        run.check(run.lib.dtconv_type_query(handle, ctypes.byref(self._attr)))
        self._span: Optional[tuple[int, int]] = None

    def __del__(self) -> None:
        unref = getattr(self, "_unref", None)
        if unref is not None:
            unref(self._handle)

    @property
    def size(self) -> int:
        """Bytes of data in one instance: the length of its packed stream."""
        return int(self._attr.size)

    @property
    def extent(self) -> int:
        """Bytes from one instance to the next."""
        return int(self._attr.extent)

    @property
    def lb(self) -> int:
        """Lower bound."""
        return int(self._attr.lb)

    @property
    def true_lb(self) -> int:
        """Displacement of the first byte of data."""
        return int(self._attr.true_lb)

    @property
    def true_extent(self) -> int:
        """Bytes from the first to the last byte of data."""
        return int(self._attr.true_extent)

    @property
    def elements(self) -> int:
        """Number of basic elements in one instance."""
        return int(self._attr.element_count)

    @property
    def is_contiguous(self) -> bool:
        """Whether any number of instances is one run of bytes."""
        return bool(self._attr.contiguous)

    @property
    def text(self) -> str:
        """The text form, which ``dtconv.layout()`` and the program ``dtconv`` read."""
        run = runtime()
        return text_of(run, run.lib.dtconv_type_format, self._handle)

    @property
    def signature(self) -> str:
        """The sequence of basic types, for example ``"8 x double"``."""
        run = runtime()
        return text_of(run, run.lib.dtconv_type_format_signature, self._handle)

    @property
    def program(self) -> str:
        """The normalised program that moves the data, one operation a line."""
        run = runtime()
        return text_of(run, run.lib.dtconv_type_format_program, self._handle)

    def runs(self, count: int = 1) -> np.ndarray[Any, Any]:
        """The runs of bytes that ``count`` instances take, in packed order: rows of displacement and length."""
        run, entries = runtime(), self._run_count(count)
        rows = np.empty((entries, 2), np.int64)
        written = ctypes.c_size_t()
        run.check(run.lib.dtconv_iov(self._handle, count, None, 0, rows.ctypes.data, entries, ctypes.byref(written)))
        return rows[:written.value]

    def _run_count(self, count: int) -> int:
        """The number of runs, without listing them."""
        run, entries = runtime(), ctypes.c_size_t()
        run.check(run.lib.dtconv_iov_count(self._handle, count, ctypes.byref(entries)))
        return entries.value

    def explain(self, user: str = "host", packed: str = "host", count: int = 1) -> str:
        """Which copy backend the library would choose, what each would cost, and why.

        ``user`` and ``packed`` say where the two sides would be: ``"host"``, ``"pinned"``, ``"managed"`` or
        ``"device"``.
        """
        run = runtime()
        return text_of(run, run.lib.dtconv_explain, self._handle, count, memory_kind(user), memory_kind(packed))

    def same_bytes(self, other: Layout) -> bool:
        """Whether both packed streams take the same bytes in the same order, whatever their types."""
        run, equal = runtime(), ctypes.c_int()
        run.check(run.lib.dtconv_type_compare_layout(self._handle, 1, other._handle, 1, ctypes.byref(equal)))
        return bool(equal.value)

    def same_signature(self, other: Layout) -> bool:
        """Whether both are the same sequence of basic types, so that data of one can be copied into the other."""
        run, relation = runtime(), ctypes.c_int()
        run.check(run.lib.dtconv_type_compare_signature(self._handle, 1, other._handle, 1, ctypes.byref(relation)))
        return relation.value == Relation.EQUAL

    def serialise(self) -> bytes:
        """The layout as bytes, for another process or machine: see ``Layout.deserialise()``."""
        run, length = runtime(), ctypes.c_size_t()
        run.lib.dtconv_type_serialise(self._handle, None, 0, ctypes.byref(length))
        data = ctypes.create_string_buffer(length.value)
        run.check(run.lib.dtconv_type_serialise(self._handle, data, length.value, ctypes.byref(length)))
        return data.raw

    @staticmethod
    def deserialise(data: bytes) -> Layout:
        """The layout that ``serialise()`` wrote. Safe for bytes of unknown origin: they give a layout or an error."""
        run, handle = runtime(), ctypes.c_void_p()
        run.check(run.lib.dtconv_type_deserialise(run.context, data, len(data), ctypes.byref(handle)))
        return Layout(handle.value or 0)

    def svg(self, count: int = 1) -> str:
        """A picture of ``count`` instances, which the program ``dtconv show`` draws."""
        return _program.run_program(["show", "--count", str(count), "--svg", "-", "-"], self.text)

    def _repr_svg_(self) -> Optional[str]:
        """The picture for notebooks; None where there is no program."""
        return self.svg() if _program.program_path() else None

    def __reduce__(self) -> tuple[Callable[[bytes], Layout], tuple[bytes]]:
        return Layout.deserialise, (self.serialise(),)

    def __repr__(self) -> str:
        text = self.text
        if len(text) > REPR_CHARACTERS:
            text = text[:REPR_CHARACTERS] + "..."
        return f"dtconv.layout({text!r})"

    def _bounds(self, count: int) -> tuple[int, int]:
        """The bytes that ``count`` instances take, from the first on and to the last, relative to displacement 0."""
        if count == 0 or self.size == 0:
            return 0, 0
        last = (count - 1) * self.extent
        return self.true_lb + min(0, last), self.true_lb + self.true_extent + max(0, last)


def memory_kind(name: str) -> Memory:
    """The memory kind of a name."""
    try:
        return Memory[name.upper()]
    except KeyError:
        names = ", ".join(kind.name.lower() for kind in Memory if kind is not Memory.UNKNOWN)
        raise ValueError(f"there is no memory kind {name!r}; there are {names}") from None


def parse(text: Union[str, bytes]) -> Layout:
    """The layout of a text form."""
    run, handle = runtime(), ctypes.c_void_p()
    data = text.encode() if isinstance(text, str) else text
    run.check(run.lib.dtconv_type_parse(run.context, data, len(data), ctypes.byref(handle)))
    return Layout(handle.value or 0)


def made(function: str, *arguments: Any) -> Layout:
    """The layout that a constructor of the library makes; its last argument, where the result goes, is added."""
    run, handle = runtime(), ctypes.c_void_p()
    run.check(getattr(run.lib, function)(*arguments, ctypes.byref(handle)))
    return Layout(handle.value or 0)
