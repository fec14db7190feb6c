# SPDX-License-Identifier: BSD-3-Clause
"""Memory of a device, in a process of its own: test_device.py runs it.

DTCONV_TEST_DRIVER names the driver: that of the machine, or the stand-in of the library's own tests. Arrays are plain
objects with ``__cuda_array_interface__`` or ``__dlpack__``.
"""
from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import socket
import subprocess
import sys
import types
import weakref

import numpy as np
import pytest

import dtconv
from conftest import packed_bytes, random_dtype, random_view

driver = ctypes.CDLL(os.environ["DTCONV_TEST_DRIVER"], mode=ctypes.RTLD_GLOBAL)


def must(name, *arguments):
    """A call of the driver's that may not fail."""
    result = getattr(driver, name)(*arguments)
    assert result == 0, f"{name}: {result}"


@pytest.fixture(scope="module", autouse=True)
def context():
    must("cuInit", 0)
    handle = ctypes.c_void_p()
    must("cuDevicePrimaryCtxRetain", ctypes.byref(handle), 0)
    must("cuCtxSetCurrent", handle)


class Memory:
    """Device memory, as an array of bytes that other arrays are views of."""

    def __init__(self, data):
        self.size = max(len(data), 1)
        self.address = ctypes.c_uint64()
        must("cuMemAlloc_v2", ctypes.byref(self.address), ctypes.c_size_t(self.size))
        if len(data):
            must("cuMemcpyHtoD_v2", self.address, bytes(data), ctypes.c_size_t(len(data)))

    def read(self):
        data = ctypes.create_string_buffer(self.size)
        must("cuMemcpyDtoH_v2", data, self.address, ctypes.c_size_t(self.size))
        return data.raw

    def __del__(self):
        must("cuMemFree_v2", self.address)


class DeviceArray:
    """The copy of a numpy array on the device, with the same strides."""

    def __init__(self, array, stream=None, read_only=False):
        root = array
        while isinstance(root.base, np.ndarray):
            root = root.base
        low = root.__array_interface__["data"][0]
        self.memory = Memory(ctypes.string_at(low, root.nbytes))
        offset = array.__array_interface__["data"][0] - low
        self.root, self.array = root, array
        self.__cuda_array_interface__ = {
            "shape": array.shape, "strides": array.strides, "typestr": array.dtype.str, "descr": array.dtype.descr,
            "data": (self.memory.address.value + offset, read_only), "version": 3, "stream": stream}

    def fetch(self):
        """Store what the device has in the numpy array."""
        ctypes.memmove(self.root.__array_interface__["data"][0], self.memory.read(), self.root.nbytes)
        return self.array


def random_plain_view(rng):
    """A random view whose dtype the array interface can describe: padding has fields of its own there."""
    dtype = random_dtype(rng, depth=0)
    return random_view(rng, dtype)


def test_random_views_of_device_memory(rng):
    for _ in range(60):
        view = random_plain_view(rng)
        expected = packed_bytes(view)
        on_device, out = DeviceArray(view), DeviceArray(np.zeros(len(expected) + 1, np.uint8))
        dtconv.pack(on_device, out)
        assert out.fetch().tobytes()[:len(expected)] == expected
        on_host = np.zeros(len(expected), np.uint8)
        assert dtconv.pack(on_device, on_host).tobytes() == expected
        back = DeviceArray(np.zeros(view.size * 2, view.dtype)[::2])
        assert dtconv.unpack(out_of(out, len(expected)), back) == len(expected)
        assert packed_bytes(back.fetch()) == expected


def out_of(out, size):
    """The first bytes of packed memory."""
    class Part:
        keep = out
        __cuda_array_interface__ = {**out.__cuda_array_interface__, "shape": (size,)}
    return Part()


def test_a_struct_in_device_memory():
    dtype = np.dtype([("a", "i1"), ("b", "f8"), ("c", "i2", (2,))], align=True)
    array = np.frombuffer(bytearray(range(240))[:dtype.itemsize * 10], dtype)
    layout = dtconv.layout(dtype)
    out = np.zeros(10 * layout.size, np.uint8)
    on_device = DeviceArray(array.view(np.uint8))
    dtconv.pack(on_device, out, layout=layout, count=10)
    assert out.tobytes() == packed_bytes(array)


