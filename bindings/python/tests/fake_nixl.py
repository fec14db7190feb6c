# SPDX-License-Identifier: BSD-3-Clause
"""Agents of one process with what ``dtconv.nixl`` calls of NIXL's: writes take a while and end in any order.

``refuse_writes`` refuses all writes, ``fail_writes`` lets the next one fail, ``is_gone`` is an agent whose process has ended.
"""
from __future__ import annotations

import ctypes
import random


class Write:
    def __init__(self, local, remote, peer, note):
        self.local, self.remote, self.peer, self.note = local, remote, peer, note
        self.polls, self.state, self.fails = 0, "NEW", False


class FakeAgent:
    """An agent of a network: a dict of agents by name."""

    def __init__(self, name, network, seed=0):
        self.name, self.network, self.random = name, network, random.Random(seed)
        self.registered, self.notifs, self.writes = [], {}, []
        self.descriptors = 0
        self.refuse_writes = self.fail_writes = self.is_gone = False
        network[name] = self

    def register_memory(self, places, memory):
        assert memory in ("DRAM", "VRAM")
        registered = [(address, size) for address, size, _, _ in places]
        self.registered += registered
        return registered

    def deregister_memory(self, registered):
        assert not self.writes, "memory is unregistered while it is read"
        self.registered = [place for place in self.registered if place not in registered]

    def get_xfer_descs(self, places, memory):
        assert memory in ("DRAM", "VRAM")
        return [tuple(int(number) for number in place) for place in places]

    def _owns(self, places):
        return all(any(first <= address and address + size <= first + length for first, length in self.registered)
                   for address, size, _ in places)

    def initialize_xfer(self, operation, local, remote, peer, note):
        assert operation == "WRITE" and self._owns(local)
        if not self.network[peer]._owns(remote):
            raise RuntimeError("NIXL_ERR_NOT_FOUND")
        return Write(local, remote, peer, note)

    def transfer(self, write):
        if self.refuse_writes or self.network[write.peer].is_gone:
            return "ERR"
        self.descriptors += len(write.local)
        write.state, write.fails, self.fail_writes = "PROC", self.fail_writes, False
        write.polls = 0 if write.fails else self.random.randrange(4)
        self.writes.append(write)
        return "PROC"

    def check_xfer_state(self, write):
        if write.state != "PROC":
            return write.state
        if write.fails:
            write.state = "ERR"
        elif write.polls:
            write.polls -= 1
        else:
            for (source, size, _), (target, _, _) in zip(write.local, write.remote):
                ctypes.memmove(target, source, size)
            self.network[write.peer].notifs.setdefault(self.name, []).append(write.note)
            write.state = "DONE"
        return write.state

    def release_xfer_handle(self, write):
        if write.state != "NEW":
            self.writes.remove(write)

    def send_notif(self, peer, note):
        if self.network[peer].is_gone:
            raise RuntimeError("NIXL_ERR_REMOTE_DISCONNECT")
        self.network[peer].notifs.setdefault(self.name, []).append(note)

    def update_notifs(self):
        return self.notifs
