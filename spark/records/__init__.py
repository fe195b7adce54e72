"""The records of topics as Arrow batches, read from segment files.

Planning (`planning.py`: which segments), reading (`segments.py`: which bytes of them), parsing (`fields.py`: where
records and their parts lie) and columns (`columns.py`: the schema, and Arrow arrays of it); `rows.py` puts them
together and is where to start reading. Plain functions, which run without a JVM. What Spark talks to is
`goqueue.spark.datasource`.
"""