def test_padding_that_the_array_interface_describes_is_not_packed():
    dtype = np.dtype([("a", "i1"), ("b", "f8"), ("c", "i2")], align=True)
    array = np.frombuffer(bytearray(range(240)), dtype)[::3]
    assert dtconv.layout(DeviceArray(array)).size == 11 * len(array)
    assert dtconv.pack(DeviceArray(array), np.zeros(11 * len(array), np.uint8)).tobytes() == packed_bytes(array)


def test_copies_jobs_and_batches():
    matrix = np.arange(60.0).reshape(6, 10)
    source, target = DeviceArray(matrix[:, 2:5]), DeviceArray(np.zeros((3, 6)))
    assert dtconv.copy(source, target) == 144
    assert target.fetch().ravel().tolist() == matrix[:, 2:5].ravel().tolist()
    dtconv.copy(source, target, op="sum")
    assert target.fetch().ravel().tolist() == (2 * matrix[:, 2:5]).ravel().tolist()
    job = dtconv.start_pack(source, out := DeviceArray(np.zeros(18)))
    assert job.wait() == 144 and out.fetch().tolist() == matrix[:, 2:5].ravel().tolist()
    dtconv.start_copy(source, target).wait()
    batch, first, second = dtconv.Batch(), DeviceArray(np.zeros(18)), np.zeros(6)
    batch.pack(source, first)
    batch.copy(DeviceArray(matrix[:, 0]), second)
    batch.copy(source, target)
    assert batch.run() == 144 + 48 + 144
    assert first.fetch().tolist() == matrix[:, 2:5].ravel().tolist() and second.tolist() == matrix[:, 0].tolist()


def test_fragments_of_device_memory():
    array = np.arange(1000, dtype=np.int32)[::3]
    packer = dtconv.Packer(DeviceArray(array))
    pieces = []
    out = bytearray(100)
    while moved := packer.readinto(out):
        pieces.append(bytes(out[:moved]))
    assert b"".join(pieces) == array.tobytes()
    with pytest.raises(dtconv.InvalidError, match="memory of a device, but the array is not"):
        dtconv.Packer(array).readinto(DeviceArray(np.zeros(10)))


def test_the_stream_of_the_array_orders_the_call():
    """Behind a stream that waits for a word, the job has not ended; a store to the word ends it."""
    stream, word = ctypes.c_void_p(), Memory(bytes(8))
    other = ctypes.c_void_p()
    must("cuStreamCreate", ctypes.byref(stream), 1)
    must("cuStreamCreate", ctypes.byref(other), 1)
    source = DeviceArray(np.arange(8.0)[::2], stream=stream.value)
    out = DeviceArray(np.zeros(4), stream=stream.value)
    kept = weakref.ref(source)
    # Freeing device memory waits for the device: no garbage may be found while the stream waits.
    gc.collect()
    gc.disable()
    try:
        must("cuStreamWaitValue64_v2", stream, word.address, ctypes.c_uint64(1), 1)
        job = dtconv.start_pack(source, out)
        del source
        assert not job.test() and "in flight" in repr(job) and kept() is not None
        must("cuStreamWriteValue64_v2", other, word.address, ctypes.c_uint64(1), 0)
        assert job.wait() == 32 and kept() is None
    finally:
        must("cuStreamWriteValue64_v2", other, word.address, ctypes.c_uint64(1), 0)
        gc.enable()
    assert out.fetch().tolist() == [0, 2, 4, 6]
    must("cuStreamDestroy_v2", stream)
    must("cuStreamDestroy_v2", other)


def test_different_streams_have_to_be_named():
    stream = ctypes.c_void_p()
    must("cuStreamCreate", ctypes.byref(stream), 1)
    source, out = DeviceArray(np.arange(4.0), stream=stream.value), DeviceArray(np.zeros(4), stream=1)
    with pytest.raises(dtconv.InvalidError, match="different current streams, 0x1 and 0x"):
        dtconv.pack(source, out)
    dtconv.pack(source, out, stream=stream.value)
    assert out.fetch().tolist() == [0, 1, 2, 3]

    class Named:
        def __cuda_stream__(self):
            return 0, stream.value

    dtconv.unpack(out, source, stream=Named())
    must("cuStreamDestroy_v2", stream)


