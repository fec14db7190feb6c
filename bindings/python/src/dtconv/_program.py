# SPDX-License-Identifier: BSD-3-Clause
"""Finds and runs the program ``dtconv``, which draws layouts."""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
from typing import Optional

from . import errors
from ._library import FOLDER, library_path


def program_path() -> Optional[str]:
    """DTCONV_PROGRAM, else the wheel's own, else the one installed with the library or in PATH; None if there is none."""
    named = os.environ.get("DTCONV_PROGRAM")
    if named:
        return named
    installed = pathlib.Path(library_path()).parent.parent / "bin" / "dtconv"
    for path in (FOLDER / "dtconv", installed):
        if path.is_absolute() and path.exists():
            return str(path)
    return shutil.which("dtconv")


def run_program(arguments: list[str], text: str) -> str:
    """What the program prints for a text on its standard input."""
    path = program_path()
    if path is None:
        raise errors.UnsupportedError("the program dtconv is not installed; DTCONV_PROGRAM may say where it is")
    ended = subprocess.run([path, *arguments], input=text, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise errors.InvalidError(ended.stderr.strip())
    return ended.stdout
