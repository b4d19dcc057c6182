"""Moments of more data than fit into memory."""
