"""`corrigenda mcp`: the memory for one agent, over standard input and output."""

from __future__ import annotations

import argparse

from corrigenda_cli.help_text import add_command


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `mcp`."""
    parser = add_command(
        subparsers,
        "mcp",
        summary="serve one agent over MCP on standard input and output",
        description="Speaks the Model Context Protocol on standard input and output, for agent clients that start "
        "their servers. CORRIGENDA_KEY is the agent's API key; CORRIGENDA_INGEST_ADDRESS, CORRIGENDA_CONFLICT_ADDRESS "
        "and CORRIGENDA_RECALL_ADDRESS say where the services are (default: those of `corrigenda up`).",
        examples=["corrigenda mcp"],
    )
    parser.set_defaults(run=run)


def run(_options: argparse.Namespace) -> int:
    """Serves until the client leaves."""
    import asyncio

    from corrigenda_core.settings_source import read_settings
    from corrigenda_gateway.bootstrap import run_stdio
    from corrigenda_gateway.config import GatewaySettings

    asyncio.run(run_stdio(read_settings(GatewaySettings)))
    return 0
