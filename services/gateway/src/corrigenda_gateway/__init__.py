"""Corrigenda as an MCP server: tools, schemas and descriptions come from the protos."""
