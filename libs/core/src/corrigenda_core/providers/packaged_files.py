"""Data files that packages carry: found without importing the package, and checked to be the very files expected."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from corrigenda_core.ports.providers import ProviderFailed


@dataclass(frozen=True, slots=True, kw_only=True)
class PackagedFile:
    """A data file inside an installed package, and the SHA-256 that it must have."""

    package: str
    path: str
    sha256: str

    def locate(self) -> Path:
        """Where the file is, found without importing the package.

        Raises:
            ProviderFailed: the package is not installed, or the file is another one.
        """
        spec = find_spec(self.package)
        if spec is None or not spec.submodule_search_locations:
            raise ProviderFailed(f"the package {self.package} is not installed")
        file = Path(next(iter(spec.submodule_search_locations)), self.path)
        if not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() != self.sha256:
            raise ProviderFailed(f"{self.package}/{self.path} is not the file that this version was built for")
        return file
