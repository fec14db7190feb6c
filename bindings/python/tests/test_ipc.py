# SPDX-License-Identifier: BSD-3-Clause
"""Runs ipc_cases.py in a process of its own, because a driver that is loaded stays loaded."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

import dtconv
import dtconv.ipc
from conftest import SEED


@pytest.mark.skipif("DTCONV_TEST_DRIVER" not in os.environ, reason="DTCONV_TEST_DRIVER names no driver of CUDA")
def test_memory_of_another_process():
    ended = subprocess.run([sys.executable, "-m", "pytest", "-q", str(pathlib.Path(__file__).parent / "ipc_cases.py")],
                           env={**os.environ, "DTCONV_TEST_SEED": hex(SEED)}, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout[-6000:] + ended.stderr[-2000:]
    assert " passed" in ended.stdout and "skipped" not in ended.stdout


def test_nothing_is_open_at_first():
    assert dtconv.ipc.counters() == (0, 0, 0, 0, 0, 0, 0)
    dtconv.ipc.trim()
