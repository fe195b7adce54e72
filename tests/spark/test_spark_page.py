"""What docs/spark.md says of positions runs as it stands there."""

import re
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from goqueue.testing import Broker
from goqueue.transports.client.connection import connect

PAGE = Path(__file__).parents[2] / "docs" / "spark.md"


def test_positions_with_the_id_of_a_topic_are_kept_and_read_from(spark: SparkSession, broker: Broker) -> None:
    with connect(broker.address) as connection, connection.producer() as producer:
        connection.topics.create("orders", 2)
        for number in range(40):
            producer.send("orders", b"%d" % number, partition=number % 2)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (block,) = [one for one in blocks if "topic_id" in one]
    names: dict[str, Any] = {"spark": spark}
    exec(block.replace("localhost:9000", broker.address), names)
    found = names["later"].groupBy("partition").count().collect()
    assert {row["partition"]: row["count"] for row in found} == {0: 3, 1: 20}
    with connect(broker.address) as connection:
        connection.topics.delete("orders")
