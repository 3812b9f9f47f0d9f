"""The gRPC kit: server, client, interceptors, status mapping, validation from descriptors."""