def test_what_is_wrong_with_device_arrays():
    source = DeviceArray(np.arange(4.0))
    with pytest.raises(dtconv.InvalidError, match="pass out="):
        dtconv.pack(source)
    with pytest.raises(dtconv.InvalidError, match="out is read-only"):
        dtconv.pack(source, DeviceArray(np.zeros(4), read_only=True))
    masked = DeviceArray(np.zeros(4))
    masked.__cuda_array_interface__["mask"] = masked
    with pytest.raises(dtconv.UnsupportedError, match="mask"):
        dtconv.pack(masked, np.zeros(4))


def test_a_pool_of_device_memory():
    pool = dtconv.Pool("device", device=0, fragment_bytes=4096, start_bytes=4096, slab_bytes=4096)
    fragment = pool.get()
    assert fragment.__cuda_array_interface__["shape"] == (4096,) and not hasattr(fragment, "__array_interface__")
    dtconv.pack(np.arange(512.0), fragment)
    assert dtconv.pack(fragment, np.zeros(512)).tolist() == list(range(512))


def read_segment(segment, shape, dtype=np.uint8, offset=0):
    array = segment.array(shape, dtype, offset)
    return dtconv.pack(array, np.zeros(shape, dtype))


def test_a_segment_grows_in_place():
    with dtconv.Segment(device=0, reserve=16 << 20) as segment:
        base, granule = segment.base, segment.granularity
        assert (segment.size, segment.device, segment.compressed) == (granule, 0, False) and segment.reserve >= 16 << 20
        dtconv.pack(np.arange(1000.0), segment.array(1000, float, granule - 8000))
        segment.grow(granule + 1)
        assert segment.base == base and segment.size == 3 * granule
        dtconv.pack(np.arange(1000.0), segment.array((10, 100), float, granule))
        assert read_segment(segment, 2000, float, granule - 8000).tolist() == 2 * list(range(1000))
        segment.shrink(2 * granule)
        assert segment.size == granule
        with pytest.raises(dtconv.LimitError, match="that are reserved"):
            segment.grow(64 << 20)
        array = segment.array(8)
        segment.set_access(0, "read_write")
        with pytest.raises(dtconv.InvalidError, match="there is no access 'all'; there are none, read, read_write"):
            segment.set_access(0, "all")
        for wrong in ((granule + 1, np.uint8, 0), (1, np.uint8, granule), (1, np.uint8, -1), (-1, np.uint8, 0)):
            with pytest.raises(dtconv.InvalidError):
                segment.array(*wrong)
        os.close(segment.dma_buf(0, granule))
    with pytest.raises(dtconv.StateError, match="the segment is closed"):
        dtconv.pack(np.zeros(8, np.uint8), array)


def test_an_alias_of_a_segment():
    segment = dtconv.Segment(device=0)
    alias = segment.alias()
    dtconv.pack(np.arange(100, dtype=np.uint8), segment.array(100))
    assert alias.base != segment.base
    segment.close()
    assert read_segment(alias, 100).tolist() == list(range(100))
    with pytest.raises(dtconv.StateError, match="is an alias"):
        alias.grow(1)


RECEIVER = """
import socket, sys
import numpy as np
import device_cases, dtconv
device_cases.must("cuInit", 0)
handle = device_cases.ctypes.c_void_p()
device_cases.must("cuDevicePrimaryCtxRetain", device_cases.ctypes.byref(handle), 0)
device_cases.must("cuCtxSetCurrent", handle)
end = socket.socket(fileno=int(sys.argv[1]))
segment = dtconv.Segment.receive(end, device=0)
got = dtconv.pack(segment.array(1000, float), np.zeros(1000))
dtconv.pack(got[::-1], segment.array(1000, float))
end.send(b"1")
base = segment.base
segment.update(end)
assert segment.base == base and segment.size == 2 * segment.granularity
dtconv.pack(np.full(8, 7, np.uint8), segment.array(8, np.uint8, segment.size - 8))
segment.close()
end.send(b"2")
"""


