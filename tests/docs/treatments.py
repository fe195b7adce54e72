"""What becomes of each block of the documentation: it is run here or by another test, or a reason says why it is not.

A block is named by its page and the beginning of its first line. Every block has to be named once, or be of a kind that
is run wherever it stands; `test_snippets.py` holds that.
"""

# Pages whose blocks of some kinds are run, and compared with what they show, by a test of their own.
ELSEWHERE = {
    ("README.md", "./dev run &"): "test_snippets.py: test_the_first_message_of_the_readme",
    ("docs/tutorial.md", ""): "tests/cli/test_tutorial.py types all of it; the first two blocks only install",
    ("docs/recipes.md", ""): "tests/cli/test_recipes.py",
    ("docs/testing.md", "from collections.abc"): "tests/transports/client_loops/test_testing_page.py",
    ("docs/testing.md", "import asyncio"): "tests/transports/client_loops/test_testing_page.py",
    ("docs/testing.md", "import goqueue"): "tests/transports/client_loops/test_testing_page.py, and test_snippets.py",
    ("docs/groups.md", ""): "tests/cli/test_groups_page.py",
    ("docs/grpc.md", "import grpc"): "tests/transports/services/test_grpc_page.py",
    ("docs/grpc.md", "import queue"): "tests/transports/services/test_grpc_page.py",
    ("docs/cluster.md", "goqueue serve --node-id a --data-dir a "): "test_cluster_page.py",
    ("docs/cluster.md", "goqueue cluster nodes"): "test_cluster_page.py",
    ("docs/cluster.md", "goqueue cluster drain b"): "test_cluster_page.py",
    ("docs/cluster.md", "goqueue topic add-partitions"): "test_cluster_page.py",
    ("docs/cluster.md", "goqueue topic alter"): "test_cluster_page.py",
}

# Commands that are understood as they stand there, and not carried out.
PARSED = {
    ("docs/cluster.md", "goqueue serve --node-id a --data-dir /var"): "it names three machines",
    ("docs/cluster.md", "goqueue serve --node-id d"): "it names a fourth machine",
    ("docs/cluster.md", "goqueue cluster reassign orders --to b,c,d"): "it wants a fourth node",
    ("docs/cluster.md", "goqueue cluster forget b"): "it wants a node that is dead for good",
    ("docs/cluster.md", "goqueue cluster health"): "it wants a partition that nobody leads",
    ("docs/cluster.md", "goqueue cluster elect --unclean"): "it wants a partition that nobody leads",
    ("docs/benchmarks.md", "goqueue bench log"): "measuring takes minutes",
    ("docs/benchmarks.md", "goqueue bench turn"): "measuring takes minutes",
    ("docs/captures.md", "goqueue serve --capture"): "it serves until it is told to stop",
    ("docs/captures.md", "goqueue replay captures-a"): "it wants the captures of a cluster",
    ("docs/captures.md", "goqueue replay --follow"): "it wants the captures of a cluster",
    ("docs/configuration.md", "goqueue config check goqueue.yaml"): "it goes on with a broker that serves",
    ("docs/configuration.md", "goqueue config set-context"): "it names a broker on another machine",
    ("docs/operations.md", "goqueue serve"): "it listens to the world",
    ("docs/operations.md", "goqueue log"): "it wants a folder with a damaged log; tests/cli/test_log.py has some",
    ("docs/chaos.md", "goqueue"): "a storm takes minutes; tests/fuzz/chaos lets a short one loose",
    ("docs/simulation.md", "goqueue sim"): "a thousand worlds take minutes",
    ("docs/facts.md", "goqueue spark"): "Spark needs a Java",
    ("docs/spark-checks.md", "goqueue"): "Spark needs a Java",
    ("docs/spark-clusters.md", "goqueue spark"): "Spark needs a Java",
    ("docs/spark-export.md", "goqueue spark"): "Spark needs a Java",
    ("docs/spark-replay.md", "goqueue spark replay captures"): "Spark needs a Java",
    ("docs/spark-replay.md", "PYTHONPATH=. goqueue"): "Spark needs a Java",
    ("docs/spark-reports.md", "goqueue spark"): "Spark needs a Java",
    ("docs/spark-writing.md", "goqueue spark"): "Spark needs a Java",
}

# Python that is compiled as it stands there, and not run.
COMPILED = {
    ("docs/captures.md", "from goqueue.storage.capture"): "a part of a driver; tests/core/capture has whole ones",
    ("docs/facts.md", ""): "Spark needs a Java; tests/spark runs such jobs",
    ("docs/grpc.md", "from google.rpc"): "an except clause of a program; tests/transports/grpc reads such details",
    ("docs/spark-checks.md", ""): "Spark needs a Java; tests/spark runs such jobs",
    ("docs/spark-export.md", ""): "Spark needs a Java; tests/spark runs such jobs",
    ("docs/spark-replay.md", ""): "Spark needs a Java; tests/spark runs such jobs",
    ("docs/spark-reports.md", ""): "Spark needs a Java; tests/spark runs such jobs",
    ("docs/spark-writing.md", ""): "Spark needs a Java; tests/spark runs such jobs",
    ("docs/spark.md", ""): "Spark needs a Java; tests/spark runs such jobs",
}

# What is no program, or one of somebody else's that is not here.
LEFT = {
    ("README.md", "./dev run"): "it installs and runs everything, this test included",
    ("docs/architecture.md", "bytes and time"): "a picture",
    ("docs/architecture.md", "client ─ bytes"): "a picture",
    ("docs/architecture.md", "PollWork ─►"): "a picture",
    ("docs/architecture.md", "Publish with a delay ─►"): "a picture",
    ("docs/benchmarks.md", '{"name": "log",'): "JSON with dots for what is left out",
    ("docs/benchmarks.md", "wrk"): "a tool of somebody else's",
    ("docs/captures.md", "line"): "the grammar of a format",
    ("docs/chaos.md", '{"form"'): "tests/fuzz/histories/test_history_form.py reads it",
    ("docs/chaos.md", '{"type"'): "tests/fuzz/histories/test_history_form.py reads it",
    ("docs/chaos.md", "verdict: invalid"): "what is printed; tests/fuzz/chaos",
    ("docs/configuration.md", "goqueue: cannot serve like this:"): "what is printed; tests/cli/test_config_check.py",
    ("docs/development.md", "./dev test"): "it runs tests",
    ("docs/development.md", "go install"): "a tool of somebody else's",
    ("docs/development.md", ".venv/bin/python"): "it rewrites stories of the tests",
    ("docs/grpc.md", "grpcurl"): "a tool of somebody else's",
    ("docs/grpc.md", "protoc"): "a generator for another language",
    (
        "docs/grpc.md",
        "python -m grpc_tools",
    ): "tests/transports/services/test_grpc_page.py runs the generator",
    ("docs/grpc.md", "mkdir"): "tests/transports/services/test_grpc_page.py does the same in Python",
    ("docs/grpc.md", "spelled ="): "an expression; tests/transports/services/leased_messages.py computes the same",
    ("docs/rest.md", "wrk"): "tools of somebody else's",
    ("docs/spark-clusters.md", ""): "it wants a cluster of Spark's",
    ("docs/spark-export.md", "lake/orders"): "names of files",
    ("docs/spark-replay.md", "captures/"): "what is printed",
}
