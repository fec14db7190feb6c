# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of numpy's against numpy itself: any strides, any dtype."""
from __future__ import annotations

import array
import mmap

import numpy as np
import pytest

import dtconv
from conftest import packed_bytes, random_dtype, random_view


def test_random_views_pack_as_numpy_orders_them(rng):
    for _ in range(300):
        view = random_view(rng, random_dtype(rng))
        expected = packed_bytes(view)
        assert dtconv.pack(view).tobytes() == expected, (view.dtype, view.shape, view.strides)
        out = np.full(len(expected) + 3, 0xee, np.uint8)
        dtconv.pack(view, out)
        assert out.tobytes() == expected + b"\xee" * 3
        assert dtconv.layout(view).size == len(expected)


def test_unpacking_restores_the_elements_and_nothing_else(rng):
    for _ in range(300):
        dtype = random_dtype(rng)
        source = random_view(rng, dtype)
        whole = np.frombuffer(bytearray(rng.bytes(source.size * dtype.itemsize * 3 + 64)), np.uint8)
        target = np.ndarray(source.shape, dtype, whole, 16, tuple(3 * s for s in _c_strides(source.shape, dtype.itemsize)))
        expected, packed = whole.copy(), packed_bytes(source)
        image = np.ndarray(source.shape, dtype, expected, 16, target.strides)
        _store(image, expected, packed)
        assert dtconv.unpack(packed, target) == len(packed)
        assert whole.tobytes() == expected.tobytes(), (dtype, target.shape)


def _c_strides(shape, step):
    strides = []
    for length in reversed(shape):
        strides.append(step)
        step *= max(length, 1)
    return reversed(strides)


def _places(dtype, at):
    """Every data byte of an element, in packed order."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        for i in range(int(np.prod(shape))):
            yield from _places(base, at + i * base.itemsize)
    elif dtype.names is not None:
        for name in dtype.names:
            yield from _places(dtype.fields[name][0], at + dtype.fields[name][1])
    else:
        yield from range(at, at + dtype.itemsize)


def _store(image, memory, packed):
    """Unpack byte by byte."""
    stream = iter(packed)
    for index in np.ndindex(image.shape):
        at = 16 + sum(i * stride for i, stride in zip(index, image.strides))
        for place in _places(image.dtype, at):
            memory[place] = next(stream)


def test_copies_between_views_of_one_dtype(rng):
    for _ in range(200):
        dtype = random_dtype(rng)
        source = random_view(rng, dtype)
        target = np.zeros(source.size * 2, dtype)[::2]
        assert dtconv.copy(source, target) == dtconv.layout(source).size
        assert packed_bytes(target) == packed_bytes(source)


def test_a_stride_of_zero_is_packed_and_not_unpacked():
    row = np.broadcast_to(np.arange(3.0), (4, 3))
    assert dtconv.pack(row).view(float).tolist() == row.ravel().tolist()
    target = np.lib.stride_tricks.as_strided(np.zeros(3), (4, 3), (0, 8))
    with pytest.raises(dtconv.InvalidError, match="stride of 0"):
        dtconv.unpack(bytes(96), target)


@pytest.mark.parametrize("empty", [np.zeros((3, 0, 2)), np.zeros(0, "S3"), np.zeros(4, np.dtype([]))])
def test_arrays_without_data(empty):
    assert dtconv.layout(empty).size == 0
    assert dtconv.pack(empty).size == 0
    assert dtconv.unpack(b"", empty) == 0


def test_buffers_that_are_no_arrays():
    data = bytearray(b"abcdef")
    assert dtconv.pack(memoryview(data)[::2]).tobytes() == b"ace"
    assert dtconv.unpack(b"XYZ", memoryview(data)[1::2]) == 3
    assert data == b"aXcYeZ"
    numbers = array.array("d", [1, 2, 3])
    assert dtconv.pack(numbers, bytearray(24)) == numbers.tobytes()
    with mmap.mmap(-1, 4096) as mapped:
        assert dtconv.pack(b"1234", mapped)[:5] == b"1234\0"


def test_masked_arrays_are_refused_unless_nothing_is_masked():
    assert dtconv.pack(np.ma.array([1.0, 2.0])).view(float).tolist() == [1, 2]
    with pytest.raises(dtconv.UnsupportedError, match="mask"):
        dtconv.pack(np.ma.array([1.0, 2.0], mask=[True, False]))


def test_a_scalar_is_one_element():
    assert dtconv.pack(np.array(7, np.int16)).tobytes() == np.int16(7).tobytes()


def test_addresses_are_numpys_own(rng):
    for _ in range(50):
        view = random_view(rng, np.dtype("i4"))
        assert dtconv._views.address_of(view) == view.__array_interface__["data"][0]


def test_an_operation_while_unpacking_and_copying():
    target = np.arange(4.0)
    dtconv.unpack(np.full(2, 10.0), target[::2], op="sum")
    assert target.tolist() == [10, 1, 12, 3]
    dtconv.copy(np.full(4, 2.0), target, op="min")
    assert target.tolist() == [2, 1, 2, 2]


def test_layouts_are_cached_by_shape_strides_and_dtype():
    first, second = np.zeros((4, 6))[:, ::2], np.ones((4, 6))[:, ::2]
    assert dtconv.layout(first) is dtconv.layout(second)
    assert dtconv.layout(first) is not dtconv.layout(first.view("M8[s]"))
