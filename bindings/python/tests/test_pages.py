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


def slice_of_heads(rng, tokens):
    """Pages of tokens, of whose heads some are taken, and the same as [layer][page][bytes]."""
    heads, dim = int(rng.integers(1, 5)), int(rng.integers(1, 9))
    first = int(rng.integers(0, heads))
    cache = rng.integers(0, 256, size=(2, 64 // tokens, tokens, heads, dim), dtype=np.uint8)
    taken = cache[..., first:int(rng.integers(first, heads)) + 1, :]
    return cache, taken


@pytest.mark.parametrize("case", range(30))
def test_rows_of_a_page_are_numpys(rng, case):
    cache, taken = slice_of_heads(rng, int(rng.choice([1, 4, 16])))
    pages, before = dtconv.Pages(taken, page_axis=1, layer_axis=0), cache.copy()
    table = random_table(rng, cache.shape[1], int(rng.integers(1, cache.shape[1] + 1)))
    packed = pages.pack(table)
    assert packed.tobytes() == taken[:, table].tobytes()
    pages.unpack(np.zeros(len(packed), np.uint8), table)
    assert not taken[:, table].any()
    pages.unpack(packed, table)
    assert (cache == before).all()


@pytest.mark.parametrize("case", range(30))
def test_pages_are_copied_to_others(rng, case):
    tokens = int(rng.choice([4, 16]))
    _, source = slice_of_heads(rng, tokens)
    heads, dim = source.shape[3:]
    target_cache = np.zeros((2, 9, 8, heads + 2, dim), np.uint8)
    target = target_cache[..., 1:1 + heads, :]
    table = random_table(rng, source.shape[1], 64 // tokens)
    target_table = random_table(rng, 9, 8)
    pages, others = (dtconv.Pages(array, page_axis=1, layer_axis=0) for array in (source, target))
    nbytes = int(rng.integers(1, 65)) * heads * dim
    cut = int(rng.integers(0, 2 * nbytes + 1))
    assert pages.copy_to(others, table, target_table, nbytes=nbytes, size=cut) == cut
    assert pages.copy_to(others, table, target_table, nbytes=nbytes, position=cut) == 2 * nbytes - cut
    expected = np.zeros_like(target_cache)
    dtconv.Pages(expected[..., 1:1 + heads, :], page_axis=1, layer_axis=0).unpack(pages.pack(table, nbytes=nbytes),
                                                                                target_table, nbytes=nbytes)
    assert (target_cache == expected).all() and expected.any()


def test_what_cannot_be_copied_is_refused():
    cache, other = np.ones((4, 8), np.uint8), np.zeros((4, 16), np.uint8)
    pages, others = dtconv.Pages(cache), dtconv.Pages(other)
    for table, target_table, arguments, sentence in (
            ([0, 4], [1], {}, r"from.table\[1\] is 4, but the pool has 4 pages"),
            ([0, 1], [-1], {}, r"to.table\[0\] is -1, but the pool has 4 pages"),
            ([0, 1, 2], [1], {}, "from.bytes is 24, but to.bytes is 16"),
            ([0, 1], [1], {"size": -1}, "size is -1"),
            ([0, 1], [1], {"position": -1}, "position is -1"),
            ([0, 1], [1], {"fault": np.zeros(1, np.int64)}, "fault has to be two int64")):
        with pytest.raises(dtconv.InvalidError, match=sentence):
            pages.copy_to(others, table, target_table, **arguments)
    with pytest.raises(dtconv.TruncateError):
        pages.copy_to(others, [0, 1], [1], size=17)
    with pytest.raises(dtconv.InvalidError, match="is read-only"):
        pages.copy_to(dtconv.Pages(np.broadcast_to(other, other.shape)), [0, 1], [1])
    assert not other.any()
    assert pages.copy_to(others, [2, 1, 0], [1], nbytes=16) == 16 and other[1].all()


def test_no_bytes_of_each_part_are_none_of_the_pages():
    cache, other = np.ones((4, 8), np.uint8), np.zeros((4, 8), np.uint8)
    pages, others = dtconv.Pages(cache), dtconv.Pages(other)
    assert pages.size([0, 1], 0) == 0
    assert pages.pack([0, 1], nbytes=0).nbytes == 0
    assert others.unpack(cache[:0], [0, 1], nbytes=0) == 0
    assert pages.copy_to(others, [0, 1], np.array([2, 3], np.int32), nbytes=0) == 0
    assert not other.any()


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
    for array, sentence in ((cache[:, ::2, ::2], "a page has to be contiguous, or rows"),
                            (cache[:, ::-1], "a page has to be contiguous"), (cache[::-1], "may not be negative"),
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
