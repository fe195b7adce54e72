"""Between nodes: letters of the core over TCP, framed and checked, with TLS where it was asked for.

What letters say is the core's business and how they are written `core/peers`' own; here they are bytes. `frames.py` is
the framing and `hello.py` what two nodes tell each other first, both without sockets. `connection.py` is one connection
on trio, `network.py` all of them: start there. `port.py` is where peers call, behind a listener as every port.
`discovery.py` finds addresses of peers that nobody listed.
"""
