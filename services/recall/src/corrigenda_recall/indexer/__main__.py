"""``python -m corrigenda_recall.indexer``: the indexer process, configured by the environment."""

from corrigenda_core.rpc.server import run
from corrigenda_core.settings_source import read_settings

from corrigenda_recall.indexer.bootstrap import run_worker
from corrigenda_recall.indexer.config import IndexerSettings


def main() -> None:
    """Runs the worker."""
    run(run_worker(read_settings(IndexerSettings)))


if __name__ == "__main__":
    main()
