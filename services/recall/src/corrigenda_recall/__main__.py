"""``python -m corrigenda_recall``: the recall service, configured by the environment."""

from corrigenda_core.rpc.server import run
from corrigenda_core.settings_source import read_settings

from corrigenda_recall.bootstrap import run_service
from corrigenda_recall.config import RecallSettings


def main() -> None:
    """Runs the service."""
    run(run_service(read_settings(RecallSettings)))


if __name__ == "__main__":
    main()
