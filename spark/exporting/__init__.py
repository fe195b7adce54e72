"""Topics into Parquet, a folder for each date and hour, with what was read committed beside it.

The way back, Parquet into topics, is `goqueue.spark.sinking`.
"""
