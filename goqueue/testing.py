"""A broker for tests, inside the test's own process: `goqueue.testing.Broker`. It is `goqueue.transports.testing`."""

from goqueue.transports.testing import Broker

__all__ = ["Broker"]
