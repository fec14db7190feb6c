#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""KV handoff: two prefill ranks pass the KV cache of a sequence to four decode ranks, which page it differently.

Each rank is a process and has some of the heads, in pages of 16 tokens (prefill) or 64 (decode), at random places. A
message takes the heads that two ranks share straight from the sender's pages into the receiver's. Every byte is checked.
doc/python.md is the guide.
"""
import os
import socket
import sys

import numpy as np

import dtconv

LAYERS, PARTS, HEADS, DIM = 8, 2, 8, 64  # parts: keys, values
TOKENS, POOL_TOKENS = 1000, 4096
PREFILL_RANKS, DECODE_RANKS = 2, 4
PREFILL_PAGE, DECODE_PAGE = 16, 64
ELEMENT = np.float16


def heads_of(rank, ranks):
    """The heads of a rank."""
    return range(rank * HEADS // ranks, (rank + 1) * HEADS // ranks)


def new_cache(heads, page):
    """An empty paged cache."""
    return np.zeros((LAYERS, PARTS, POOL_TOKENS // page, page, len(heads), DIM), ELEMENT)


def new_table(seed, page):
    """The pages of the sequence, at random places."""
    return np.random.default_rng(seed).permutation(POOL_TOKENS // page)[:-(-TOKENS // page)]


def shared_heads(cache, table, own, heads):
    """The layout of some heads of the sequence: in each layer the keys, then the values, token by token."""
    page, token = cache.shape[3], np.arange(TOKENS)
    in_part = table[token // page] * cache.strides[2] + token % page * cache.strides[3]
    parts = np.arange(LAYERS)[:, None] * cache.strides[0] + np.arange(PARTS) * cache.strides[1]
    displacements = parts.ravel()[:, None] + in_part + (heads[0] - own[0]) * cache.strides[4]
    return dtconv.hindexed_block(len(heads) * DIM, displacements.ravel(), ELEMENT)


def contents(heads):
    """What the prefill ranks have computed: [layer][part][token][head][dim]."""
    numbers = np.arange(LAYERS * PARTS * TOKENS * HEADS * DIM, dtype=np.uint64) * 0x9e3779b97f4a7c15 >> 53
    return numbers.astype(ELEMENT).reshape(LAYERS, PARTS, TOKENS, HEADS, DIM)[:, :, :, list(heads)]


def peers_of(own, ranks):
    """The ranks of the other side that share heads, with these heads."""
    for rank in range(ranks):
        theirs = heads_of(rank, ranks)
        shared = range(max(own[0], theirs[0]), min(own[-1], theirs[-1]) + 1)
        if shared:
            yield rank, shared


def prefill(rank, sockets):
    """Send each decode rank its heads."""
    own = heads_of(rank, PREFILL_RANKS)
    cache, table, token = new_cache(own, PREFILL_PAGE), new_table(rank, PREFILL_PAGE), np.arange(TOKENS)
    cache[:, :, table[token // PREFILL_PAGE], token % PREFILL_PAGE] = contents(own)
    channels = [(dtconv.Channel.from_socket(sockets[rank, peer][0], kind="host"), heads)
                for peer, heads in peers_of(own, DECODE_RANKS)]
    sent = [channel.start_send(cache, layout=shared_heads(cache, table, own, heads)) for channel, heads in channels]
    print(f"prefill {rank}: {sum(message.wait() for message in sent)} bytes to {len(sent)} ranks")
    return True


def decode(rank, sockets):
    """Receive from each prefill rank, and look at every byte."""
    own = heads_of(rank, DECODE_RANKS)
    cache, table, token = new_cache(own, DECODE_PAGE), new_table(100 + rank, DECODE_PAGE), np.arange(TOKENS)
    channels = [(dtconv.Channel.from_socket(sockets[peer, rank][1], kind="host"), heads)
                for peer, heads in peers_of(own, PREFILL_RANKS)]
    received = [channel.start_recv(cache, layout=shared_heads(cache, table, own, heads)) for channel, heads in channels]
    for message in received:
        message.wait()
    expected = new_cache(own, DECODE_PAGE)
    expected[:, :, table[token // DECODE_PAGE], token % DECODE_PAGE] = contents(own)
    return cache.tobytes() == expected.tobytes()


def keep_own(sockets, side, rank):
    """Close the ends of other ranks: a channel notices that its peer is gone when nobody has the peer's end."""
    for pair, ends in sockets.items():
        for index, end in enumerate(ends):
            if index != side or pair[side] != rank:
                end.close()


def main():
    sockets = {(sender, receiver): socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
               for sender in range(PREFILL_RANKS)
               for receiver, _ in peers_of(heads_of(sender, PREFILL_RANKS), DECODE_RANKS)}
    ranks = [(prefill, rank) for rank in range(PREFILL_RANKS)] + [(decode, rank) for rank in range(DECODE_RANKS)]
    processes = []
    for work, rank in ranks:
        process = os.fork()
        if process == 0:
            is_right = False
            try:
                keep_own(sockets, 0 if work is prefill else 1, rank)
                is_right = work(rank, sockets)
            finally:
                sys.stdout.flush()
                os._exit(0 if is_right else 1)
        processes.append(process)
    for ends in sockets.values():
        for end in ends:
            end.close()
    failed = [process for process in processes if os.waitpid(process, 0)[1] != 0]
    print(f"{len(processes) - len(failed)} of {len(processes)} ranks have the right bytes")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
