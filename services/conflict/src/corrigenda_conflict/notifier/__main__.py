"""``python -m corrigenda_conflict.notifier``: the notifier process, configured by the environment."""

import sys

from corrigenda_core.rpc.server import run
from corrigenda_core.settings_source import EXIT_USAGE, read_settings

from corrigenda_conflict.notifier.bootstrap import run_worker
from corrigenda_conflict.notifier.config import NotifierSettings
from corrigenda_conflict.notifier.endpoints import EndpointsRefused, read_endpoints


def main() -> None:
    """Runs the worker; ends with status 2 if the settings or the file of endpoints cannot be used."""
    settings = read_settings(NotifierSettings)
    try:
        endpoints = read_endpoints(settings.webhooks_file)
    except EndpointsRefused as refused:
        print(f"corrigenda-notifier: {refused}", file=sys.stderr)
        sys.exit(EXIT_USAGE)
    run(run_worker(settings, endpoints))


if __name__ == "__main__":
    main()
