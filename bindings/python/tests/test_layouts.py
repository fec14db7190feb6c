# SPDX-License-Identifier: BSD-3-Clause
"""Layouts: constructors, queries, texts, pictures, and what they take of an array."""
from __future__ import annotations

import pickle
import xml.dom.minidom

import numpy as np
import pytest

import dtconv


@pytest.mark.parametrize("made, text", [
    (dtconv.contiguous(3, "int"), "contiguous(3, int)"),
    (dtconv.vector(4, 2, -5, "double"), "vector(4, 2, -5, double)"),
    (dtconv.hvector(4, 2, 50, np.float64), "hvector(4, 2, 50, double)"),
    (dtconv.indexed([1, 2], [0, 4], "int"), "indexed([1,2], [0,4], int)"),
    (dtconv.hindexed([1, 2], [-8, 4], "int"), "hindexed([1,2], [-8,4], int)"),
    (dtconv.indexed_block(2, [0, 4, 9], "int"), "indexed_block(2, [0,4,9], int)"),
    (dtconv.hindexed_block(2, [0, 40], "int"), "hindexed_block(2, [0,40], int)"),
    (dtconv.struct([1, 2], [0, 8], ["char", np.float32]), "struct([1,2], [0,8], [char,float])"),
    (dtconv.subarray([4, 5], [2, 3], [1, 1], "int", "fortran"), "subarray([4,5], [2,3], [1,1], fortran, int)"),
    (dtconv.darray(2, 1, [10], ["cyclic"], [3], [2], "int"), "darray(2, 1, [10], [cyclic], [3], [2], c, int)"),
    (dtconv.darray(2, 1, [10], ["block"], [None], [2], "int"), "darray(2, 1, [10], [block], [default], [2], c, int)"),
    (dtconv.resized("int", -4, 12), "resized(int, -4, 12)"),
])
def test_constructors_make_what_the_text_says(made, text):
    assert made.text == text
    assert made.same_bytes(dtconv.layout(text)) and made.same_signature(dtconv.layout(text))
    assert repr(made) == f"dtconv.layout({text!r})"


def test_numbers_of_a_layout():
    layout = dtconv.resized(dtconv.hindexed([2, 1], [8, 40], "double"), -16, 64)
    assert (layout.size, layout.extent, layout.lb, layout.elements) == (24, 64, -16, 3)
    assert (layout.true_lb, layout.true_extent, layout.is_contiguous) == (8, 40, False)
    assert layout.signature == "3 x double"
    assert "run" in layout.program
    assert dtconv.contiguous(4, "int").is_contiguous


def test_comparisons():
    strided = dtconv.vector(4, 1, 2, "int32")
    assert strided.same_bytes(dtconv.hvector(4, 1, 8, "float"))
    assert not strided.same_signature(dtconv.hvector(4, 1, 8, "float"))
    assert not strided.same_bytes(dtconv.vector(4, 1, 3, "int32"))


def test_a_structured_dtype_keeps_its_extent_and_leaves_its_padding_out():
    dtype = np.dtype([("tag", "i1"), ("place", "f8", (3,)), ("name", "S4")], align=True)
    layout = dtconv.layout(dtype)
    assert layout.extent == dtype.itemsize and layout.size == 29
    assert layout.signature == "int8, 3 x double, 4 x byte"


@pytest.mark.parametrize("dtype, signature", [
    (np.dtype("f8").newbyteorder(), "8 x byte"), ("S3", "3 x byte"), ("U2", "8 x byte"), ("V5", "5 x byte"),
    ("?", "c_bool"), ("M8[s]", "int64"), ("g", "long_double"), ("F", "c_float_complex"), ("f2", "float16"),
    (np.uint16, "uint16"), ((np.int32, (2, 3)), "6 x int32"),
])
def test_basic_types_of_a_dtype(dtype, signature):
    assert dtconv.layout(np.dtype(dtype)).signature == signature


def test_explain_names_a_backend_and_the_program_draws():
    layout = dtconv.vector(4, 2, 5, "double")
    assert "host" in layout.explain()
    assert "cuda_kernel" in layout.explain("device", "device") or "no backend" in layout.explain("device", "device")
    with pytest.raises(ValueError, match="no memory kind 'disk'; there are host, pinned, managed, device"):
        layout.explain("disk")


def test_the_program_draws_a_picture():
    if dtconv._program.program_path() is None:
        pytest.skip("the program dtconv is not here")
    picture = dtconv.vector(4, 2, 5, "double")._repr_svg_()
    root = xml.dom.minidom.parseString(picture).documentElement
    assert root.tagName == "svg" and "vector(4, 2, 5, double)" in picture


def test_without_the_program_there_is_no_picture(monkeypatch):
    monkeypatch.setattr(dtconv._program, "program_path", lambda: None)
    monkeypatch.setattr(dtconv.layouts._program, "program_path", lambda: None)
    layout = dtconv.vector(4, 2, 5, "double")
    assert layout._repr_svg_() is None
    with pytest.raises(dtconv.UnsupportedError, match="is not installed"):
        layout.svg()


def test_layouts_travel():
    layout = dtconv.indexed([1, 2, 3], [0, 5, 9], "int")
    assert pickle.loads(pickle.dumps(layout)).text == layout.text
    data = layout.serialise()
    with pytest.raises(dtconv.FormatError):
        dtconv.Layout.deserialise(data[:-1])


def test_long_texts_are_cut_in_repr_only():
    layout = dtconv.indexed_block(1, range(0, 4000, 2), "int")
    assert len(repr(layout)) < 300 and repr(layout).endswith("...')") and "3998" in layout.text


def test_a_layout_takes_its_bytes_of_an_array():
    matrix = np.arange(10.0).reshape(2, 5)
    assert dtconv.pack(matrix, layout=dtconv.vector(2, 2, 5, "double")).view(float).tolist() == [0, 1, 5, 6]
    assert dtconv.pack(matrix[:, 1:], layout=dtconv.vector(2, 2, 5, "double")).view(float).tolist() == [1, 2, 6, 7]
    column = dtconv.resized(dtconv.vector(2, 1, 5, "double"), 0, 8)
    assert dtconv.pack(matrix, layout=column, count=3).view(float).tolist() == [0, 5, 1, 6, 2, 7]
    backward = dtconv.vector(2, 1, -5, "double")
    assert dtconv.pack(matrix[1:], layout="double").view(float).tolist() == [5]
    with pytest.raises(dtconv.InvalidError, match="takes bytes -40 to 7 of an array, but the array has bytes 0 to 79"):
        dtconv.pack(matrix, layout=backward)
    assert dtconv.pack(matrix[::-1], layout=backward).view(float).tolist() == [5, 0]


@pytest.mark.parametrize("layout, count", [("vector(2, 2, 9, double)", 1), ("double", 11),
                                           ("resized(double, 0, 1000000)", 2), ("hindexed([1], [73], double)", 1)])
def test_a_layout_may_not_reach_beyond_the_array(layout, count):
    matrix = np.zeros((2, 5))
    with pytest.raises(dtconv.InvalidError, match="the array has bytes 0 to 79"):
        dtconv.unpack(bytes(8), matrix, layout=layout, count=count)
