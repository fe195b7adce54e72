"""HTTP/1.1 on the server's side, without sockets: bytes in, requests out; answers in, bytes out.

`gate.py` is stricter than the standard demands where tolerance is how requests are smuggled; h11 reads the heads that
it lets through. `connection.py` is one connection; the loop that drives it is `transports/trio_http1.py`.
"""
