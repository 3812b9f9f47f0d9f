"""``python -m corrigenda_gateway [--stdio]``: the MCP gateway, configured by the environment."""

from __future__ import annotations

import argparse
import asyncio

from corrigenda_core.settings_source import read_settings

from corrigenda_gateway.bootstrap import run_http, run_stdio
from corrigenda_gateway.config import GatewaySettings


def main() -> None:
    """Runs the gateway on the transport that is asked for."""
    parser = argparse.ArgumentParser(prog="corrigenda_gateway", description="Corrigenda for agents, over MCP.")
    parser.add_argument("--stdio", action="store_true", help="serve one agent on standard input and output")
    options = parser.parse_args()
    asyncio.run((run_stdio if options.stdio else run_http)(read_settings(GatewaySettings)))


if __name__ == "__main__":
    main()
