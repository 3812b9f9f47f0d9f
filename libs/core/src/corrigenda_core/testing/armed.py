"""``python -m corrigenda_core.testing.armed MODULE``: runs a process of ours with the failpoints of the environment.

The processes themselves know no way to be armed: whoever wants to interrupt one starts it through this module.
"""

from __future__ import annotations

import runpy
import sys

from corrigenda_core.ports.failpoints import arm
from corrigenda_core.testing.failpoints import failpoints_from_environment


def main() -> None:
    """Arms, and then is the module that is named."""
    arm(failpoints_from_environment())
    module = sys.argv.pop(1)
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
