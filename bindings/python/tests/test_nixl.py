# SPDX-License-Identifier: BSD-3-Clause
"""The bounce layer over agents of this process; and, where NIXL is installed, over its own, between two processes."""
from __future__ import annotations

import importlib.util
import signal
import subprocess
import sys

import numpy as np
import pytest

import dtconv
import dtconv.nixl
from conftest import WAIT, packed_bytes, random_dtype, random_view
from dtconv._nixl_peer import CREDIT, DATA, GO, HELLO, OFFER, encode
from fake_nixl import FakeAgent

SMALL = 64
"""Bytes of a fragment, so that most messages have several."""


class Pair:
    """Two connected ends."""

    def __init__(self, seed=0, fragments=3, others=0):
        self.network = {}
        self.agents = [FakeAgent(name, self.network, seed) for name in "ab"]
        self.ends = [dtconv.nixl.Bounce(agent, fragment_bytes=SMALL, fragments=fragments, peers=1 + others)
                     for agent in self.agents]
        self.ends[0].connect("b")
        self.ends[1].connect("a")

    def finish(self, *messages):
        """Make progress at both ends until all messages have ended. Returns the class of each error, or None."""
        for _ in range(100000):
            for end in self.ends:
                end.progress()
            if all(message._is_done or message._failure is not None for message in messages):
                return [type(message._failure) if message._failure is not None else None for message in messages]
        raise AssertionError("the messages do not end")


def writable(rng):
    while True:
        view = random_view(rng, random_dtype(rng))
        if view.size and not view.dtype.hasobject:
            return view


@pytest.mark.parametrize("case", range(30))
def test_messages_arrive_in_any_layout(rng, case):
    pair, messages, expected = Pair(seed=case, fragments=int(rng.integers(1, 5))), [], []
    for _ in range(6):
        source, tag, way = writable(rng), int(rng.integers(3)), int(rng.integers(2))
        target = np.frombuffer(bytearray(source.nbytes), np.uint8).view(source.dtype).reshape(source.shape)
        starts = [lambda: pair.ends[way].start_send("ba"[way], source, tag),
                  lambda: pair.ends[1 - way].start_recv("ab"[way], target, tag)]
        for start in rng.permutation(2):
            messages.append(starts[start]())
        expected.append((target, packed_bytes(source)))
    assert pair.finish(*messages) == [None] * 12
    assert all(packed_bytes(target) == wanted for target, wanted in expected)
    for end in pair.ends:
        end.close()
    assert not any(agent.registered or agent.writes for agent in pair.agents)


def test_a_message_goes_from_one_layout_to_another(rng):
    pair, source, target = Pair(), rng.random((20, 30)), np.zeros((30, 20))
    received = pair.ends[1].start_recv("a", target.T)
    sent = pair.ends[0].start_send("b", source[::-1])
    assert pair.finish(sent, received) == [None, None] and (target.T == source[::-1]).all()
    assert sent.wait() == received.wait() == source.nbytes and sent.test()


def long_runs(rng, array):
    """A layout that takes a random part of an array of bytes in a few runs, in any order."""
    cuts = np.unique(rng.integers(0, array.size + 1, size=8))
    pieces = [(int(first), int(end)) for first, end in zip(cuts, cuts[1:]) if rng.random() < 0.7] or [(0, array.size)]
    order = rng.permutation(len(pieces))
    return dtconv.hindexed([pieces[i][1] - pieces[i][0] for i in order], [pieces[i][0] for i in order], "byte")


