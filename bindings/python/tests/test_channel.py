# SPDX-License-Identifier: BSD-3-Clause
"""Channels: within a process, between processes, and when the other one goes."""
from __future__ import annotations

import gc
import os
import socket
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import dtconv
from conftest import WAIT


@pytest.fixture
def pair():
    ends = dtconv.Channel.pair(kind="host")
    yield ends
    for end in ends:
        end.close()


def address(name):
    return f"@dtconv-test-{os.getpid()}-{name}"




def test_an_engine_outlives_its_channels():
    """The collector of garbage may end the engine first."""
    left, right = dtconv.Channel.pair(kind="host")
    for end in (left, right):
        end._engine.__del__()
    received = right.start_recv(np.zeros(3), tag=1)
    sent = left.start_send(np.ones(3), tag=1)
    thread = threading.Thread(target=sent.wait, args=(WAIT,))
    thread.start()
    assert received.wait(WAIT) == 24
    thread.join()
    for end in (left, right):
        assert end._engine.handle is not None
        end.close()
        assert end._engine.handle is None
    listener = dtconv.Channel.listen(address("gone"), kind="host")
    listener._engine.__del__()
    assert listener._engine.handle is not None
    listener.close()
    assert listener._engine.handle is None


def test_a_message_from_columns_to_rows(pair):
    left, right = pair
    matrix, target = np.arange(20.0).reshape(4, 5), np.zeros((2, 4))
    received = right.start_recv(target, tag=7)
    sent = left.start_send(matrix[:, 1:3].T, tag=7)
    thread = threading.Thread(target=received.wait, args=(WAIT,))
    thread.start()
    assert sent.wait(WAIT) == 64
    thread.join()
    assert received.wait() == 64 and received.test() and (target == matrix[:, 1:3].T).all()


def test_tags_choose_the_message_and_order_is_kept(pair):
    left, right = pair
    sent = [left.start_send(np.array([number]), tag=number % 2) for number in range(6)]
    targets = [np.zeros(1, int) for _ in range(6)]
    received = [right.start_recv(targets[number], tag=1 - number % 2) for number in range(6)]
    thread = threading.Thread(target=lambda: [message.wait(WAIT) for message in received])
    thread.start()
    for message in sent:
        message.wait(WAIT)
    thread.join()
    assert [int(target[0]) for target in targets] == [1, 0, 3, 2, 5, 4]


@pytest.mark.parametrize("target, kind", [(np.zeros(3), dtconv.TruncateError), (np.zeros(4, int), dtconv.SignatureError)])
def test_what_does_not_fit_fails_at_both_ends_and_the_channel_goes_on(pair, target, kind):
    left, right = pair
    errors = []

    def receive():
        with pytest.raises(kind) as caught:
            right.recv(target, timeout=WAIT)
        errors.append(caught.value)
        right.recv(np.zeros(4), timeout=WAIT)

    thread = threading.Thread(target=receive)
    thread.start()
    with pytest.raises(kind, match="the send of 32 bytes with tag 0"):
        left.send(np.ones(4), timeout=WAIT)
    assert left.send(np.ones(4), timeout=WAIT) == 32
    thread.join()
    assert len(errors) == 1


def test_a_receive_times_out_and_can_be_waited_for_again(pair):
    left, right = pair
    target = np.zeros(2)
    message = right.start_recv(target)
    with pytest.raises(dtconv.TimedOutError, match="the recv of 16 bytes with tag 0 was not done after 0.01 s"):
        message.wait(0.01)
    assert not message.test()
    sent = left.start_send(np.ones(2))
    thread = threading.Thread(target=sent.wait, args=(WAIT,))
    thread.start()
    assert message.wait(WAIT) == 16 and target.tolist() == [1, 1]
    thread.join()


def test_several_threads_wait_on_one_channel(pair):
    left, right = pair
    targets = [np.zeros(1 << 15) for _ in range(8)]
    threads = [threading.Thread(target=right.recv, args=(targets[n], n), kwargs={"timeout": WAIT}) for n in range(8)]
    threads += [threading.Thread(target=left.send, args=(np.full((1 << 15, 2), n)[:, 0].astype(float), n),
                                 kwargs={"timeout": WAIT}) for n in range(8)]
    for thread in reversed(threads):
        thread.start()
    for thread in threads:
        thread.join()
    assert all((targets[n] == n).all() for n in range(8))


def test_closing_ends_what_is_under_way(pair):
    left, right = pair
    mine, other = left.start_recv(np.zeros(4)), right.start_recv(np.zeros(4))
    left.close()
    left.close()
    with pytest.raises(dtconv.CanceledError):
        mine.wait(WAIT)
    with pytest.raises(dtconv.PeerError):
        other.wait(WAIT)
    assert right.state == "ended"
    with pytest.raises(dtconv.StateError, match="closed"):
        left.send(np.zeros(4))
    with pytest.raises(dtconv.PeerError):
        right.send(np.zeros(4))


def test_a_message_keeps_its_array_and_a_dropped_channel_lets_go():
    left, right = dtconv.Channel.pair(kind="host")
    target = np.zeros(4).view(type("Kept", (np.ndarray,), {}))
    gone = weakref.ref(target)
    right.start_recv(target)
    del target
    gc.collect()
    assert gone() is not None
    del right
    gc.collect()
    assert gone() is None
    left.close()


