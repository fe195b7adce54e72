"""Spark over GoQueue: topics and captures as DataFrames, and jobs over them.

`datasource.py` is what `spark.read.format("goqueue")` reaches; behind it are `records` (segment files), `facts`
(captures) and `live` (a running cluster), and for writing `sinking`. The jobs are `captures` (replay), `reports`,
`checks` and `exporting`; `commands` is their command line, `session.py` the Spark that they share, `bench` what all of
it is measured with. What a task does is a plain function from Arrow to Arrow wherever it can be, so most of it runs and
is tested without a JVM.

docs/spark.md says how to use it.
"""
