# SPDX-License-Identifier: BSD-3-Clause
"""The parts of kv_rates, both ends of it in two threads over agents without a network, and the program without NIXL."""
from __future__ import annotations

import argparse
import collections
import ctypes
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading

import numpy as np
import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(FOLDER))

import dtconv
from conftest import WAIT
from fake_nixl import FakeAgent
from kvrates import cuda
from kvrates import link as links
from kvrates import measure, memory, results, shapes, ways
from kvrates.end import End
from kvrates.shapes import RECEIVER, SENDER, Cache, Shape


# ---- shapes and what is verified -------------------------------------------------------------

def random_shape(rng):
    """One to three caches with rows that are contiguous, or part of longer rows, at either end."""
    caches = []
    for _ in range(int(rng.integers(1, 4))):
        layers, parts, rows, words, *more = (int(n) for n in rng.integers(1, 4, 8))
        strides = tuple(8 * (words + extra - 1) for extra in more[:2])
        firsts = tuple(int(rng.integers(0, (stride - 8 * words) // 8 + 1)) * 8 for stride in strides)
        caches.append(Cache(layers, parts, rows, 8 * words, strides, firsts))
    return Shape("random", int(rng.integers(1, 6)), tuple(caches))


@pytest.mark.parametrize("case", range(30))
def test_pieces_are_the_pages_of_the_views(rng, case):
    shape = random_shape(rng)
    both = shapes.tables(shape, case)
    count = 0
    for end in (SENDER, RECEIVER):
        pool = np.arange(shape.pool_bytes(end) // 8)
        for index, cache in enumerate(shape.caches):
            wanted = shapes.view(pool, shape, index, end)[:, :, both[end]].ravel()
            places = shapes.pieces(shape, index, end, both[end])
            words = places[:, None] // 8 + np.arange(shapes.piece_bytes(cache) // 8)
            assert pool[words.ravel()].tolist() == wanted.tolist()
            count += len(places)
    assert count == 2 * shape.pieces()
    packed = shapes.packed_views(np.arange(shape.size() // 8), shape)
    assert np.concatenate([part.ravel() for part in packed]).tolist() == list(range(shape.size() // 8))


def test_tables_are_new_with_each_message_and_name_a_page_once():
    shape = shapes.shape_of("100x8B")
    first, second = shapes.tables(shape, 1), shapes.tables(shape, 2)
    assert len({table.tobytes() for table in (*first, *second)}) == 4
    assert all(len(set(table)) == 100 and table.max() < shape.pool_pages and table.min() >= 0 for table in first)
    assert all((again == table).all() for again, table in zip(shapes.tables(shape, 1), first))


@pytest.mark.parametrize(("name", "size", "pieces"), [
    ("8192x32KiB", 256 << 20, 8192), ("65536x576B", 36 << 20, 65536), ("70b", 160 << 20, 5120),
    ("mla", 61 * 64 * 64 * (576 + 132), 2 * 61 * 64), ("tp2to4", 80 << 20, 10240), ("tp2to4rows", 80 << 20, 163840)])
def test_rows_have_the_sizes_they_are_named_for(name, size, pieces):
    assert (shapes.shape_of(name).size(), shapes.shape_of(name).pieces()) == (size, pieces)


@pytest.mark.parametrize("name", ["", "8192", "0x8B", "4x0B", "4x12B", "4x4KB", "70B"])
def test_rows_that_are_none_are_refused(name):
    with pytest.raises(ValueError, match="is no row"):
        shapes.shape_of(name)


def moved(shape, both):
    """Both pools after a message that is right."""
    sent = memory.contents(shape.pool_bytes(SENDER))
    received = np.full(shape.pool_bytes(RECEIVER) // 8, memory.CANARY_WORD)
    for index in range(len(shape.caches)):
        shapes.view(received, shape, index, RECEIVER)[:, :, both[RECEIVER]] = \
            shapes.view(sent, shape, index, SENDER)[:, :, both[SENDER]]
    return sent, received


@pytest.mark.parametrize("case", range(30))
def test_one_wrong_word_anywhere_is_found(rng, case, monkeypatch):
    shape = random_shape(rng)
    monkeypatch.setattr(shapes, "PART_BYTES", int(rng.integers(8, 300)))
    both = shapes.tables(shape, case)
    sent, received = moved(shape, both)
    assert shapes.check_pages(shape, sent, received.copy(), both, memory.CANARY_WORD) == ""
    received[rng.integers(len(received))] ^= 1 << int(rng.integers(63))
    assert shapes.check_pages(shape, sent, received, both, memory.CANARY_WORD) != ""


@pytest.mark.parametrize("part", [8, 24, 1024])
def test_one_wrong_word_of_a_run_is_found(monkeypatch, part):
    monkeypatch.setattr(shapes, "PART_BYTES", part)
    shape = shapes.shape_of("4x16B")
    sent, right = memory.contents(128), np.full(16, memory.CANARY_WORD)
    right[:8] = sent[:8]
    assert shapes.check_run(shape, sent, right, memory.CANARY_WORD) == ""
    for place in range(16):
        wrong = right.copy()
        wrong[place] += 1
        assert shapes.check_run(shape, sent, wrong, memory.CANARY_WORD) != ""


# ---- the socket ------------------------------------------------------------------------------

def pair(limit=WAIT):
    return [links.Link(end, limit) for end in socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)]


@pytest.mark.parametrize("wait", ["hear", "await_note", "files", "until"])
@pytest.mark.parametrize("is_gone", [True, False])
def test_every_wait_ends(wait, is_gone):
    ours, theirs = pair(0.05)
    if is_gone:
        theirs.end.close()
    with pytest.raises(links.Failure, match="has ended|has not answered for 0.05 s|was not done after 0.05 s|no file"):
        if wait == "until":
            ours.wait_until(lambda: False, "it")
        elif not getattr(ours, wait)():
            raise links.Failure("no file")
    if is_gone:
        with pytest.raises(links.Lost, match="does not listen any more"):
            ours.note()


def test_a_peer_that_does_not_listen_is_given_up():
    ours, _ = kept = pair(0.05)
    with pytest.raises(links.Lost, match="has not listened for 0.05 s"):
        for _ in range(1 << 20):
            ours.note()
    assert kept


def test_an_error_ends_every_wait_and_is_heard_once():
    ours, theirs = pair()
    theirs.tell(error="it broke")
    with pytest.raises(links.Failure, match="it broke"):
        ours.wait_until(lambda: False, "it")
    with pytest.raises(links.Failure, match="it broke"):
        ours.await_note()
    theirs.note()
    theirs.tell(answer=1)
    assert ours.hear() == {"answer": 1}


# ---- both ends -------------------------------------------------------------------------------

class Inbox(collections.defaultdict):
    """Notifications of which one thread takes what another puts there."""

    def setdefault(self, name, _):
        return self[name]


class Agent(FakeAgent):
    """An agent that is used beside one of another thread."""

    def __init__(self, name, network):
        super().__init__(name, network)
        self.notifs, self.heard = Inbox(collections.deque), {}

    def update_notifs(self):
        for name, queue in list(self.notifs.items()):
            while queue:
                self.heard.setdefault(name, []).append(queue.popleft())
        return self.heard

    def check_remote_xfer_done(self, peer, note):
        texts = self.update_notifs().get(peer, [])
        is_there = note in texts
        if is_there:
            texts.remove(note)
        return is_there

    def get_agent_metadata(self):
        return self.name.encode()

    def add_remote_agent(self, metadata):
        assert metadata.decode() in ("sender", "receiver")


def run_both(monkeypatch, rows, make_agent=None, only=(), limit=WAIT, make_memory=memory.HostMemory, change=None):
    """Measure rows between two threads. Returns what was found. ``change`` is called with each end."""
    monkeypatch.setattr(shapes, "MODELS", {"small": lambda: shapes.split("small", 3, by_rows=True)._replace(
        caches=(Cache(2, 2, 4, 16, (32, 24), (16, 8)), Cache(3, 1, 1, 24, (24, 24))))})
    network, found, sizes = {}, [], measure.memory_sizes([shapes.shape_of(row) for row in rows])
    pair_of_links, failures = pair(limit), []

    def one(role):
        try:
            end = End(role, pair_of_links[role], make_memory(*sizes), make_agent or (lambda name: Agent(name, network)),
                      fragment_bytes=256, fragments=3)
            if change:
                change(end)
            if role == RECEIVER:
                measure.Receiver(end).serve()
                return
            sender = measure.Sender(end, measure.Limits(4, 1), lambda **one: found.append(one), list(only))
            for row in rows:
                sender.measure(row)
            sender.end_all()
        except Exception as reason:
            failures.append(reason)
        finally:
            pair_of_links[role].end.close()

    both = [threading.Thread(target=one, args=(role,), daemon=True) for role in (SENDER, RECEIVER)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join(WAIT)
    assert not failures and not any(thread.is_alive() for thread in both), failures
    return found


def test_all_ways_of_host_memory_move_every_byte(monkeypatch):
    found = run_both(monkeypatch, ["20x64B", "small"])
    assert not any("wrong" in one for one in found), found
    measured = {(one["row"], one["way"]) for one in found if "median_ms" in one}
    names = {way.name for way in ways.HOST_WAYS}
    # Rows inside pages need lists of pages that know rows.
    optional = {("small", "direct"), ("small", "pages")}
    assert measured | optional == {(row, name) for row in ("20x64B", "small") for name in names}
    assert all(len(one["ms"]) == 4 and min(one["ms"]) > 0 and one["verified"] == 2 for one in found if "ms" in one)


def test_without_nixl_the_other_ways_are_measured(monkeypatch):
    def missing(name):
        raise ImportError("No module named 'nixl'")

    found = run_both(monkeypatch, ["20x64B"], missing)
    assert {one["way"] for one in found if "median_ms" in one} == {"direct", "channel", "copy"}
    left_out = {one["way"]: one["left_out"] for one in found if "left_out" in one}
    assert set(left_out) == {"staged", "pages", "numpy", "list", "bulk"}
    assert set(left_out.values()) == {"NIXL is missing: No module named 'nixl'"}


def test_an_agent_of_one_end_alone_is_not_used(monkeypatch):
    network = {}

    def sometimes(name):
        if name == "receiver":
            raise RuntimeError("NIXL_ERR_BACKEND")
        return Agent(name, network)

    found = run_both(monkeypatch, ["20x64B"], sometimes, only=["copy", "bulk"])
    assert [(one["way"], one.get("left_out")) for one in found] == \
        [("bulk", "NIXL cannot be used by the receiver: NIXL_ERR_BACKEND"), ("copy", None)]


def test_wrong_bytes_are_told_and_other_ways_go_on(monkeypatch):
    right = ways.copy_direct

    def wrong(end, message):
        right(end, message)
        end.peer.words[int(message.tables[RECEIVER][3]) * 8 + 5] ^= 1

    monkeypatch.setattr(ways, "copy_direct", wrong)
    found = run_both(monkeypatch, ["20x64B"], only=["direct", "copy"])
    assert re.fullmatch(r"page \d+ of cache 0 has not the bytes of page \d+", found[0].pop("wrong"))
    assert found[0] == {"row": "20x64B", "way": "direct"}
    assert found[1]["way"] == "copy" and len(found) == 2


@pytest.mark.parametrize("way", [ways.Direct, ways.Staged, ways.List])
@pytest.mark.parametrize("side", ["send", "receive"])
@pytest.mark.parametrize("at", [1, 2, 4])
def test_a_way_that_fails_at_either_end_is_left_out(monkeypatch, way, side, at):
    right, calls = getattr(way, side), []

    def failing(self, message):
        calls.append(message)
        if type(self) is way and len(calls) >= at:
            raise RuntimeError("it\nbroke")
        right(self, message)

    monkeypatch.setattr(way, side, failing)
    found = run_both(monkeypatch, ["20x64B", "10x8B"], only=[way.name, "copy", "numpy"])
    failures = [one for one in found if "left_out" in one]
    assert [one["row"] for one in failures] == ["20x64B", "10x8B"]
    assert all(one["left_out"].endswith("RuntimeError: it broke") and one["way"] == way.name for one in failures)
    assert sorted(one["way"] for one in found if "median_ms" in one) == ["copy", "copy", "numpy", "numpy"]


def test_slow_ways_have_fewer_messages(monkeypatch):
    right = ways.Copy.send

    def slow(self, message):
        threading.Event().wait(0.3)
        right(self, message)

    monkeypatch.setattr(ways.Copy, "send", slow)
    monkeypatch.setattr(measure, "LEAST_MESSAGES", 2)
    found = run_both(monkeypatch, ["20x64B"], only=["direct", "copy"])
    assert {one["way"]: (len(one["ms"]), one["cut_short"]) for one in found} == {"direct": (4, False), "copy": (4, False)}
    monkeypatch.setattr(measure, "Limits", lambda messages, seconds: argparse.Namespace(messages=9, seconds=0.5))
    found = run_both(monkeypatch, ["20x64B"], only=["direct", "copy"])
    assert {one["way"]: (len(one["ms"]), one["cut_short"]) for one in found} == {"direct": (9, False), "copy": (2, True)}


class NumpyAsTorch:
    """What the way over PyTorch calls, done by numpy."""

    class Tensor(np.ndarray):
        def to(self, device):
            return self

        def index_copy_(self, axis, table, source):
            assert axis == 2
            self[:, :, table] = source

    def as_tensor(self, words, device):
        return words.view(self.Tensor)

    def from_numpy(self, table):
        return table.view(self.Tensor)

    def index_select(self, pool, axis, table, out):
        np.take(pool, table, axis=axis, out=out, mode="clip")


class NumpyAsDriver:
    """The entry point of the driver that copies a batch, done at once."""

    @staticmethod
    def cuMemcpyBatchAsync_v2(targets, sources, sizes, count, attributes, first, attribute_count, stream):
        lists = [np.ctypeslib.as_array(ctypes.cast(one, ctypes.POINTER(ctypes.c_uint64)), (count.value,)).tolist()
                 for one in (targets, sources, sizes)]
        # Every entry is copied in stream order, and there is a stream.
        assert attributes._obj.order == 1 and first._obj.value == 0 and attribute_count.value == 1 and stream.value == 7
        for entry in zip(*lists):
            ctypes.memmove(*entry)
        return 0


def test_ways_of_devices_move_every_byte(monkeypatch):
    driver = cuda.Driver.__new__(cuda.Driver)
    driver.lib, driver.stream = NumpyAsDriver, 7

    def change(end):
        end.torch, end.memory.driver, end.missing = NumpyAsTorch(), driver, {}

    monkeypatch.setattr(ways, "HOST_WAYS", (ways.GatheredTorch, ways.Batch))
    found = run_both(monkeypatch, ["20x64B", "small"], change=change)
    assert {(one["row"], one["way"]) for one in found if "median_ms" in one} == \
        {(row, way) for row in ("20x64B", "small") for way in ("torch", "batch")}, found


def test_an_older_driver_copies_a_batch_too_and_errors_have_names():
    calls = []

    class Older:
        @staticmethod
        def cuMemcpyBatchAsync(*arguments):
            calls.append(arguments)
            return 1

        @staticmethod
        def cuGetErrorName(result, text):
            text._obj.value = b"CUDA_ERROR_INVALID_VALUE"

    driver = cuda.Driver.__new__(cuda.Driver)
    driver.lib, driver.stream = Older, 7
    with pytest.raises(links.Failure, match="cuMemcpyBatchAsync returned 1, CUDA_ERROR_INVALID_VALUE"):
        driver.copy_batch(*np.ones((3, 2), np.int64))
    assert len(calls[0]) == 9


# ---- the table -------------------------------------------------------------------------------

def test_the_table_shows_medians_ratios_and_what_is_missing():
    def one(way, ms, **more):
        return {"row": "70b", "way": way, "bytes": 1 << 20, "pieces": 7, "ms": [ms] * 3, "median_ms": ms,
                "GB_per_s": 1.5, "cut_short": False, **more}

    text = results.table([one("direct", 2.0), one("list", 500.0, cut_short=True), one("bulk", 1.0),
                          {"way": "torch", "left_out": "it is not there"}, {"row": "70b", "way": "copy", "wrong": "all"}])
    lines = [line.split() for line in text.splitlines()]
    assert lines[1] == ["70b", "1.0", "7", "direct", "3", "2.000", "1.50", "250", "0.50"]
    assert lines[2] == ["list", "3", "500.000", "1.50", "1.00", "0.00"] and lines[3][-2:] == ["500", "1.00"]
    assert text.splitlines()[4:] == ["70b list: 3 messages, then its time was spent",
                                     "torch: left out: it is not there", "70b copy: WRONG: all"]
    assert results.table([one("direct", 2.0)]).splitlines()[1].split()[-2:] == ["-", "-"]


# ---- the program -----------------------------------------------------------------------------

PROGRAM = FOLDER / "kv_rates"


def run_program(tmp_path, *arguments, hide_nixl=True, **environment):
    """The program, which finds no NIXL unless it shall."""
    paths = [str(pathlib.Path(dtconv.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    if hide_nixl:
        (tmp_path / "nixl").mkdir(exist_ok=True)
        (tmp_path / "nixl" / "__init__.py").write_text("raise ImportError('it is hidden')\n")
        paths.insert(0, str(tmp_path))
    return subprocess.run([sys.executable, str(PROGRAM), *arguments], capture_output=True, text=True, timeout=4 * WAIT,
                          check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment})


def test_the_program_measures_in_host_memory(tmp_path):
    ended = run_program(tmp_path, "--rows", "64x4KiB,16x576B", "--messages", "3", "--json", str(tmp_path / "out.json"),
                        "--commit", "abc")
    assert ended.returncode == 0, ended.stderr
    what = json.loads((tmp_path / "out.json").read_text())
    assert what["commit"] == "abc" and what["devices"] == "host" and what["failed"] == "" and what["numpy"] == np.__version__
    measured = {(one["row"], one["way"]) for one in what["results"] if "median_ms" in one}
    assert measured == {(row, way) for row in ("64x4KiB", "16x576B") for way in ("direct", "channel", "copy")}
    assert "bulk: left out: NIXL is missing: it is hidden" in ended.stdout and "64x4KiB direct: " in ended.stderr


@pytest.mark.skipif(importlib.util.find_spec("nixl") is None, reason="NIXL is not installed")
def test_the_program_measures_over_nixl(tmp_path):
    ended = run_program(tmp_path, "--rows", "64x4KiB", "--messages", "3", "--json", str(tmp_path / "out.json"), hide_nixl=False)
    what = json.loads((tmp_path / "out.json").read_text())
    assert ended.returncode == 0, ended.stderr
    assert {one["way"] for one in what["results"] if "median_ms" in one} == {way.name for way in ways.HOST_WAYS}


@pytest.mark.skipif("DTCONV_TEST_DRIVER" not in os.environ, reason="DTCONV_TEST_DRIVER names no driver of CUDA")
def test_the_program_measures_on_a_device(tmp_path):
    # A name without a folder is found as every library is.
    folders = [os.path.dirname(os.environ["DTCONV_TEST_DRIVER"]), os.environ.get("LD_LIBRARY_PATH", "")]
    ended = run_program(tmp_path, "--devices", "0,0", "--rows", "64x4KiB,7x120B", "--messages", "3",
                        LD_LIBRARY_PATH=os.pathsep.join(filter(None, folders)))
    assert ended.returncode == 0, ended.stderr
    if "cannot be mapped: cuIpcOpenMemHandle" in ended.stdout:
        pytest.skip("this driver does not map memory of another process")
    assert {line.split()[1] for line in ended.stderr.splitlines() if line.startswith("7x120B ")} >= {"direct:", "copy:"}


@pytest.mark.parametrize(("arguments", "why"), [
    (["--rows", "7"], "7 is no row"), (["--ways", "fast"], "fast is no way"), (["--devices", "0"], "0 is neither host")])
def test_wrong_arguments_are_named(tmp_path, arguments, why):
    ended = run_program(tmp_path, *arguments)
    assert ended.returncode == 2 and why in ended.stderr


def test_help_tells_what_the_ways_and_columns_are(tmp_path):
    ended = run_program(tmp_path, "--help")
    assert ended.returncode == 0
    assert all(f"  {way.name} " in ended.stdout and way.about in ended.stdout for way in (*ways.HOST_WAYS, *ways.DEVICE_WAYS))


def test_a_device_that_is_not_there_is_a_sentence(tmp_path):
    ended = run_program(tmp_path, "--devices", "7000,7000", "--rows", "4x64B", LD_LIBRARY_PATH=str(tmp_path))
    assert ended.returncode == 1
    assert "kv_rates: the sender: " in ended.stderr and "Traceback" not in ended.stderr


@pytest.fixture
def program():
    loader = importlib.machinery.SourceFileLoader("kv_rates_program", str(PROGRAM))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("kv_rates_program", loader))
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(("what", "why"), [
    ("os.kill(os.getpid(), 9)", "was ended by SIGKILL"), ("os._exit(3)", "has failed with status 3"),
    ("time.sleep(1000)", "the limit of time is over")])
def test_processes_that_die_or_hang_are_a_sentence(program, monkeypatch, what, why):
    def start(role, link, output):
        code = f"import os, time; {what}" if role == RECEIVER else "import time; time.sleep(1000)"
        return subprocess.Popen([sys.executable, "-c", code], pass_fds=(link.fileno(), output))

    monkeypatch.setattr(program, "start", start)
    monkeypatch.setattr(program, "PATIENCE_SECONDS", 0.5)
    watch = program.Watch(argparse.Namespace(limit=0.5))
    assert why in watch.run()
    assert all(process.returncode in (-signal.SIGKILL, 3) for process in watch.processes)
