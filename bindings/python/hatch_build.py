# SPDX-License-Identifier: BSD-3-Clause
"""Puts libdtconv and the program dtconv into the wheel, from the folder that DTCONV_WHEEL_FILES names.

Without it the wheel is plain Python and uses the library that the system finds.
"""
from __future__ import annotations

import os
import sysconfig
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class LibraryHook(BuildHookInterface):  # type: ignore[type-arg]
    """Called by hatchling."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """The library's licence; the library, which any Python 3 can use, on one platform only."""
        licence = os.path.join(self.root, "..", "..", "LICENSE")
        build_data["force_include"][licence] = "dtconv/LICENSE"
        folder = os.environ.get("DTCONV_WHEEL_FILES")
        if folder is None:
            return
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")
        for name in os.listdir(folder):
            build_data["force_include"][os.path.join(folder, name)] = f"dtconv/_lib/{name}"
