"""Vocabularies that come with the product: one TOML file each."""