CHILD = """
import sys
import numpy as np
import dtconv
channel = dtconv.Channel.connect(sys.argv[1], kind="host")
numbers = np.zeros((1000, 3), np.int32)
channel.recv(numbers[:, 1], tag=1, timeout=60)
assert channel.peer_process == int(sys.argv[2])
channel.send(numbers[::-1, 1], tag=2, timeout=60)
if sys.argv[3] == "die":
    import os
    os._exit(0)
"""


def child(name, how):
    return subprocess.Popen([sys.executable, "-c", CHILD, address(name), str(os.getpid()), how])


def test_two_processes():
    with dtconv.Channel.listen(address("two"), kind="host") as listener:
        process = child("two", "close")
        with listener.accept(WAIT) as channel:
            source, back = np.arange(2000, dtype=np.int32), np.zeros(1000, np.int32)
            assert channel.send(source[::2], tag=1, timeout=WAIT) == 4000
            assert channel.recv(back, tag=2, timeout=WAIT) == 4000
            assert (back == source[::-2] - 1).all() and process.wait(WAIT) == 0


def test_a_process_that_dies_ends_its_channel():
    with dtconv.Channel.listen(address("die"), kind="host") as listener:
        process = child("die", "die")
        channel = listener.accept(WAIT)
        channel.send(np.zeros(1000, np.int32), tag=1, timeout=WAIT)
        channel.recv(np.zeros(1000, np.int32), tag=2, timeout=WAIT)
        with pytest.raises(dtconv.PeerError):
            channel.recv(np.zeros(1), timeout=WAIT)
        assert process.wait(WAIT) == 0


def test_a_listener_waits_and_stops():
    listener = dtconv.Channel.listen(address("wait"))
    with pytest.raises(dtconv.TimedOutError, match="an accept was not done"):
        listener.accept(0.01)
    with pytest.raises(dtconv.StateError):
        dtconv.Channel.listen(address("wait"))
    listener.close()
    with pytest.raises(dtconv.StateError, match="closed"):
        listener.accept(WAIT)


def test_a_socket_that_cannot_be_used_stays_the_callers():
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with pytest.raises(dtconv.InvalidError):
        dtconv.Channel.from_socket(ends[0])
    assert ends[0].fileno() >= 0
    for end in ends:
        end.close()


def test_an_interpreter_that_ends_with_open_channels_ends_well():
    program = """
import numpy as np, dtconv
left, right = dtconv.Channel.pair(kind="host")
message = right.start_recv(np.zeros(4))
pool = dtconv.Pool("host", fragment_bytes=4096, start_bytes=4096, slab_bytes=4096)
fragment, job, packer = pool.get(), dtconv.start_pack(np.zeros((4, 4))[:, 0]), dtconv.Packer(np.zeros(4))
"""
    ended = subprocess.run([sys.executable, "-X", "dev", "-c", program], capture_output=True, text=True, timeout=WAIT,
                           check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


# ---- networks --------------------------------------------------------------------------------

SECRET = b"known to two processes"


def has_network(network):
    try:
        dtconv.channel.parameters(network=network)
    except dtconv.Error:
        return False
    return True


def free_address():
    """An address of this machine where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"tcp:127.0.0.1:{probe.getsockname()[1]}"


PEER = """
import sys
import numpy as np
import dtconv
with dtconv.Channel.connect(sys.argv[1], kind="host", network="ucx", secret=sys.argv[2].encode()) as channel:
    channel.send(np.arange(60000.0).reshape(200, 300).T, 3, timeout=60)
    channel.recv(np.zeros(1), timeout=60)
"""


def run_peer(at, secret):
    return subprocess.Popen([sys.executable, "-c", PEER, at, secret.decode()], stderr=subprocess.PIPE, text=True)


@pytest.mark.skipif(not has_network("ucx"), reason="there is no libdtconv-ucx, or UCX has no network")
def test_a_message_over_a_network_between_processes():
    at, target = free_address(), np.zeros((300, 200))
    with dtconv.Channel.listen(at, kind="host", network="ucx", secret=SECRET) as listener:
        peer = run_peer(at, SECRET)
        with listener.accept(WAIT) as channel:
            assert channel.recv(target, 3, timeout=WAIT) == 480000
            assert (target == np.arange(60000.0).reshape(200, 300).T).all()
            channel.send(np.ones(1), timeout=WAIT)
        assert peer.wait(WAIT) == 0, peer.stderr.read()


@pytest.mark.skipif(not has_network("ucx"), reason="there is no libdtconv-ucx, or UCX has no network")
def test_a_process_with_another_secret_is_refused():
    at = free_address()
    with dtconv.Channel.listen(at, kind="host", network="ucx", secret=SECRET) as listener:
        peer = run_peer(at, b"x" * 16)
        while peer.poll() is None:
            with pytest.raises(dtconv.TimedOutError):
                listener.accept(0.05)
        assert "PeerError" in peer.stderr.read()


def test_networks_that_are_not_there_are_refused(monkeypatch):
    with pytest.raises(dtconv.InvalidError, match="there is no network 'carrier pigeons'; there are ucx, verbs"):
        dtconv.Channel.connect("@x", network="carrier pigeons")
    monkeypatch.setattr("dtconv._networks._opened", {})
    monkeypatch.setenv("DTCONV_LIBRARY_UCX", "/nowhere/libdtconv-ucx.so.0")
    with pytest.raises(dtconv.UnsupportedError, match="the network ucx needs /nowhere/libdtconv-ucx.so.0.*DTCONV_LIBRARY_UCX"):
        dtconv.Channel.listen("@x", network="ucx")
    with pytest.raises(dtconv.Error):
        dtconv.Channel.listen(free_address(), secret=SECRET)
