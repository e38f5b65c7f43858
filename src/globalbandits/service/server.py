"""The server process: uvicorn, limits on connections and request heads, and a graceful stop."""

import asyncio
import ipaddress
import json
import logging
import socket
import sys
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from globalbandits.errors import ServiceError
from globalbandits.service.http.app import make_app
from globalbandits.service.http.request import PROBLEM, ProblemError, encode_json, problem_response
from globalbandits.service.service import Service, ServiceOptions
from globalbandits.service.stores.store import Store
from globalbandits.service.tokens import check_given

REQUEST_SECONDS = 10.0  # limit for a head, and separately for a body
MAX_HEADER_BYTES = 32_000
MAX_CONNECTIONS = 2_000
# Sent with every response. The page may load only its own files.
HEADERS = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-store"),
]


class Connection(asyncio.Protocol):
    """One connection: uvicorn's protocol with limits on the time and size of requests.

    uvicorn takes any protocol class as its option ``http``. Its own have no time limit for a head
    or a body. With httptools it also accepts a head of any size; h11 has a limit, but doubles the
    CPU time of a decision. This class counts and times all bytes and passes them on to uvicorn's
    protocol. `ConnectionLimits` calls it when a request starts and ends.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: Any,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        # uvicorn copies this state into the scope of each request.
        app_state = app_state | {"connection": self}
        self._protocol = HttpToolsProtocol(config, server_state, app_state, _loop)
        self._loop = _loop or asyncio.get_running_loop()
        self._transport: Any = None
        self._timer: asyncio.TimerHandle | None = None
        self._waiting_since: float | None = None  # start of waiting for a head or a body
        self._n_running = 0
        self._n_bytes = 0  # since the last request ended

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client connects."""
        self._transport = transport
        self._protocol.connection_made(transport)  # type: ignore[arg-type]
        self._waiting_since = self._loop.time()
        self._check_time()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection ends."""
        if self._timer is not None:
            self._timer.cancel()
        self._protocol.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes arrive."""
        if self._n_running == 0:
            self._n_bytes += len(data)
            if self._waiting_since is None:
                self._waiting_since = self._loop.time()
        self._protocol.data_received(data)
        if self._n_bytes > MAX_HEADER_BYTES:
            # The bytes may include a body. If the head is complete, uvicorn has scheduled the
            # application, which runs before this check and resets the count.
            self._loop.call_soon(self._check_size)

    def eof_received(self) -> None:
        """The client has closed its side of the connection."""
        self._protocol.eof_received()

    def pause_writing(self) -> None:
        """The buffer of the transport is full."""
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        """The buffer of the transport has room."""
        self._protocol.resume_writing()

    def start_request(self, scope: Scope) -> ProblemError | None:
        """The head of a request is complete. Returns an error if the request is refused."""
        self._waiting_since = None
        self._n_running += 1
        n_bytes, self._n_bytes = self._n_bytes, 0
        if n_bytes > MAX_HEADER_BYTES:
            size = sum(len(name) + len(value) for name, value in scope["headers"])
            if size + len(scope["raw_path"]) + len(scope["query_string"]) > MAX_HEADER_BYTES:
                return _too_long()
        return None

    def start_body(self) -> None:
        """The application waits for the body of a request."""
        if self._waiting_since is None:
            self._waiting_since = self._loop.time()

    def end_body(self) -> None:
        """The body of a request is complete."""
        self._waiting_since = None

    def end_request(self) -> None:
        """The application has answered a request."""
        self._n_running -= 1

    def _check_size(self) -> None:
        if self._n_bytes > MAX_HEADER_BYTES:
            self._refuse(_too_long())

    def _check_time(self) -> None:
        # Each connection has one timer that renews itself. A new timer for each head and body took
        # about 16 % of the CPU time of a decision.
        now = self._loop.time()
        since = now if self._waiting_since is None else self._waiting_since
        if now - since >= REQUEST_SECONDS:
            detail = f"a request must come within {REQUEST_SECONDS:g} seconds"
            self._refuse(ProblemError(408, detail))
        else:
            self._timer = self._loop.call_at(since + REQUEST_SECONDS, self._check_time)

    def _refuse(self, error: ProblemError) -> None:
        """Answer without a complete request, and close the connection."""
        if self._transport.is_closing():
            return
        problem = error.problem
        body = encode_json(problem)
        head = (
            f"HTTP/1.1 {problem.status} {problem.title}\r\nconnection: close\r\n"
            f"content-type: {PROBLEM}\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        self._transport.write(head.encode() + body)
        self._transport.close()


def _too_long() -> ProblemError:
    detail = f"headers must have at most {MAX_HEADER_BYTES} bytes"
    return ProblemError(431, detail, {"connection": "close"})


class ConnectionLimits:
    """Middleware that notifies a `Connection` when a request and its body start and end."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, unless the connection refuses it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        connection: Connection = scope["state"].pop("connection")
        error = connection.start_request(scope)
        complete = False

        async def receive_timed() -> Message:
            nonlocal complete
            if complete:
                # Streams wait here until the client disconnects.
                return await receive()
            connection.start_body()
            message = await receive()
            if not message.get("more_body", False):
                complete = True
                connection.end_body()
            return message

        try:
            app = self._app if error is None else problem_response(error)
            await app(scope, receive_timed, send)
        finally:
            connection.end_request()


class Server(uvicorn.Server):
    """uvicorn's server, which notifies the service of a signal to stop."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Let streams end and `/ready` fail, then stop."""
        self._service.draining = True
        super().handle_exit(sig, frame)


class JSONLines(logging.Formatter):
    """Formats log records as lines of JSON, so that the text of a request cannot forge a line."""

    def format(self, record: logging.LogRecord) -> str:
        """A record as a line."""
        line = {
            "at": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if hasattr(record, "event"):
            line["event"] = record.event
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line)


def is_loopback(host: str) -> bool:
    """Whether an address is reachable from this machine only.

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
    """Raise an error if other machines can reach the address and there is no token."""
    check_given(options.token)
    if not is_loopback(host) and options.token is None and not store.tokens():
        raise ServiceError(
            f"host must be a loopback address where there is no token, got {host!r}: give --token, "
            "or create one with globalbandits token create"
        )


def bind(host: str, port: int) -> socket.socket:
    """A listening socket. Port 0 selects a free port.

    Raises:
        ServiceError: if the address is in use or does not belong to this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise ServiceError(
            f"host and port must be free to listen on, got {host}:{port}: {error.strerror}"
        ) from None
    # Clients that connect before uvicorn runs wait in the queue.
    listener.listen(1024)
    return listener


def set_up_logging() -> None:
    """Write warnings and errors to standard error, as lines of JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JSONLines())
    for name in ("globalbandits.service", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(logging.WARNING)
        logger.propagate = False


def run(store: Store, options: ServiceOptions, listening: socket.socket) -> None:
    """Serve until a signal arrives, then store the queued work and close the store."""
    set_up_logging()
    service = Service(store, options)
    if options.compiled is not False:
        service.log.warm()
        service.log.compile_new()
    make_server(service).run(sockets=[listening])


def make_server(service: Service) -> Server:
    """The server of a service."""
    config = uvicorn.Config(
        ConnectionLimits(make_app(service)),
        http=Connection,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        headers=HEADERS,
        # uvicorn answers 503 from this number on.
        limit_concurrency=MAX_CONNECTIONS + 1,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=10,
    )
    return Server(config, service)
