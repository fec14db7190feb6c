# SPDX-License-Identifier: BSD-3-Clause
"""Lists of pages in memory of the CPU, against numpy's own indexing."""
from __future__ import annotations

import numpy as np
import pytest

import dtconv

AXES = [("layer", "part", "page"), ("layer", "page", "part"), ("page", "layer", "part")]


def random_cache(rng):
    """An array of random bytes with its axes in one of the usual orders, and the same as [layer][part][page][bytes]."""
    lengths = {"layer": int(rng.integers(1, 4)), "part": int(rng.integers(1, 3)), "page": int(rng.integers(1, 12))}
    order = AXES[rng.integers(len(AXES))]
    shape = [lengths[axis] for axis in order] + [int(rng.integers(1, 9)), int(rng.integers(1, 5))]
    cache = rng.integers(0, 256, size=shape, dtype=np.uint8)
    pages = dtconv.Pages(cache, page_axis=order.index("page"), layer_axis=order.index("layer"),
                         part_axis=order.index("part"))
    turned = cache.transpose(*(order.index(axis) for axis in ("layer", "part", "page")), 3, 4)
    return cache, pages, turned.reshape(*turned.shape[:3], -1)


def random_table(rng, pages, count):
    kind = rng.choice(["i4", "u4", "i8", "u8"])
    return rng.permutation(pages)[:count].astype(kind)


@pytest.mark.parametrize("case", range(50))
def test_packed_pages_are_numpys(rng, case):
    cache, pages, turned = random_cache(rng)
    table = random_table(rng, turned.shape[2], int(rng.integers(0, turned.shape[2] + 1)))
    most = len(table) * pages.page_bytes
    nbytes = int(rng.integers(0, most + 1)) if rng.random() < 0.5 else None
    taken = turned[:, :, table].reshape(turned.shape[0] * turned.shape[1], -1)[:, :nbytes]
    expected = taken.tobytes()
    assert pages.size(table, nbytes) == len(expected)
    assert pages.pack(table, nbytes=nbytes).tobytes() == expected
    begin = int(rng.integers(0, len(expected) + 1))
    assert pages.pack(table, nbytes=nbytes, position=begin).tobytes() == expected[begin:]
    room = bytearray(int(rng.integers(0, len(expected) - begin + 1)))
    assert pages.pack(table, room, nbytes=nbytes, position=begin) is room
    assert bytes(room) == expected[begin:begin + len(room)]


@pytest.mark.parametrize("case", range(50))
def test_unpacked_pages_come_back_in_any_pieces_and_others_stay(rng, case):
    cache, pages, turned = random_cache(rng)
    table = random_table(rng, turned.shape[2], int(rng.integers(1, turned.shape[2] + 1)))
    packed, before = pages.pack(table), cache.copy()
    pages.unpack(np.zeros(len(packed), np.uint8), table)
    assert not pages.pack(table).any()
    cuts = sorted({0, len(packed), *(int(cut) for cut in rng.integers(0, len(packed) + 1, size=3))})
    for begin, end in reversed(list(zip(cuts, cuts[1:]))):
        assert pages.unpack(packed[begin:end], table, position=begin) == end - begin
    assert (cache == before).all()


def test_both_ends_may_divide_the_bytes_differently(rng):
    small, large = rng.random((10, 4)), np.zeros((5, 8))
    packed = dtconv.Pages(small).pack([7, 3, 1, 0])
    assert dtconv.Pages(large).unpack(packed, [4, 2]) == 128
    assert (large[[4, 2]].reshape(4, 4) == small[[7, 3, 1, 0]]).all() and not large[[0, 1, 3]].any()


def test_a_number_out_of_range_is_named_and_nothing_is_written():
    cache = np.zeros((4, 8), np.uint8)
    pages = dtconv.Pages(cache)
    for table in ([0, 4], [0, -1], np.array([3, 2**32 - 1], np.uint32)):
        with pytest.raises(dtconv.InvalidError, match=r"table\[1\] is -?\d+, but the pool has 4 pages"):
            pages.unpack(np.ones(16, np.uint8), table)
    assert not cache.any()


def test_what_is_no_list_of_pages_is_refused():
    cache = np.zeros((4, 3, 8))
    for arguments, sentence in (({"page_axis": 3}, "page_axis is 3, but the array has 3 axes"),
                                ({"layer_axis": 0}, "have to be different axes"),
                                ({"page_axis": None}, "have to be different axes")):
        with pytest.raises(dtconv.InvalidError, match=sentence):
            dtconv.Pages(cache, **arguments)
    for array, sentence in ((cache[:, :, ::2], "a page has to be contiguous"), (cache[::-1], "may not be negative"),
                            (cache[:, :0], "are empty")):
        with pytest.raises(dtconv.InvalidError, match=sentence):
            dtconv.Pages(array)
    pages = dtconv.Pages(cache)
    for table in (np.zeros(2), np.zeros((1, 2), int), np.zeros(2, np.int16), np.zeros(2, ">i4")):
        with pytest.raises(dtconv.InvalidError, match="table has to have one axis and integers"):
            pages.pack(table)
    with pytest.raises(dtconv.InvalidError, match="has to be contiguous"):
        pages.pack(np.zeros(8, int)[::2])
    with pytest.raises(dtconv.InvalidError, match="nbytes is -1"):
        pages.pack([0], nbytes=-1)
    with pytest.raises(dtconv.InvalidError, match="position is -1"):
        pages.pack([0], np.zeros(9, np.uint8), position=-1)
    with pytest.raises(dtconv.InvalidError):
        pages.pack([0], nbytes=10**6)
    with pytest.raises(dtconv.TruncateError):
        pages.unpack(np.zeros(200, np.uint8), [0])
    read_only = np.broadcast_to(np.zeros((4, 8)), (4, 8))
    with pytest.raises(dtconv.InvalidError, match="the array of pages is read-only"):
        dtconv.Pages(read_only).unpack(np.zeros(8), [0])
