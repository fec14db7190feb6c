# SPDX-License-Identifier: BSD-3-Clause
"""Started jobs, batches and fragments; what they keep alive, and in which order things go."""
from __future__ import annotations

import gc
import itertools
import os
import weakref

import numpy as np
import pytest

import dtconv


class Kept(np.ndarray):
    """An array that can be watched."""


def watched(shape, dtype=float):
    array = np.arange(int(np.prod(shape)), dtype=dtype).reshape(shape).view(Kept)
    return array, weakref.ref(array)


def test_a_job_says_what_it_has_moved():
    matrix = np.arange(24.0).reshape(4, 6)
    job = dtconv.start_pack(matrix[:, ::3])
    assert job.wait() == 64 and job.test() and job.wait() == 64
    assert job.out.view(float).tolist() == matrix[:, ::3].ravel().tolist()
    target = np.zeros((4, 6))
    assert dtconv.start_unpack(job.out, target[:, ::3]).wait() == 64
    assert (target[:, ::3] == matrix[:, ::3]).all() and target.sum() == matrix[:, ::3].sum()
    assert dtconv.start_copy(matrix[:, 1], target[:, 1]).wait() == 32
    assert (target[:, 1] == matrix[:, 1]).all()
    assert "64 bytes moved" in repr(job)


def test_a_job_raises_its_error_each_time():
    job = dtconv.start_copy(np.zeros(4), np.zeros(3))
    for ask in (job.wait, job.test, job.wait):
        with pytest.raises(dtconv.TruncateError):
            ask()
    assert "failed" in repr(job)


def test_a_job_keeps_its_arrays_until_it_has_ended():
    array, gone = watched((4, 4))
    job = dtconv.start_pack(array[:, ::2])
    del array
    gc.collect()
    assert gone() is not None
    job.wait()
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_any_order_of_letting_go(order):
    array, _ = watched((64, 64))
    layout = dtconv.layout(array[::2, ::3])
    things = [array, layout, dtconv.start_pack(array[::2, ::3]), dtconv.Packer(array, layout=layout)]
    del array, layout
    for index in order:
        things[index] = None
        gc.collect()


def test_a_batch_moves_all_its_entries():
    box = np.arange(5 * 6 * 7, dtype=np.int32).reshape(5, 6, 7)
    faces = [box[0], box[-1], box[:, 0], box[:, -1], box[:, :, 0], box[:, :, -1]]
    packed = [np.zeros(face.size, np.int32) for face in faces]
    ghost, batch = np.zeros_like(box), dtconv.Batch()
    indices = [batch.pack(face, out) for face, out in zip(faces, packed)]
    indices.append(batch.unpack(np.arange(30, dtype=np.int32), ghost[1]))
    indices.append(batch.copy(box[3], ghost[2]))
    indices.append(batch.copy(box[:, 1, 1], ghost[:, 0, 0], op="max"))
    assert indices == list(range(9)) and len(batch) == 9
    total = sum(out.nbytes for out in packed) + 120 + box[3].nbytes + 20
    assert batch.run() == total
    for face, out in zip(faces, packed):
        assert out.tolist() == face.ravel().tolist()
    assert (ghost[2] == box[3])[1:].all() and ghost[1].ravel()[1:30].tolist() == list(range(1, 30))
    assert [result.moved for result in batch.results()][-1] == 20
    # Again with other data, and with an entry more.
    box += 1
    extra = np.zeros(box.size, np.int32)
    batch.pack(box, extra)
    assert batch.start().wait() == total + box.nbytes
    assert packed[0].tolist() == box[0].ravel().tolist() and extra.tolist() == box.ravel().tolist()


def test_an_entry_that_fails_does_not_stop_the_others():
    batch, out, short = dtconv.Batch(), np.zeros(4), np.zeros(3)
    batch.copy(np.ones(4), short)
    batch.pack(np.ones(4), out)
    with pytest.raises(dtconv.TruncateError):
        batch.run()
    first, second = batch.results()
    assert isinstance(first.error, dtconv.TruncateError) and first.moved == 24
    assert second.error is None and out.tolist() == [1] * 4


def test_results_are_those_of_a_run():
    batch = dtconv.Batch()
    batch.pack(np.ones(4), np.zeros(4))
    with pytest.raises(dtconv.StateError, match="has not been run"):
        batch.results()


