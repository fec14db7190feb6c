# SPDX-License-Identifier: BSD-3-Clause
"""Which basic types of the library the elements of an array are."""
from __future__ import annotations

from typing import Any, Optional, Union

import numpy as np

from . import errors

ElementType = Union["np.dtype[Any]", str]
"""A numpy dtype; or the library's name of a type that numpy does not have, such as ``bfloat16``."""

_BASIC = {
    "b1": "c_bool", "i1": "int8", "i2": "int16", "i4": "int32", "i8": "int64", "u1": "uint8", "u2": "uint16",
    "u4": "uint32", "u8": "uint64", "f2": "float16", "f4": "float", "f8": "double", "c8": "c_float_complex",
    "c16": "c_double_complex", "m8": "int64", "M8": "int64",
}
_BASIC[np.dtype(np.longdouble).str[1:]] = "long_double"
_BASIC[np.dtype(np.clongdouble).str[1:]] = "c_long_double_complex"
_BASIC.update({"f8": "double", "c16": "c_double_complex"})


def basic_name(dtype: np.dtype[Any]) -> Optional[str]:
    """The library's name of a plain dtype; None for text, raw bytes and foreign byte order, which are bytes."""
    if dtype.name == "bfloat16":
        return "bfloat16"
    if not dtype.isnative:
        return None
    return _BASIC.get(dtype.str[1:].split("[")[0])


def element_text(element: ElementType) -> str:
    """The text form of one element. Fields of a struct are in the order of their names."""
    if isinstance(element, str):
        return element
    if element.hasobject:
        raise errors.InvalidError(f"elements of dtype {element} are references to Python objects, which have no layout")
    if element.subdtype is not None:
        base, shape = element.subdtype
        return f"contiguous({int(np.prod(shape, dtype=np.int64))}, {element_text(base)})"
    if element.names is not None:
        return _struct_text(element)
    return basic_name(element) or f"contiguous({element.itemsize}, byte)"


def _struct_text(element: np.dtype[Any]) -> str:
    """A struct of the fields, as long as an element of an array."""
    assert element.names is not None and element.fields is not None
    fields = [element.fields[name] for name in element.names]
    texts = ",".join(element_text(field[0]) for field in fields)
    places = ",".join(str(field[1]) for field in fields)
    ones = ",".join("1" for _ in fields)
    return f"resized(struct([{ones}], [{places}], [{texts}]), 0, {element.itemsize})"
