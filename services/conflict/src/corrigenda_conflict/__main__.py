"""``python -m corrigenda_conflict``: the conflict service, configured by the environment."""

from corrigenda_core.rpc.server import run
from corrigenda_core.settings_source import read_settings

from corrigenda_conflict.bootstrap import run_service
from corrigenda_conflict.config import ConflictSettings


def main() -> None:
    """Runs the service."""
    run(run_service(read_settings(ConflictSettings)))


if __name__ == "__main__":
    main()
