"""``python -m corrigenda_conflict.reviewer``: the reviewer process, configured by the environment."""

from corrigenda_core.rpc.server import run
from corrigenda_core.settings_source import read_settings

from corrigenda_conflict.reviewer.bootstrap import run_worker
from corrigenda_conflict.reviewer.config import ReviewerSettings


def main() -> None:
    """Runs the worker."""
    run(run_worker(read_settings(ReviewerSettings)))


if __name__ == "__main__":
    main()
