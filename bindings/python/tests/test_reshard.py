# SPDX-License-Identifier: BSD-3-Clause
"""Resharding against numpy: every element of every target box arrives, and nothing else is stored."""
from __future__ import annotations

import numpy as np
import pytest

import dtconv

UNTOUCHED = -1


def cuts(rng, length, parts):
    """The ends of parts of a dimension; some may be empty."""
    return [0, *sorted(int(cut) for cut in rng.integers(0, length + 1, size=parts - 1)), length]


def random_placement(rng, shape, ranks):
    """A grid of boxes, each with its array: dense in any order, or a view with strides."""
    axis = int(rng.integers(len(shape)))
    ends = cuts(rng, shape[axis], int(rng.integers(1, 6)))
    boxes, arrays = [], [[] for _ in range(ranks)]
    for low, high in zip(ends, ends[1:]):
        lower, sizes = [0] * len(shape), list(shape)
        lower[axis], sizes[axis] = low, high - low
        rank = int(rng.integers(ranks))
        order = [int(dimension) for dimension in rng.permutation(len(shape))]
        whole = np.full([sizes[dimension] * 2 for dimension in order], UNTOUCHED, np.int32)
        view = whole[tuple(slice(None, sizes[dimension]) for dimension in order)].transpose(np.argsort(order))
        arrays[rank].append((lower, view, whole))
        boxes.append((rank, lower, sizes, view.strides))
    return boxes, arrays


def joined(boxes, arrays):
    """Boxes with offsets in one buffer for each rank, and these buffers."""
    placed, buffers, used = [], [], [0] * len(arrays)
    for ends in arrays:
        buffers.append(np.full(sum(whole.size for _, _, whole in ends) or 1, UNTOUCHED, np.int32))
    for rank, lower, sizes, strides in boxes:
        placed.append(dtconv.Box(rank, lower, sizes, strides=strides, offset=used[rank] * 4))
        used[rank] += int(np.prod([2 * size for size in sizes]))
    return placed, buffers


def view_in(box, buffer):
    """A box's elements in its rank's buffer."""
    return np.lib.stride_tricks.as_strided(buffer[box.offset // 4:], box.shape, box.strides)


@pytest.mark.parametrize("case", range(40))
def test_every_element_arrives_where_it_belongs(rng, case):
    shape = [int(length) for length in rng.integers(1, 9, size=rng.integers(1, 4))]
    ranks = int(rng.integers(1, 5))
    whole = np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)
    source, sent = joined(*random_placement(rng, shape, ranks))
    target, received = joined(*random_placement(rng, shape, ranks))
    expected = [buffer.copy() for buffer in received]
    for boxes, buffers in ((source, sent), (target, expected)):
        for box in boxes:
            where = tuple(slice(low, low + size) for low, size in zip(box.lower, box.shape))
            if 0 not in box.shape:
                view_in(box, buffers[box.rank])[...] = whole[where]
    reshard = dtconv.Reshard(shape, np.int32, source, target, ranks=ranks)
    reshard.check()
    plans = [reshard.plan(rank) for rank in range(ranks)]
    del reshard
    for rank, plan in enumerate(plans):
        for message in plan.sends:
            back = next(answer for answer in plans[message.peer].recvs if answer.peer == rank)
            assert (back.nbytes, back.pieces) == (message.nbytes, message.pieces)
            assert message.layout.same_signature(back.layout)
            packed = dtconv.pack(sent[rank], layout=message.layout)
            assert len(packed) == message.nbytes
            dtconv.unpack(packed, received[message.peer], layout=back.layout)
    assert all((buffer == wanted).all() for buffer, wanted in zip(received, expected))
    assert sum(message.nbytes for plan in plans for message in plan.sends) == whole.nbytes


def test_dense_boxes_have_an_order():
    rows, columns = dtconv.Box(0, [0, 0], [2, 3]), dtconv.Box(0, [0, 0], [2, 3], order=[1, 0])
    plan = dtconv.Reshard([2, 3], np.int64, [rows], [columns]).plan(0)
    out = np.zeros((3, 2), np.int64)
    packed = dtconv.pack(np.arange(6).reshape(2, 3), layout=plan.sends[0].layout)
    dtconv.unpack(packed, out, layout=plan.recvs[0].layout)
    assert out.tolist() == [[0, 3], [1, 4], [2, 5]]


def test_placements_that_do_not_fit_are_refused():
    whole = dtconv.Box(0, [0], [4])
    with pytest.raises(dtconv.InvalidError, match="lower of a box of rank 0 has 2 entries, but the array has 1"):
        dtconv.Reshard([4], "int", [dtconv.Box(0, [0, 0], [4])], [whole])
    with pytest.raises(dtconv.InvalidError, match="negative"):
        dtconv.Reshard([4], "int", [dtconv.Box(0, [-1], [4])], [whole])
    with pytest.raises(dtconv.InvalidError):
        dtconv.Reshard([3], "int", [whole], [whole])
    with pytest.raises(dtconv.InvalidError):
        dtconv.Reshard([4], "int", [whole], [whole], ranks=0)
    halves = dtconv.Reshard([4], "int", [dtconv.Box(0, [0], [2])], [whole])
    with pytest.raises(dtconv.InvalidError, match="no rank of the source holds 2 of the 4 elements"):
        halves.check()
    with pytest.raises(dtconv.InvalidError):
        halves.plan(1)
