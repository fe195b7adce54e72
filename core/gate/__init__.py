"""The gate: the one place where it is decided whether a request goes on, before anything is done about it.

Every request passes it on the node that a client asks, and again on the node that it is passed on to, which trusts what
the first one says of the caller and decides for itself what the caller may do.
"""
