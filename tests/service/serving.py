"""A real server on a free port, in a thread of the test's process."""

import socket
import threading
import time
from contextlib import contextmanager

import httpx

from globalbandits.service.server import bind, make_server
from globalbandits.service.service import Service, ServiceOptions


@contextmanager
def serving(store, options=None, clock=None, port=0):
    """The service and its address."""
    service = Service(store, options or ServiceOptions(compiled=False), clock)
    server = make_server(service)
    listening = bind("127.0.0.1", port)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.005)
        yield service, f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        service.draining = True
        server.should_exit = True
        thread.join()
        listening.close()


@contextmanager
def talking(url, token=None):
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=url, headers=headers, timeout=30) as client:
        yield client


def exchange(url, data, *, pieces=None, seconds=10.0):
    """Raw bytes to a server, and all that it answers until it closes the connection."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=seconds) as connection:
        try:
            for piece in pieces or [data]:
                connection.sendall(piece)
        except (BrokenPipeError, ConnectionResetError):
            pass
        found = b""
        try:
            while piece := connection.recv(65536):
                found += piece
        except (ConnectionResetError, TimeoutError):
            pass
        return found
