"""Captures: everything a node was told, and a digest of everything it said, so that it can be told again.

Here is what a capture means: `frames` (a file as bytes), `values` and `snapshot` (objects as bytes), `events` (verbs as
bytes), `digest` (what came out), `recorder` (stands before a node and takes notes), `replay` (tells a fresh node the
same), `following` (what there is to say of one message meanwhile). Not here: files, folders and threads, which are
`goqueue.storage.capture`. Start with `recorder.py`.
"""
