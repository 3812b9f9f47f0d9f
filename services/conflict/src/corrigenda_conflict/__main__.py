"""``python -m corrigenda_conflict``: the conflict service, configured by the environment."""

from corrigenda_core.config import ServerSettings
from corrigenda_core.rpc.server import run

from corrigenda_conflict.bootstrap import run_service


def main() -> None:
    """Runs the service."""
    run(run_service(ServerSettings()))


if __name__ == "__main__":
    main()
