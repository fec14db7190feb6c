# SPDX-License-Identifier: BSD-3-Clause
"""Threads: calls that move bytes hold no lock of the interpreter's, and objects may be shared."""
from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import dtconv
from conftest import WAIT


class Packing:
    """A thread that packs ones over zeros when it is told to."""

    def __init__(self):
        self.source = np.ones((1 << 22, 2), np.uint8)[:, 0]
        self.out = np.zeros(self.source.size, np.uint8)
        self.go, self.ended, self.stop = threading.Semaphore(0), threading.Semaphore(0), False
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self):
        while self.go.acquire() and not self.stop:
            dtconv.pack(self.source, self.out)
            self.ended.release()

    def is_in_the_middle(self):
        """Some bytes are packed and some are not: the call has not returned."""
        return self.out[0] == 1 and self.out[-1] == 0

    def end(self):
        self.stop = True
        self.go.release()
        self.thread.join()


def test_two_threads_pack_while_a_third_runs_python():
    """With the lock held, Python would see the memory before a call or after it, never in between."""
    threads = [Packing(), Packing()]
    seen = [0, 0]
    try:
        # On busy CPUs a packing thread may have the third one's CPU for many rounds.
        deadline = time.monotonic() + WAIT
        while not all(seen) and time.monotonic() < deadline:
            for thread in threads:
                thread.out[:] = 0
                thread.go.release()
            while not all(thread.out[-1] for thread in threads):
                for index, thread in enumerate(threads):
                    seen[index] += thread.is_in_the_middle()
            for thread in threads:
                assert thread.ended.acquire(timeout=WAIT)
    finally:
        for thread in threads:
            thread.end()
    assert all(seen), f"seen in the middle of a call: {seen}"


def test_threads_share_layouts_and_errors_stay_apart():
    """Each thread gets the sentence of its own call."""
    failures, barrier = [], threading.Barrier(6)

    def work(number):
        barrier.wait(WAIT)
        source = np.arange(100 * number, dtype=np.int64)[::number]
        for _ in range(300):
            if dtconv.pack(source).view(np.int64).tolist() != source.tolist():
                failures.append(f"thread {number} has packed something else")
            with pytest.raises(dtconv.TruncateError, match=str(number)) as caught:
                dtconv.pack(np.zeros(1000 + number, np.uint8), np.zeros(number, np.uint8))
            if f"{1000 + number}" not in str(caught.value):
                failures.append(f"thread {number}: {caught.value}")

    def caught_work(number):
        try:
            work(number)
        except BaseException as reason:  # noqa: BLE001
            failures.append(repr(reason))

    threads = [threading.Thread(target=caught_work, args=(number,)) for number in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_several_threads_wait_for_one_job():
    job, results = dtconv.start_pack(np.ones((1 << 20, 2))[:, 0]), []
    threads = [threading.Thread(target=lambda: results.append(job.wait())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [8 << 20] * 8


def test_a_packer_in_several_threads_hands_out_each_byte_once():
    array = np.arange(1 << 16, dtype=np.uint32)[::2]
    packer, pieces, lock = dtconv.Packer(array), [], threading.Lock()

    def read():
        out = bytearray(64)
        while True:
            moved = packer.readinto(out)
            if moved == 0:
                return
            with lock:
                pieces.append(bytes(out[:moved]))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(pieces) == sorted(array.tobytes()[at:at + 64] for at in range(0, array.nbytes, 64))
