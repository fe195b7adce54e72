"""Messages as bytes and back: the codec of what is persisted or sent to a peer.

Here are the shapes of values (`shapes`) and the codec that numbers classes and versions (`codec`). Not here: which
classes there are, and the batches of records (`core/records`).
"""
