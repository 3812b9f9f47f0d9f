"""Machine facts: what a figure was measured on, so that two figures can be compared or kept apart."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def machine_facts() -> dict[str, object]:
    """Processor, usable cores, load, Python and system, as JSON can hold them."""
    return {
        "processor": _processor(),
        "usable_cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load_average_1_minute": round(os.getloadavg()[0], 2),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
