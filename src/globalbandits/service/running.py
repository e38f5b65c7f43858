"""The server process: uvicorn, with bounds on headers, and a stop that loses nothing."""

import asyncio
import ipaddress
import json
import logging
import socket
import sys
from http import HTTPStatus
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from globalbandits.errors import ServiceError
from globalbandits.service.app import make_app
from globalbandits.service.service import Service, ServiceOptions
from globalbandits.service.stores.base import Store
from globalbandits.service.tokens import check_given
from globalbandits.service.web import PROBLEM

HEADER_SECONDS = 10.0
BODY_SECONDS = 10.0
LARGEST_HEADERS = 32_000  # bytes
MOST_CONNECTIONS = 2_000


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's protocol, where headers must be short, and they and the body come in time."""

    _reading = True  # headers, or waiting for them
    _size = 0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """A client connects, and has some seconds to say what it wants."""
        super().connection_made(transport)
        self._start_timer(HEADER_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """A client goes."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Some bytes come. Most requests are whole at once, and need no timer."""
        if self._reading:
            self._size += len(data)
        super().data_received(data)
        if self._reading and self._size > LARGEST_HEADERS:
            self._refuse(431, f"headers must have at most {LARGEST_HEADERS} bytes")
        elif self._timer is None and (self._size > 0 or not self._reading):
            self._start_timer(HEADER_SECONDS if self._reading else BODY_SECONDS)

    def on_headers_complete(self) -> None:
        """Headers are there."""
        self._stop_timer()
        self._reading = False
        if len(self.connections) > MOST_CONNECTIONS:
            self._refuse(503, f"connections must be at most {MOST_CONNECTIONS}, got one more")
            return
        if self._size > LARGEST_HEADERS:  # or is it the body that came with them?
            size = sum(len(name) + len(value) for name, value in self.headers) + len(self.url)
            if size > LARGEST_HEADERS:
                self._refuse(431, f"headers must have at most {LARGEST_HEADERS} bytes")
                return
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is whole; the next one may begin."""
        self._stop_timer()
        self._reading, self._size = True, 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """What comes is not HTTP."""
        self._refuse(400, msg)

    def _start_timer(self, seconds: float) -> None:
        detail = f"a request must come within {seconds:g} seconds"
        self._timer = self.loop.call_later(seconds, self._refuse, 408, detail)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse(self, status: int, detail: str) -> None:
        """Answer without the application, and close."""
        if self.transport is None or self.transport.is_closing():
            return
        phrase = HTTPStatus(status).phrase
        body = json.dumps({"title": phrase, "status": status, "detail": detail})
        head = f"HTTP/1.1 {status} {phrase}\r\nconnection: close\r\n"
        head += "retry-after: 1\r\n" if status == 503 else ""
        head += f"content-type: {PROBLEM.decode()}\r\ncontent-length: {len(body)}\r\n\r\n"
        self.transport.write((head + body).encode())
        self.transport.close()


class Server(uvicorn.Server):
    """A server that tells its service when it is to stop."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Refuse what is new, and let streams end."""
        self._service.draining = True
        super().handle_exit(sig, frame)


class JSONLines(logging.Formatter):
    """A log line as an object of JSON: no text of a request can break out of it."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        line = {
            "at": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    >>> is_loopback("127.0.0.1"), is_loopback("0.0.0.0"), is_loopback("localhost")
    (True, False, True)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_reachable(host: str, store: Store, options: ServiceOptions) -> None:
    """Refuse to be reachable from elsewhere where everybody may do everything."""
    check_given(options.token)
    if not is_loopback(host) and options.token is None and not store.tokens():
        raise ServiceError(
            f"host must be a loopback address where there is no token, got {host!r}: give --token, "
            "or create one with globalbandits token create"
        )


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes any that is free.

    Raises:
        ServiceError: if it cannot listen there.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
    except OSError as error:
        made.close()
        raise ServiceError(
            f"host and port must be free to listen on, got {host}:{port}: {error.strerror}"
        ) from None
    made.listen(1024)  # who comes early waits
    return made


def set_up_logging() -> None:
    """Warnings and errors to standard error, a line of JSON each."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JSONLines())
    for name in ("globalbandits.service", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(logging.WARNING)
        logger.propagate = False


def run(store: Store, options: ServiceOptions, listening: socket.socket) -> None:
    """Serve until a signal comes, then store what waits and close the store."""
    set_up_logging()
    make_server(Service(store, options)).run(sockets=[listening])


def make_server(service: Service) -> Server:
    """The server of a service."""
    config = uvicorn.Config(
        make_app(service),
        http=BoundedProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=10,
    )
    return Server(config, service)
