#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""KV handoff: two prefill ranks pass the KV cache of a sequence to four decode ranks, which page it differently.

Each rank is a process and has some of the heads, in pages of 16 tokens (prefill) or 64 (decode), at random places. A
message takes the heads that two ranks share from the sender's pages into the receiver's. Every byte is checked. The messages
go through channels of the library; with --nixl they go through agents of NIXL. doc/python.md is the guide.
"""
import functools
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


# ---- ways to the other ranks -----------------------------------------------------------------

def open_channels(name, sockets):
    """Functions that start a send and a receive, for each peer."""
    channels = {peer: dtconv.Channel.from_socket(end, kind="host") for peer, end in sockets.items()}
    return {peer: (channel.start_send, channel.start_recv) for peer, channel in channels.items()}


def open_agents(name, sockets):
    """The same over NIXL. The sockets pass the metadata of the agents."""
    import dtconv.nixl
    from nixl._api import nixl_agent, nixl_agent_config

    agent = nixl_agent(name, nixl_agent_config(backends=["UCX"]))
    bounce = dtconv.nixl.Bounce(agent, peers=len(sockets))
    for end in sockets.values():
        end.send(agent.get_agent_metadata())
    for peer, end in sockets.items():
        agent.add_remote_agent(end.recv(1 << 20))
        bounce.connect(peer)
    return {peer: (functools.partial(bounce.start_send, peer), functools.partial(bounce.start_recv, peer))
            for peer in sockets}


def say_goodbye(sockets):
    """With NIXL the last notification may be lost if its sender ends at once."""
    for end in sockets.values():
        end.send(b"bye")
        end.recv(3)


# ---- ranks -----------------------------------------------------------------------------------

def prefill(rank, ways):
    """Send each decode rank its heads."""
    own = heads_of(rank, PREFILL_RANKS)
    cache, table, token = new_cache(own, PREFILL_PAGE), new_table(rank, PREFILL_PAGE), np.arange(TOKENS)
    cache[:, :, table[token // PREFILL_PAGE], token % PREFILL_PAGE] = contents(own)
    sent = [ways[f"decode{peer}"][0](cache, layout=shared_heads(cache, table, own, heads))
            for peer, heads in peers_of(own, DECODE_RANKS)]
    print(f"prefill {rank}: {sum(message.wait() for message in sent)} bytes to {len(sent)} ranks")
    return True


def decode(rank, ways):
    """Receive from each prefill rank, and look at every byte."""
    own = heads_of(rank, DECODE_RANKS)
    cache, table, token = new_cache(own, DECODE_PAGE), new_table(100 + rank, DECODE_PAGE), np.arange(TOKENS)
    received = [ways[f"prefill{peer}"][1](cache, layout=shared_heads(cache, table, own, heads))
                for peer, heads in peers_of(own, PREFILL_RANKS)]
    for message in received:
        message.wait()
    expected = new_cache(own, DECODE_PAGE)
    expected[:, :, table[token // DECODE_PAGE], token % DECODE_PAGE] = contents(own)
    return cache.tobytes() == expected.tobytes()


# ---- processes -------------------------------------------------------------------------------

def own_ends(sockets, name):
    """This rank's sockets by peer. The others are closed: a peer that ends is noticed when nobody has its end."""
    own = {}
    for names, ends in sockets.items():
        for index, end in enumerate(ends):
            if names[index] == name:
                own[names[1 - index]] = end
            else:
                end.close()
    return own


def run_rank(work, rank, sockets, over_nixl):
    """What one process does. Returns whether its bytes are right."""
    name = f"{work.__name__}{rank}"
    own = own_ends(sockets, name)
    if not over_nixl:
        return work(rank, open_channels(name, own))
    is_right = work(rank, open_agents(name, own))
    say_goodbye(own)
    return is_right


def main():
    over_nixl = sys.argv[1:] == ["--nixl"]
    sockets = {(f"prefill{sender}", f"decode{receiver}"): socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
               for sender in range(PREFILL_RANKS)
               for receiver, _ in peers_of(heads_of(sender, PREFILL_RANKS), DECODE_RANKS)}
    ranks = [(prefill, rank) for rank in range(PREFILL_RANKS)] + [(decode, rank) for rank in range(DECODE_RANKS)]
    processes = []
    for work, rank in ranks:
        process = os.fork()
        if process == 0:
            is_right = False
            try:
                is_right = run_rank(work, rank, sockets, over_nixl)
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