def test_a_batch_with_a_wrong_copy_says_so_and_can_be_mended():
    batch = dtconv.Batch()
    batch.copy(np.ones(4), np.zeros(4, np.int64))
    for _ in range(2):
        with pytest.raises(dtconv.SignatureError):
            batch.run()


def test_a_dropped_job_leaves_its_batch_usable():
    out, batch = np.zeros(4), dtconv.Batch()
    batch.pack(np.ones(4), out)
    batch.start()
    gc.collect()
    assert batch.run() == 32
    job = batch.start()
    del batch
    gc.collect()
    assert job.wait() == 32


def test_fragments_of_any_size_are_the_stream(rng):
    array = rng.integers(0, 2**31, size=(7, 9, 5), dtype=np.int32)[:, ::2, 1:4]
    whole = dtconv.pack(array).tobytes()
    for size in (1, 3, 4, 17, len(whole) - 1, len(whole), len(whole) + 1):
        pieces = [piece.tobytes() for piece in dtconv.fragments(array, size)]
        assert b"".join(pieces) == whole and all(len(piece) == size for piece in pieces[:-1])
    assert list(dtconv.fragments(np.zeros(0), 8)) == []


def test_fragments_arrive_in_any_order(rng):
    array = rng.integers(0, 2**31, size=(7, 9), dtype=np.int32)[::-1, ::2]
    whole, target = dtconv.pack(array).tobytes(), np.zeros((7, 18), np.int32)
    cuts = sorted({0, len(whole), *(int(n) for n in rng.integers(0, len(whole), size=12))})
    parts = list(zip(cuts, cuts[1:]))
    unpacker = dtconv.Unpacker(target[::-1, 1:11:2])
    for index in rng.permutation(len(parts)):
        begin, end = parts[index]
        assert unpacker.seek(begin) == begin
        assert unpacker.write(whole[begin:end]) == end - begin and unpacker.tell() == end
    assert (target[::-1, 1:11:2] == array).all() and (target[:, ::2] == 0).all() and (target[:, 11:] == 0).all()
    unpacker.seek(-2, os.SEEK_END)
    with pytest.raises(dtconv.TruncateError):
        unpacker.write(b"123")


def test_a_packer_reads_like_a_file():
    packer = dtconv.Packer(np.arange(6, dtype=np.uint8)[::2])
    assert packer.size == 3 and packer.read(2).tolist() == [0, 2] and packer.tell() == 2
    assert packer.seek(-1, os.SEEK_CUR) == 1 and packer.read().tolist() == [2, 4] and packer.read(5).size == 0
    out = bytearray(2)
    assert packer.seek(2) == 2 and packer.readinto(out) == 1 and out == b"\4\0"
    with pytest.raises(dtconv.InvalidError, match="before the beginning"):
        packer.seek(-1)
    with pytest.raises(dtconv.InvalidError):
        packer.seek(4)


def test_fragments_are_added_up():
    target = np.arange(4.0)
    adder = dtconv.Unpacker(target, op="sum")
    stream = np.full(4, 0.5).tobytes()
    for begin in range(0, 32, 3):
        adder.write(stream[begin:begin + 3])
    assert target.tolist() == [0.5, 1.5, 2.5, 3.5]


def test_a_pool_gives_fragments_and_takes_them_back():
    pool = dtconv.Pool("host", fragment_bytes=4096, slab_bytes=8192, start_bytes=8192, limit_bytes=8192)
    assert (pool.fragment_bytes, pool.fragments, pool.free) == (4096, 2, 2)
    with pool.get() as first:
        second = pool.get()
        with pytest.raises(dtconv.AgainError):
            pool.get()
        dtconv.pack(np.arange(4.0), first)
        assert np.asarray(first)[:32].view(float).tolist() == [0, 1, 2, 3]
    assert pool.free == 1
    with pytest.raises(dtconv.StateError, match="given back"):
        dtconv.pack(np.arange(4.0), first)
    view = np.asarray(second)[16:]
    del second
    gc.collect()
    assert pool.free == 1
    del view
    gc.collect()
    assert pool.free == 2


def test_memory_of_a_pool_outlives_it():
    pool = dtconv.Pool("host", fragment_bytes=4096, start_bytes=4096, slab_bytes=4096)
    view = np.asarray(pool.get())
    del pool
    gc.collect()
    view[:] = 7
    assert view.sum() == 7 * 4096
