"""One PostgreSQL server for all tests of a run that need one."""

import pytest

from tests.service.postgresql import NoServer, Server


@pytest.fixture(scope="session")
def server():
    """A server, or the reason why there is none."""
    pytest.importorskip("psycopg", reason="the extra postgres is not installed")
    try:
        made = Server()
    except NoServer as reason:
        pytest.skip(str(reason))
    yield made
    made.close()


@pytest.fixture
def empty(server):
    """The server, without our tables."""
    drop(server)
    return server


def drop(server):
    import psycopg

    with psycopg.connect(server.address, autocommit=True) as connection:
        connection.execute("SET lock_timeout = '10s'")  # a test has left something open
        connection.execute("DROP SCHEMA IF EXISTS globalbandits CASCADE")