def test_another_process_maps_a_segment():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(60)
    folder = os.path.dirname(os.path.abspath(__file__))
    with dtconv.Segment(device=0) as segment, subprocess.Popen(
            [sys.executable, "-c", RECEIVER, str(theirs.fileno())], pass_fds=[theirs.fileno()],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])}) as other:
        theirs.close()
        dtconv.pack(np.arange(1000.0), segment.array(1000, float))
        segment.send(ours)
        assert ours.recv(1) == b"1"
        assert read_segment(segment, 1000, float).tolist() == list(range(999, -1, -1))
        segment.grow(1)
        segment.send(ours)
        assert ours.recv(1) == b"2" and other.wait(60) == 0
        assert read_segment(segment, 8, np.uint8, segment.size - 8).tolist() == [7] * 8
    ours.close()


@pytest.mark.parametrize("is_on_device", [False, True])
def test_lists_of_pages(rng, is_on_device):
    cache = rng.integers(0, 256, size=(2, 2, 6, 48), dtype=np.uint8)
    numbers = rng.permutation(6)[:4].astype(np.int32)
    table = DeviceArray(numbers) if is_on_device else numbers
    pages = dtconv.Pages(DeviceArray(cache), page_axis=2, layer_axis=0, part_axis=1)
    expected = cache[:, :, numbers].tobytes()
    packed = pages.pack(table, DeviceArray(np.zeros(pages.size(table), np.uint8)))
    assert packed.fetch().tobytes() == expected
    target = DeviceArray(np.zeros_like(cache))
    into = dtconv.Pages(target, page_axis=2, layer_axis=0, part_axis=1)
    assert into.unpack(packed, table) == len(expected)
    others = np.setdiff1d(np.arange(6), numbers)
    fetched = target.fetch()
    assert (fetched[:, :, numbers] == cache[:, :, numbers]).all() and not fetched[:, :, others].any()


def test_lists_of_pages_name_the_first_number_out_of_range():
    cache = DeviceArray(np.arange(64, dtype=np.uint8).reshape(4, 16))
    pages, room = dtconv.Pages(cache), DeviceArray(np.zeros(48, np.uint8))
    wrong = DeviceArray(np.array([1, 4, -1], np.int64))
    with pytest.raises(dtconv.InvalidError, match=r"pages.table\[1\] is 4, but the pool has 4 pages"):
        pages.pack(wrong, room)
    assert room.fetch()[:16].tolist() == list(range(16, 32))
    fault = DeviceArray(np.array([-1], np.int64))
    pages.pack(wrong, room, fault=fault)
    must("cuCtxSynchronize")
    assert fault.fetch().tolist() == [1]
    pages.pack(DeviceArray(np.array([0, 3], np.int64)), room, fault=DeviceArray(np.array([-1], np.int64)))
    must("cuCtxSynchronize")
    assert room.fetch()[:32].tolist() == [*range(16), *range(48, 64)]
    with pytest.raises(dtconv.UnsupportedError):
        pages.pack(DeviceArray(np.array([0], np.int64)), np.zeros(16, np.uint8))
    for unfit in (np.zeros(2, np.int64), np.zeros(1, np.int32)):
        with pytest.raises(dtconv.InvalidError, match="fault has to be one int64"):
            pages.pack(wrong, room, fault=DeviceArray(unfit))


@pytest.mark.parametrize("is_on_device", [False, True])
def test_copies_of_pages(rng, is_on_device):
    cache = rng.integers(0, 256, size=(3, 8, 4, 6), dtype=np.uint8)
    numbers = [rng.permutation(8)[:6].astype(np.int32), rng.permutation(4)[:3].astype(np.int64)]
    tables = [DeviceArray(table) if is_on_device else table for table in numbers]
    target = DeviceArray(np.zeros((3, 4, 8, 6), np.uint8))
    source, into = dtconv.Pages(DeviceArray(cache), page_axis=1, layer_axis=0), dtconv.Pages(target, page_axis=1, layer_axis=0)
    assert source.copy_to(into, *tables) == 3 * 144
    fetched = target.fetch()
    assert (fetched[:, numbers[1]].reshape(3, -1) == cache[:, numbers[0]].reshape(3, -1)).all()
    assert not fetched[:, np.setdiff1d(np.arange(4), numbers[1])].any()


