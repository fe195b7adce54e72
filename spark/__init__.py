"""Spark's view of a data folder: every record of its topics as a row, read from the segment files themselves.

It needs no broker, asks none, and writes nothing: `goqueue.core` and `goqueue.storage` are used for reading only.
`datasource.py` is what Spark talks to and the one module that imports pyspark; behind it are planning (`planning.py`:
which segments), reading (`segments.py`: which bytes of them), parsing (`fields.py`: where records and their parts lie)
and columns (`columns.py`: the schema, and Arrow arrays of it). Those are plain functions, and run without a JVM.

docs/spark.md says how to use it.
"""
