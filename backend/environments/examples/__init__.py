"""Servers to try Ortam on, and to start one's own from."""
