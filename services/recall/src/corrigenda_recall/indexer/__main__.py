"""``python -m corrigenda_recall.indexer``: the indexer process, configured by the environment."""

from corrigenda_core.rpc.server import run

from corrigenda_recall.indexer.bootstrap import run_worker
from corrigenda_recall.indexer.config import IndexerSettings


def main() -> None:
    """Runs the worker."""
    run(run_worker(IndexerSettings()))


if __name__ == "__main__":
    main()