@pytest.mark.parametrize("case", range(30))
@pytest.mark.parametrize("registered", [(0, 1), (0,), (1,)])
def test_registered_arrays_with_long_runs_go_by_a_list(rng, case, registered):
    pair = Pair(seed=case)
    arrays = rng.integers(1, 256, 4000, np.uint8), np.zeros(4000 + int(rng.integers(0, 500)), np.uint8)
    for end in pair.ends:
        end.list_from = 100
    for index in registered:
        pair.ends[index].register(arrays[index])
    pair.ends[1 - registered[0]].register(np.zeros(10))
    layouts = long_runs(rng, arrays[0]), long_runs(rng, arrays[1])
    sizes = [layout.size for layout in layouts]
    if sizes[0] > sizes[1]:
        layouts = layouts[0], dtconv.contiguous(4000, "byte")
    by_list = registered == (0, 1) and all(layout.size >= 100 * len(layout.runs()) for layout in layouts)
    both = (pair.ends[0].start_send("b", arrays[0], layout=layouts[0]),
            pair.ends[1].start_recv("a", arrays[1], layout=layouts[1]))
    assert pair.finish(*both) == [None, None]
    expected = np.zeros_like(arrays[1])
    dtconv.unpack(dtconv.pack(arrays[0], layout=layouts[0]), expected, layout=layouts[1])
    assert (arrays[1] == expected).all() and both[1].wait() == layouts[0].size
    in_fragments = -(-layouts[0].size // SMALL)
    assert (pair.agents[0].descriptors < in_fragments) == by_list or in_fragments < 20
    for end in pair.ends:
        end.close()
    assert not any(agent.registered or agent.writes for agent in pair.agents)


def test_runs_are_the_typemap(rng):
    layout = dtconv.hindexed([3, 1, 2], [40, 0, -8], "int32")
    assert layout.runs().tolist() == [[40, 12], [0, 4], [-8, 8]]
    assert dtconv.contiguous(3, "int32").runs(2).tolist() == [[0, 24]] and dtconv.layout("int").runs(0).shape == (0, 2)


def test_a_receive_may_have_more_room_but_not_less():
    pair, room = Pair(), np.zeros(40)
    received, sent = pair.ends[1].start_recv("a", room), pair.ends[0].start_send("b", np.ones(30))
    assert pair.finish(sent, received) == [None, None]
    assert received.wait() == 240 and room.tolist() == [1] * 30 + [0] * 10
    received, sent = pair.ends[1].start_recv("a", room), pair.ends[0].start_send("b", np.ones(41))
    assert pair.finish(sent, received) == [dtconv.TruncateError] * 2
    with pytest.raises(dtconv.TruncateError, match="328 bytes has arrived for 320"):
        received.wait()
    received, sent = pair.ends[1].start_recv("a", room), pair.ends[0].start_send("b", np.full(40, 3.0))
    assert pair.finish(sent, received) == [None, None] and room.tolist() == [3] * 40


def test_basic_types_that_differ_are_refused_at_both_ends():
    pair = Pair()
    both = pair.ends[0].start_send("b", np.ones(4)), pair.ends[1].start_recv("a", np.zeros(4, int))
    assert pair.finish(*both) == [dtconv.SignatureError] * 2
    array = np.zeros(6)
    both = pair.ends[0].start_send("b", np.ones((2, 2))), pair.ends[1].start_recv("a", array, layout="double", count=4)
    assert pair.finish(*both) == [None, None] and array.tolist() == [1] * 4 + [0] * 2


@pytest.mark.parametrize("steps", range(12))
@pytest.mark.parametrize("canceled", ["send", "recv"])
def test_a_canceled_message_ends_at_both_ends_and_others_go_on(steps, canceled):
    pair, room = Pair(seed=steps), np.zeros(100)
    both = {"send": pair.ends[0].start_send("b", np.ones(100), 1), "recv": pair.ends[1].start_recv("a", room, 1)}
    other = pair.ends[0].start_send("b", np.ones(100), 2), pair.ends[1].start_recv("a", np.zeros(100), 2)
    for _ in range(steps):
        pair.ends[steps % 2].progress()
        pair.ends[1 - steps % 2].progress()
    both[canceled].cancel()
    assert pair.finish(both[canceled]) in ([None], [dtconv.CanceledError])
    # An offer that no receive has taken waits for the next one.
    both["send"].cancel()
    assert set(pair.finish(*both.values())) <= {None, dtconv.CanceledError}
    assert pair.finish(*other) == [None, None]
    again = pair.ends[0].start_send("b", np.full(100, 5.0), 1), pair.ends[1].start_recv("a", room, 1)
    assert pair.finish(*again) == [None, None] and room.tolist() == [5] * 100


def test_a_receive_that_nobody_answers_can_be_canceled():
    pair = Pair()
    received = pair.ends[1].start_recv("a", np.zeros(4), 9)
    with pytest.raises(dtconv.TimedOutError, match="a message with tag 9 was not done after 0.01 s"):
        received.wait(0.01)
    received.cancel()
    with pytest.raises(dtconv.CanceledError):
        received.test()
    both = pair.ends[0].start_send("b", np.ones(4), 9), pair.ends[1].start_recv("a", np.zeros(4), 9)
    assert pair.finish(*both) == [None, None]


@pytest.mark.parametrize("fault", ["refuse_writes", "fail_writes"])
def test_a_write_that_fails_ends_everything_with_that_peer(fault):
    pair, third = Pair(others=1), None
    third = dtconv.nixl.Bounce(FakeAgent("c", pair.network), fragment_bytes=SMALL, fragments=3)
    pair.ends[0].connect("c")
    third.connect("a")
    pair.ends.append(third)
    setattr(pair.agents[0], fault, True)
    sent = pair.ends[0].start_send("b", np.ones(100))
    pair.ends[1].start_recv("a", np.zeros(100))
    assert pair.finish(sent) == [dtconv.PeerError]
    with pytest.raises(dtconv.PeerError, match="a write to b has failed"):
        pair.ends[0].start_send("b", np.ones(1))
    setattr(pair.agents[0], fault, False)
    both = pair.ends[0].start_send("c", np.ones(10)), third.start_recv("a", np.zeros(10))
    assert pair.finish(*both) == [None, None]
    assert len(pair.ends[0].staging) == 3


def test_a_peer_that_is_gone_is_noticed_without_sending(monkeypatch):
    monkeypatch.setattr("dtconv._nixl_peer.PING_SECONDS", 0)
    pair = Pair()
    received = pair.ends[1].start_recv("a", np.zeros(4))
    pair.agents[0].is_gone = True
    with pytest.raises(dtconv.PeerError, match="a: NIXL_ERR_REMOTE_DISCONNECT"):
        received.wait(WAIT)


@pytest.mark.parametrize("text", [
    encode(99), encode(OFFER, 1, 2, 3), encode(HELLO, 0, 0, 64), encode(HELLO, 0, 0, 0, 8), encode(HELLO, 2, 0, 64, 8), encode(GO), encode(HELLO)[:-1], encode(GO, 1)[:-1],
    encode(GO, 0, 0, 0, 8), encode(GO, 0, 0, 0, 0, 8, 0, 8), encode(GO, 0, 2, 0, 0, 32), encode(GO, 0, 0, 0, 0, 32),
    encode(GO, 0, 0, 0, 0, 2**64 - 8, 0, 40), encode(DATA, 0, 0, 8, 99), encode(DATA, 0, 0, SMALL + 1, 0), encode(CREDIT, 3)])
def test_what_breaks_the_protocol_ends_the_peer_only(text):
    pair, array = Pair(), np.zeros(4)
    pair.ends[1].register(array)
    pair.ends[1].list_from = 1
    received, sent = pair.ends[1].start_recv("a", np.zeros(4)), pair.ends[1].start_send("a", array)
    pair.ends[1].progress()
    pair.agents[0].send_notif("b", text)
    assert pair.finish(received, sent) in ([dtconv.FormatError] * 2, [dtconv.PeerError] * 2)


def test_more_bytes_than_were_offered_end_the_message():
    pair, room = Pair(), np.zeros(2)
    received, sent = pair.ends[1].start_recv("a", room), pair.ends[0].start_send("b", np.ones(2))
    pair.ends[1].progress()
    pair.agents[0].send_notif("b", encode(DATA, 0, 8, 16, 0))
    assert pair.finish(received) == [dtconv.FormatError] and not room.any()
    assert pair.finish(sent) == [dtconv.FormatError]


def test_tags_that_no_number_can_be_are_refused_and_nothing_ends():
    pair = Pair()
    for tag in (-1, 1 << 64):
        with pytest.raises(dtconv.InvalidError, match=f"tag is {tag}"):
            pair.ends[0].start_send("b", np.ones(4), tag)
        with pytest.raises(dtconv.InvalidError, match=f"tag is {tag}"):
            pair.ends[0].start_recv("b", np.zeros(4), tag)
    both = pair.ends[0].start_send("b", np.ones(4), (1 << 64) - 1), pair.ends[1].start_recv("a", np.zeros(4), (1 << 64) - 1)
    assert pair.finish(*both) == [None, None]


def test_nothing_is_kept_of_messages_that_have_ended():
    pair = Pair()
    for tag in range(50):
        starts = [lambda: pair.ends[0].start_send("b", np.ones(4), tag), lambda: pair.ends[1].start_recv("a", np.zeros(4), tag)]
        messages = []
        for start in starts if tag % 2 else reversed(starts):
            messages.append(start())
            pair.ends[1].progress()
        assert pair.finish(*messages) == [None, None]
    for end, peer in zip(pair.ends, "ba"):
        assert not end._peers[peer].under_way() and not end._peers[peer].arrived
        end.close()
        assert end not in dtconv.nixl._open


def test_notifications_of_others_stay():
    pair = Pair()
    pair.agents[0].send_notif("b", b"mine")
    both = pair.ends[0].start_send("b", np.ones(4)), pair.ends[1].start_recv("a", np.zeros(4))
    assert pair.finish(*both) == [None, None]
    assert pair.agents[1].update_notifs() == {"a": [b"mine"]}


def test_closing_cancels_what_is_under_way():
    pair = Pair()
    both = pair.ends[0].start_send("b", np.ones(100)), pair.ends[1].start_recv("a", np.zeros(100))
    for _ in range(3):
        pair.ends[1].progress()
        pair.ends[0].progress()
    with pair.ends[0]:
        pass
    assert pair.finish(*both) == [dtconv.CanceledError] * 2
    with pytest.raises(dtconv.StateError, match="closed"):
        pair.ends[0].start_send("b", np.ones(1))
    for wrong in ("b", "c"):
        with pytest.raises(dtconv.StateError, match="connected"):
            pair.ends[1].connect("a") if wrong == "b" else pair.ends[1].start_send("c", np.ones(1))
    with pytest.raises(dtconv.StateError, match="as many peers"):
        pair.ends[1].connect("c")


def test_an_agent_that_is_unknown_or_gone_is_not_connected():
    network = {}
    end = dtconv.nixl.Bounce(FakeAgent("a", network), fragment_bytes=SMALL)
    FakeAgent("b", network).is_gone = True
    for _ in range(2):
        with pytest.raises(dtconv.PeerError, match="b: NIXL_ERR_REMOTE_DISCONNECT"):
            end.connect("b")
    network["b"].is_gone = False
    end.connect("b")


def test_memory_of_a_write_that_does_not_end_stays_registered(monkeypatch):
    monkeypatch.setattr("dtconv.nixl.CLOSE_SECONDS", 0.01)
    pair = Pair()
    pair.agents[0].check_xfer_state = lambda write: "PROC"
    pair.ends[0].start_send("b", np.ones(4)), pair.ends[1].start_recv("a", np.zeros(4))
    for end in reversed(pair.ends * 2):
        end.progress()
    assert pair.agents[0].writes
    pair.ends[0].close()
    assert pair.agents[0].registered
    del pair.agents[0].check_xfer_state
    pair.ends[0].close()
    assert not pair.agents[0].registered and not pair.agents[0].writes


TWO_PROCESSES = """
import os, sys
import numpy as np
import dtconv, dtconv.nixl
from nixl._api import nixl_agent, nixl_agent_config
name, peer = sys.argv[1:3]
agent = nixl_agent(name, nixl_agent_config(backends=["UCX"]))
bounce = dtconv.nixl.Bounce(agent, fragment_bytes=1 << 16)
print(agent.get_agent_metadata().hex(), flush=True)
agent.add_remote_agent(bytes.fromhex(sys.stdin.readline()))
bounce.connect(peer)
numbers = np.arange(200000.0).reshape(400, 500)
if name == "a":
    bounce.send(peer, numbers.T, 7, timeout=60)
    bounce.recv(peer, np.zeros(1), timeout=60)
    print("never", flush=True)
else:
    room = np.zeros((500, 400))
    bounce.recv(peer, room, 7, timeout=60)
    print("right" if (room == numbers.T).all() else "wrong", flush=True)
    bounce.recv(peer, np.zeros(1), timeout=60)
"""


@pytest.mark.skipif(importlib.util.find_spec("nixl") is None, reason="NIXL is not installed")
def test_agents_of_nixl_in_two_processes():
    ends = [subprocess.Popen([sys.executable, "-c", TWO_PROCESSES, *names], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True) for names in (("a", "b"), ("b", "a"))]
    try:
        metadata = [next(line for line in end.stdout if set(line.strip()) <= set("0123456789abcdef")) for end in ends]
        for end, text in zip(ends, reversed(metadata)):
            end.stdin.write(text)
            end.stdin.flush()
        assert next(line for line in ends[1].stdout if line in ("right\n", "wrong\n")) == "right\n"
        ends[1].send_signal(signal.SIGKILL)
        output, problems = ends[0].communicate(timeout=WAIT)
        assert "never" not in output and "PeerError" in problems, problems
    finally:
        for end in ends:
            end.kill()
            end.wait()
