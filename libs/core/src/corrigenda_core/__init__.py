"""The core library: pure domain and policy, ports, and the shells that every service shares."""
