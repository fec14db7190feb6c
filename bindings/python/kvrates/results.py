# SPDX-License-Identifier: BSD-3-Clause
"""What was measured, as a table and as JSON."""
from __future__ import annotations

import importlib.metadata
import os
import platform
from typing import Any, Optional

HEAD = (f"{'row':<12}{'MiB':>8}{'pieces':>8}  {'way':<8}{'messages':>9}{'ms':>11}{'GB/s':>9}{'x list':>9}{'x bulk':>8}")


def table(results: list[dict[str, Any]]) -> str:
    """Medians by row and way; "x list" and "x bulk" are how many times as fast as those a way is."""
    lines = [HEAD]
    for row in dict.fromkeys(result["row"] for result in results if "median_ms" in result):
        measured = [result for result in results if result.get("row") == row and "median_ms" in result]
        medians = {result["way"]: result["median_ms"] for result in measured}
        for number, result in enumerate(measured):
            lines.append(_line(result, medians, number == 0))
    return "\n".join(lines + notes(results))


def _line(result: dict[str, Any], medians: dict[str, float], is_first: bool) -> str:
    """One way of a row, whose name and size stand once."""
    row = (f"{result['row']:<12}{result['bytes'] / (1 << 20):>8.1f}{result['pieces']:>8}" if is_first else " " * 28)
    ratios = "".join(_ratio(medians.get(other), result["median_ms"], width) for other, width in (("list", 9), ("bulk", 8)))
    return (f"{row}  {result['way']:<8}{len(result['ms']):>9}{result['median_ms']:>11.3f}{result['GB_per_s']:>9.2f}"
            f"{ratios}").rstrip()


def _ratio(other: Optional[float], own: float, width: int) -> str:
    """How many times as fast as another way, if that was measured."""
    if other is None or not own:
        return f"{'-':>{width}}"
    return f"{other / own:>{width}.2f}" if other / own < 100 else f"{other / own:>{width}.0f}"


def notes(results: list[dict[str, Any]]) -> list[str]:
    """What the table does not show: ways that were cut short, left out, or wrong."""
    lines = []
    for result in results:
        where = " ".join(result[key] for key in ("row", "way") if key in result)
        if result.get("cut_short"):
            lines.append(f"{where}: {len(result['ms'])} messages, then its time was spent")
        if "left_out" in result:
            lines.append(f"{where}: left out: {result['left_out']}")
        if "wrong" in result:
            lines.append(f"{where}: WRONG: {result['wrong']}")
    return lines


def about(driver: Any) -> dict[str, Any]:
    """The machine and what was used on it."""
    found: dict[str, Any] = {"machine": platform.machine(), "processor": processor(), "cpus": len(os.sched_getaffinity(0)),
                             "kernel": platform.release(), "python": platform.python_version()}
    for package in ("numpy", "nixl", "torch"):
        found[package] = version_of(package)
    if driver is not None:
        found.update(device=driver.device_name(), cuda_driver=driver.version(), kernel_driver=kernel_driver())
    return found


def version_of(package: str) -> Optional[str]:
    """The version of a package, if it is installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def processor() -> str:
    """What Linux calls the processor."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")
    except OSError:
        return "unknown"


def kernel_driver() -> Optional[str]:
    """The version of NVIDIA's kernel module."""
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8") as lines:
            return lines.readline().split("  ")[1].strip()
    except (OSError, IndexError):
        return None
