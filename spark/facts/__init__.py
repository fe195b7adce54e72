"""What happened in a cluster, one row a fact, made from captures by replaying them.

A capture holds what nodes were told, and a digest of what they said; what they said comes out again when they are told
so anew. Listeners stand beside that replay, one for each part of the product, and note facts. Reports and checks read
facts and know nothing of captures. Start with `schema.py`, which says what a fact is.
"""
