"""Generates ``corrigenda.*`` from the protos, or checks that the committed code is what they generate.

Run by ``dev.py generate [--check]``, which puts the environment's programs on the PATH. The output depends on the
protos and the lock file alone.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path("corrigenda")
SOURCE = ROOT / "libs" / "core" / "src"
COMMENTS_FILE = "comments.json"
PACKAGE_DOCSTRING = '"""Generated from protos/; never edited by hand (dev.py generate)."""\n'


def generate(target: Path) -> None:
    """Writes the whole package ``corrigenda`` into the folder ``target``.

    Raises:
        subprocess.CalledProcessError: if a generator fails; it has said why.
    """
    subprocess.run(["buf", "generate", "--output", str(target)], cwd=ROOT, check=True)
    package = target / PACKAGE
    for stub in package.rglob("*_pb2_grpc.pyi"):
        # The type generator writes one for every file; those without a service are empty.
        if not stub.with_suffix(".py").exists():
            stub.unlink()
    for folder in [package, *(path for path in sorted(package.rglob("*")) if path.is_dir())]:
        (folder / "__init__.py").write_text(PACKAGE_DOCSTRING)
    (package / "py.typed").touch()
    (package / COMMENTS_FILE).write_text(json.dumps(comments(), ensure_ascii=False, indent=0, sort_keys=True) + "\n")


def comments() -> dict[str, str]:
    """The comment above every element of the protos, by the element's full name.

    The generated modules do not keep them, and tools for agents are described by nothing else.

    Raises:
        subprocess.CalledProcessError: if the protos do not compile; buf has said why.
    """
    compiled = subprocess.run(["buf", "build", "-o", "-#format=binpb"], cwd=ROOT, check=True, capture_output=True)
    found: dict[str, str] = {}
    for file in descriptor_pb2.FileDescriptorSet.FromString(compiled.stdout).file:
        if file.package.startswith(PACKAGE.name):
            for location in file.source_code_info.location:
                name = full_name(file, location.path)
                if name and location.leading_comments:
                    found[name] = "\n".join(line.strip() for line in location.leading_comments.strip().splitlines())
    return found


def full_name(file: descriptor_pb2.FileDescriptorProto, path: Sequence[int]) -> str:
    """The full name of the element at a path of source code info, or an empty text if it has none."""
    element: Any = file
    names = [file.package]
    for field_number, index in zip(path[::2], path[1::2], strict=False):
        field = element.DESCRIPTOR.fields_by_number[field_number]
        if field.message_type is None or not field.is_repeated:
            return ""
        element = getattr(element, field.name)[index]
        names.append(getattr(element, "name", ""))
    return ".".join(names) if len(path) % 2 == 0 and all(names) else ""


def files_of(folder: Path) -> set[Path]:
    """The paths of all files below ``folder``, relative to it, except compiled ones."""
    return {path.relative_to(folder) for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"}


def differences(expected: Path, found: Path) -> list[Path]:
    """The files that only one of the folders has, or that differ."""
    both = files_of(expected) & files_of(found)
    differing = {path for path in both if not filecmp.cmp(expected / path, found / path, shallow=False)}
    return sorted((files_of(expected) ^ files_of(found)) | differing)


def main() -> int:
    """Generates, or with ``--check`` compares; returns the exit status."""
    parser = argparse.ArgumentParser(description="Generate code from the protos.")
    parser.add_argument("--check", action="store_true", help="change nothing; fail if the committed code differs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        made = Path(name)
        generate(made)
        drift = differences(made / PACKAGE, SOURCE / PACKAGE)
        if options.check:
            for path in drift:
                print(f"{SOURCE / PACKAGE / path} is not what the protos generate", file=sys.stderr)
            return 1 if drift else 0
        shutil.rmtree(SOURCE / PACKAGE, ignore_errors=True)
        shutil.copytree(made / PACKAGE, SOURCE / PACKAGE)
    print(f"{len(drift)} files changed", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
