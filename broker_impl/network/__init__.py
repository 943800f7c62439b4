"""Connections: frames in, responses out in order, limits in between; and the client side towards other brokers."""