def test_copies_of_pages_name_the_first_number_out_of_range_of_either_list():
    pages = dtconv.Pages(DeviceArray(np.arange(64, dtype=np.uint8).reshape(4, 16)))
    target = DeviceArray(np.zeros((4, 16), np.uint8))
    good, wrong = (DeviceArray(np.array(numbers, np.int64)) for numbers in ([3, 1], [0, 4]))
    with pytest.raises(dtconv.InvalidError, match=r"from.table\[1\] is 4, but the pool has 4 pages"):
        pages.copy_to(dtconv.Pages(target), wrong, good)
    with pytest.raises(dtconv.InvalidError, match=r"to.table\[1\] is 4, but the pool has 4 pages"):
        pages.copy_to(dtconv.Pages(target), good, wrong)
    assert target.fetch()[0].tolist() == list(range(48, 64)) and not target.fetch()[1].any()
    fault = DeviceArray(np.array([-1, -1], np.int64))
    pages.copy_to(dtconv.Pages(target), good, wrong, fault=fault)
    must("cuCtxSynchronize")
    assert fault.fetch().tolist() == [-1, 1]


def test_info_names_the_devices():
    info = dtconv.info()
    assert info.devices and info.no_devices is None and info.devices[0].bytes > 0
    assert info.devices[0].compute >= (7, 0) and info.devices[0].name in str(info)


class Tensor:
    """A device array that DLPack describes, as PyTorch gives its own."""

    def __init__(self, array):
        self.array, self.on_device, self.stream = array, DeviceArray(array), None

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, stream=None):
        self.stream = stream
        capsule = self.array.__dlpack__()
        tensor = dtconv._dlpack.DLTensor.from_address(dtconv._dlpack._pointer(capsule, b"dltensor"))
        tensor.data, tensor.device_type = self.on_device.__cuda_array_interface__["data"][0], 2
        return capsule


def test_a_device_array_that_dlpack_describes():
    """A producer whose stream is not known makes its data ready for the legacy default stream."""
    tensor = Tensor(np.arange(24.0).reshape(4, 6)[:, ::2])
    assert dtconv.pack(tensor, np.zeros(12)).tolist() == tensor.array.ravel().tolist()
    assert tensor.stream == 1


def test_tensors_are_used_in_their_librarys_current_stream(monkeypatch):
    """A package in the place of PyTorch: its current stream orders the call, its device is made current for it, new packed
    memory is its own. A class that is derived from its tensors counts as one."""
    used, stream = [], ctypes.c_void_p()
    must("cuStreamCreate", ctypes.byref(stream), 1)

    class Base(Tensor):
        device = "cuda:0"

    Base.__module__ = "torch._tensor"
    torch = types.SimpleNamespace(
        uint8="bytes", empty=lambda size, dtype, device: DeviceArray(np.zeros(size, np.uint8)),
        cuda=types.SimpleNamespace(current_stream=lambda device: types.SimpleNamespace(cuda_stream=current[0]),
                                   device=lambda index: used.append(index) or contextlib.nullcontext()))
    monkeypatch.setitem(sys.modules, "torch", torch)

    class Derived(Base):
        pass

    for current in ([stream.value], [0]):
        tensor = Derived(np.arange(6.0)[::2])
        out = np.zeros(3)
        assert dtconv.pack(tensor, out).tolist() == [0, 2, 4] and tensor.stream == -1
    assert used == [0], "only a default stream needs its device"
    current = [0]
    assert dtconv.pack(Derived(np.arange(6.0)[::2])).fetch().view(float).tolist() == [0, 2, 4]
    must("cuStreamDestroy_v2", stream)


def test_all_ways_of_kv_rates_on_a_device(monkeypatch):
    import fake_nixl
    import test_kv_rates
    from kvrates import cuda, memory

    def copy(target, source, size):
        must("cuMemcpy", *map(ctypes.c_uint64, (target, source, size)))
        must("cuCtxSynchronize")

    monkeypatch.setattr(fake_nixl, "ctypes", types.SimpleNamespace(memmove=copy))
    found = test_kv_rates.run_both(monkeypatch, ["20x64B", "30x4KiB"],
                                   make_memory=lambda *sizes: memory.DeviceMemory(*sizes, cuda.Driver(0)))
    assert not any("wrong" in one for one in found), found
    measured = {(one["row"], one["way"]) for one in found if "median_ms" in one}
    assert measured >= {(row, way) for row in ("20x64B", "30x4KiB") for way in ("staged", "pages", "list", "bulk")}
    # A driver may refuse to map memory of the same process.
    assert all("cannot be mapped" in one["left_out"] for one in found if one.get("way") in ("direct", "copy") and "left_out" in one)
