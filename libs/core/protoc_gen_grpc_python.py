"""A protoc plugin for gRPC services: grpcio-tools has that generator only inside its compiler, and buf wants a program.

Reads a ``CodeGeneratorRequest`` from standard input and writes a ``CodeGeneratorResponse`` to standard output.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from google.protobuf.compiler.plugin_pb2 import CodeGeneratorRequest, CodeGeneratorResponse
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from grpc_tools import protoc


def generate(request: CodeGeneratorRequest) -> CodeGeneratorResponse:
    """The service code of every file of the request that has a service."""
    names = [file.name for file in request.proto_file if file.service and file.name in set(request.file_to_generate)]
    response = CodeGeneratorResponse(supported_features=CodeGeneratorResponse.FEATURE_PROTO3_OPTIONAL)
    if not names:
        return response
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        descriptors = folder / "descriptors.binpb"
        descriptors.write_bytes(FileDescriptorSet(file=request.proto_file).SerializeToString())
        status = protoc.main(["protoc", f"--descriptor_set_in={descriptors}", f"--grpc_python_out={folder}", *names])
        if status != 0:
            response.error = f"the compiler ended with status {status}"
            return response
        for path in sorted(folder.rglob("*_pb2_grpc.py")):
            response.file.add(name=path.relative_to(folder).as_posix(), content=path.read_text())
    return response


if __name__ == "__main__":
    sys.stdout.buffer.write(generate(CodeGeneratorRequest.FromString(sys.stdin.buffer.read())).SerializeToString())
