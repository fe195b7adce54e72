"""What writes generated code: strict codecs out of betterproto's classes.

It runs at the development level, by `./dev proto`, and no part of the product imports it. What it writes lies beside
the .proto files it comes from, committed. Start reading at `codecs.py`.
"""
