"""Programs of the client library that note all that they ask and are told.

`crew.py` is what all of them share. Each other file is one kind of client. None of them knows of the storm.
"""
