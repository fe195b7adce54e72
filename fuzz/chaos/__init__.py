"""`goqueue chaos`: a real cluster, real clients, a storm drawn from a seed, and a verdict on what the clients saw.

`storm.py` draws what goes wrong and when, `stage.py` has the brokers and what can be done to them, `weather.py` does
it. `clients/` are programs of the client library that note all they ask and are told. `run.py` brings these together,
and `goqueue.fuzz.histories` judges. `command.py` is the command. Start at `run.py`.
"""
