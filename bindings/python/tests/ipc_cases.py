# SPDX-License-Identifier: BSD-3-Clause
"""Memory of a device between two processes, in a process of its own: test_ipc.py runs it, and it starts the owner."""
from __future__ import annotations

import multiprocessing
import os
import pickle

import numpy as np
import pytest

import dtconv
import dtconv.ipc
from device_cases import DeviceArray, context  # noqa: F401 (context is a fixture)

WAIT = 60
"""Seconds after which the owner does not answer any more."""


MESSAGES = 20


def send_columns(address):
    """Every other column of a matrix on the device, many times; how many of the messages were sent directly."""
    matrix = DeviceArray(np.arange(40000.0).reshape(100, 400)[:, ::2])
    with dtconv.Channel.connect(address, direct=True, fragment_bytes=4096) as channel:
        for _ in range(MESSAGES):
            channel.send(matrix, timeout=WAIT)
        return channel.direct


def own(connection):
    """The owner: exports what it is told to, and answers with the memory's content until it is told to end."""
    context.__wrapped__()
    held = []
    while (order := connection.recv()) is not None:
        if isinstance(order, np.ndarray):
            # A view loses its base when it is sent: a strided one is made here.
            held = [DeviceArray(order[:, ::2])]
            connection.send(dtconv.export_memory(held[0]))
        elif order == "read":
            connection.send(held[0].fetch().copy())
        elif isinstance(order, str) and order.startswith("@"):
            connection.send(send_columns(order))
        elif order == "free":
            held = []
            connection.send(None)


class Owner:
    """The other process."""

    def __init__(self):
        spawn = multiprocessing.get_context("spawn")
        self.connection, theirs = spawn.Pipe()
        self.process = spawn.Process(target=own, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()

    def ask(self, order):
        self.connection.send(order)
        assert self.connection.poll(WAIT), "the owner does not answer"
        return self.connection.recv()

    def end(self):
        self.connection.send(None)
        self.process.join(WAIT)
        assert self.process.exitcode == 0


@pytest.fixture
def owner():
    other = Owner()
    yield other
    other.end()


def test_bytes_go_both_ways(owner):
    matrix = np.arange(60.0).reshape(6, 10)
    handle = owner.ask(matrix)
    assert handle.shape == (6, 5) and handle.dtype == np.dtype(float) and handle.nbytes == 240
    with handle.open() as theirs:
        assert theirs.shape == (6, 5) and theirs.nbytes == 240
        assert dtconv.pack(theirs, np.zeros(30)).tolist() == matrix[:, ::2].ravel().tolist()
        dtconv.unpack(np.arange(30.0) + 100, theirs)
        assert owner.ask("read").ravel().tolist() == (np.arange(30.0) + 100).tolist()
        mine = DeviceArray(np.zeros((6, 5)))
        dtconv.copy(theirs, mine)
        assert mine.fetch().ravel().tolist() == (np.arange(30.0) + 100).tolist()
    with pytest.raises(dtconv.StateError, match="has been closed"):
        dtconv.pack(theirs, np.zeros(30))
    theirs.close()


def test_messages_are_copied_directly(owner):
    address = f"@dtconv-direct-{os.getpid()}"
    with dtconv.Channel.listen(address, direct=True, fragment_bytes=4096) as listener:
        owner.connection.send(address)
        with listener.accept(WAIT) as channel:
            for _ in range(MESSAGES):
                mine = DeviceArray(np.zeros((100, 600))[:, ::3])
                assert channel.recv(mine, timeout=WAIT) == 160000
                assert (mine.fetch() == np.arange(40000.0).reshape(100, 400)[:, ::2]).all()
            # Until the kernels are loaded, messages go through staging memory.
            assert channel.direct[0] == 0 and 0 < channel.direct[1] <= MESSAGES
            received = channel.direct[1]
    assert owner.connection.poll(WAIT) and owner.connection.recv() == (received, 0)


def test_the_second_open_is_a_hit(owner):
    handle = owner.ask(np.arange(60.0).reshape(6, 10))
    before = dtconv.ipc.counters()
    first, second = handle.open(), handle.open(device=0)
    now = dtconv.ipc.counters()
    assert (now.driver_opens - before.driver_opens, now.hits - before.hits, now.open) == (1, 1, 1)
    del first, second
    assert dtconv.ipc.counters().open == 0 and dtconv.ipc.counters().idle >= 1
    dtconv.ipc.trim()
    assert dtconv.ipc.counters().idle == 0


def test_freed_memory_is_not_opened(owner):
    old = owner.ask(np.arange(60.0).reshape(6, 10))
    old.open().close()
    owner.ask("free")
    new = owner.ask(np.arange(60.0).reshape(6, 10) * 3)
    assert old != new and hash(old) != hash(new)
    with new.open() as theirs:
        assert dtconv.pack(theirs, np.zeros(30)).tolist() == (np.arange(60.0).reshape(6, 10) * 3)[:, ::2].ravel().tolist()


def test_own_memory_is_its_own_address():
    array = DeviceArray(np.arange(12.0).reshape(3, 4)[::-1, 1:])
    handle = dtconv.export_memory(array)
    assert "96" not in repr(handle) and "(3, 3)" in repr(handle) and handle.nbytes == 72
    again = pickle.loads(pickle.dumps(handle))
    assert again == handle and bytes(again) == bytes(handle) and len(bytes(handle)) == dtconv.ipc.HANDLE_BYTES
    with again.open() as same:
        assert same.__cuda_array_interface__["data"] == array.__cuda_array_interface__["data"]
        assert dtconv.pack(same, np.zeros(9)).tolist() == [9, 10, 11, 5, 6, 7, 1, 2, 3]


def test_structs_keep_their_type():
    dtype = np.dtype([("a", "i4"), ("b", "f8")])
    array = DeviceArray(np.zeros(5, dtype))
    with dtconv.export_memory(array).open() as same:
        assert same.dtype == dtype and dtconv.layout(same).size == 60
    bytes_of = bytes(dtconv.export_memory(array))
    with dtconv.IpcHandle(bytes_of, 0, (30,), (2,), "bfloat16").open() as same:
        assert same.nbytes == 60 and same.dtype == "bfloat16" and dtconv.layout(same).size == 60


def test_refusals():
    with pytest.raises(dtconv.UnsupportedError, match="memory of kind host"):
        dtconv.export_memory(np.zeros(4))
    handle = dtconv.export_memory(DeviceArray(np.zeros(4)))
    state = list(handle.__reduce__()[1])
    damaged = dtconv.IpcHandle(bytes(192), *state[1:])
    with pytest.raises(dtconv.FormatError, match="of another version"):
        damaged.open()
    with pytest.raises(dtconv.FormatError, match="192 bytes, not 5"):
        dtconv.IpcHandle(b"short", *state[1:])
    # Its memory is gone: the array was not kept.
    with pytest.raises(dtconv.StateError, match="freed"):
        handle.open()
