#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch as an engine of dtconv bench --gpu: copies of an as_strided tensor, timed by itself.

Speaks lines on standard input and output. At once: "ready VERSION" or "absent REASON". Then, for each
line: "prepare BLOCK PITCH COUNT [PITCH]" (bytes; the second pitch is that of packed blocks, default BLOCK), answered by
"ok" or "failed REASON"; "fresh BLOCK COUNT POOL SORTED", answered alike, for lists of COUNT new blocks of POOL; "pages BLOCK
COUNT POOL PLANES", answered alike, for tables on the device that count in every plane; "run OP CLOCK WARM
CALLS" (pack or unpack, wall or device), answered by "ns TOTAL" or "failed REASON". Ends with its input.
"""
import sys
import time


def element_of(torch, *lengths):
    """The widest type that all are multiples of: what an application would have."""
    for dtype, size in ((torch.float64, 8), (torch.float32, 4), (torch.float16, 2)):
        if all(length % size == 0 for length in lengths):
            return dtype, size
    return torch.uint8, 1


class Row:
    """Strided blocks in device memory, and as many bytes behind each other or at another pitch."""

    def __init__(self, torch, block, pitch, count, packed_pitch=None):
        packed_pitch = packed_pitch or block
        dtype, size = element_of(torch, block, pitch, packed_pitch)
        self.torch = torch
        self.memory = torch.randint(0, 256, (count * pitch,), dtype=torch.uint8, device="cuda")
        self.user = self.memory.view(dtype).as_strided((count, block // size), (pitch // size, 1))
        packed = torch.zeros((count * packed_pitch,), dtype=torch.uint8, device="cuda")
        self.packed = packed.view(dtype).as_strided((count, block // size), (packed_pitch // size, 1))
        self.bytes = self.memory.as_strided((count, block), (pitch, 1))
        self.verify(packed.as_strided((count, block), (packed_pitch, 1)))

    def verify(self, once):
        self.move("pack")
        if not self.torch.equal(once, self.bytes):
            raise RuntimeError("what copy_ packed is wrong")
        once.bitwise_xor_(255)
        self.move("unpack")
        if not self.torch.equal(once, self.bytes):
            raise RuntimeError("what copy_ unpacked is wrong")

    def move(self, op):
        if op == "pack":
            self.packed.copy_(self.user)
        else:
            self.user.copy_(self.packed)


class Fresh:
    """Blocks of a pool in device memory, picked by a new list each time, and as many behind each other."""

    LIST_BYTES = 16 << 20
    MOST_LISTS = 256

    def __init__(self, torch, block, count, pool, ascending):
        dtype, size = element_of(torch, block)
        self.torch = torch
        self.user_bytes = torch.randint(0, 256, (pool, block), dtype=torch.uint8, device="cuda")
        self.packed_bytes = torch.zeros((count, block), dtype=torch.uint8, device="cuda")
        self.user, self.packed = self.user_bytes.view(dtype), self.packed_bytes.view(dtype)
        lists = min(self.MOST_LISTS, self.LIST_BYTES // (8 * count))
        self.lists = [self.draw(count, pool, ascending) for _ in range(lists)]
        self.turn = 0
        self.verify()

    def draw(self, count, pool, ascending):
        picked = self.torch.randperm(pool)[:count]
        return (picked.sort().values if ascending else picked).pin_memory()

    def verify(self):
        for _ in range(2):
            index = self.lists[(self.turn + 1) % len(self.lists)].cuda()
            self.move("pack")
            if not self.torch.equal(self.packed_bytes, self.user_bytes[index]):
                raise RuntimeError("what index_select packed is wrong")
            expected = self.user_bytes.clone()
            index = self.lists[(self.turn + 1) % len(self.lists)].cuda()
            expected[index] = self.packed_bytes.bitwise_xor_(255)
            self.move("unpack")
            if not self.torch.equal(expected, self.user_bytes):
                raise RuntimeError("what index_copy_ unpacked is wrong")

    def move(self, op):
        self.turn = (self.turn + 1) % len(self.lists)
        index = self.lists[self.turn].to("cuda", non_blocking=True)
        if op == "pack":
            self.torch.index_select(self.user, 0, index, out=self.packed)
        else:
            self.user.index_copy_(0, index, self.packed)


class Pages:
    """The pages that a table on the device lists, in every plane of a pool, and as many behind each other."""

    MOST_TABLES = 256

    def __init__(self, torch, block, count, pool, planes):
        dtype, size = element_of(torch, block)
        self.torch = torch
        shape = (planes, pool, block)
        self.user_bytes = torch.randint(0, 256, shape, dtype=torch.uint8, device="cuda")
        self.packed_bytes = torch.zeros((planes, count, block), dtype=torch.uint8, device="cuda")
        self.user, self.packed = self.user_bytes.view(dtype), self.packed_bytes.view(dtype)
        self.tables = [torch.randperm(pool)[:count].cuda() for _ in range(self.MOST_TABLES)]
        self.turn = 0
        self.verify()

    def verify(self):
        index = self.tables[1]
        self.move("pack")
        if not self.torch.equal(self.packed_bytes, self.user_bytes[:, index]):
            raise RuntimeError("what index_select packed is wrong")
        expected = self.user_bytes.clone()
        expected[:, self.tables[2]] = self.packed_bytes.bitwise_xor_(255)
        self.move("unpack")
        if not self.torch.equal(expected, self.user_bytes):
            raise RuntimeError("what index_copy_ unpacked is wrong")

    def move(self, op):
        self.turn = (self.turn + 1) % len(self.tables)
        index = self.tables[self.turn]
        if op == "pack":
            self.torch.index_select(self.user, 1, index, out=self.packed)
        else:
            self.user.index_copy_(1, index, self.packed)


class Clock:
    """Moves again and again, by either clock."""

    def __init__(self, torch, row):
        self.torch, self.row = torch, row

    def by_wall(self, op, calls):
        start = time.perf_counter_ns()
        for _ in range(calls):
            self.row.move(op)
            self.torch.cuda.synchronize()
        return time.perf_counter_ns() - start

    def by_device(self, op, calls):
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        total = 0.0
        for _ in range(calls):
            # The stream waits meanwhile (about 50 us), as it does for the other engines.
            self.torch.cuda._sleep(100_000)
            begin.record()
            self.row.move(op)
            end.record()
            end.synchronize()
            total += begin.elapsed_time(end) * 1e6
        return total

    def run(self, op, clock, warm, calls):
        for _ in range(warm):
            self.row.move(op)
        self.torch.cuda.synchronize()
        return self.by_wall(op, calls) if clock == "wall" else self.by_device(op, calls)


KINDS = {"prepare": Row, "fresh": Fresh, "pages": Pages}


def say(text):
    print(text, flush=True)


def serve(torch):
    clock = None
    for line in sys.stdin:
        words = line.split()
        try:
            if words[0] in KINDS:
                clock = None
                clock = Clock(torch, KINDS[words[0]](torch, *(int(word) for word in words[1:])))
                say("ok")
            else:
                say(f"ns {clock.run(words[1], words[2], int(words[3]), int(words[4])):.0f}")
        except Exception as error:  # pylint: disable=broad-except
            say("failed " + " ".join(str(error).split())[:120])


def main():
    try:
        import torch  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        say(f"absent {error}")
        return
    if not torch.cuda.is_available():
        say("absent PyTorch finds no CUDA device")
        return
    say(f"ready {torch.__version__}")
    serve(torch)


if __name__ == "__main__":
    main()
