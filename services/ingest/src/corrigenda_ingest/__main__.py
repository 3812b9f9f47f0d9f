"""``python -m corrigenda_ingest``: the ingest service, configured by the environment."""

from corrigenda_core.rpc.server import run
from corrigenda_core.settings_source import read_settings

from corrigenda_ingest.bootstrap import run_service
from corrigenda_ingest.config import IngestSettings


def main() -> None:
    """Runs the service."""
    run(run_service(read_settings(IngestSettings)))


if __name__ == "__main__":
    main()
