"""The ASGI application: routes, access control, decoded bodies and errors as responses."""

import contextlib
import json
import time
from collections.abc import AsyncIterator
from importlib.resources import files

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from globalbandits.errors import GlobalBanditsError
from globalbandits.service.http.openapi import document
from globalbandits.service.http.operations import OPERATIONS, Operation
from globalbandits.service.http.request import (
    JSON,
    ProblemError,
    ServiceRequest,
    problem_error,
    problem_response,
)
from globalbandits.service.metrics import Metrics
from globalbandits.service.service import Service
from globalbandits.service.tokens import MAIN, Identity

_ANONYMOUS = Identity("anybody", MAIN, "read")
_LOCAL_ADMIN = Identity("local", MAIN, "admin")
# Paths of the page, with the file and the media type of each.
_PAGE = {
    "/": ("index.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
    "/charts.js": ("charts.js", "text/javascript"),
    "/prices.js": ("prices.js", "text/javascript"),
}
# Starlette's router raises only these two errors.
_ROUTER_DETAILS = {404: "there is nothing at this path", 405: "method must be GET"}


def make_app(service: Service) -> Starlette:
    """The application of a service. Its lifespan starts and stops the service."""

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await service.start()
        try:
            yield
        finally:
            await service.stop()

    paths: dict[str, dict[str, Operation]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method] = operation
    routes = [Route(path, Endpoint(service, path, found)) for path, found in paths.items()]
    encoded = json.dumps(document(), separators=(",", ":")).encode()
    routes.append(_fixed("/openapi.json", encoded, JSON))
    page = files(__package__).joinpath("page")
    for path, (name, media_type) in _PAGE.items():
        routes.append(_fixed(path, page.joinpath(name).read_bytes(), media_type))
    app = Starlette(
        routes=routes,
        middleware=[Middleware(RequestMetrics, metrics=service.metrics)],
        exception_handlers={
            HTTPException: _http_problem,
            GlobalBanditsError: _library_problem,
            Exception: _server_problem,
        },
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    return app


def _fixed(path: str, content: bytes, media_type: str) -> Route:
    """A route to content that never changes."""

    async def get(request: Request) -> Response:
        return Response(content, media_type=media_type)

    return Route(path, get)


async def _http_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if not isinstance(error, ProblemError):
        status = error.status_code
        error = ProblemError(status, _ROUTER_DETAILS[status], error.headers)
    return problem_response(error)


async def _library_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, GlobalBanditsError)
    return problem_response(problem_error(error))


async def _server_problem(request: Request, error: Exception) -> Response:
    # Starlette raises the error again after this response. uvicorn logs it and closes the
    # connection.
    detail = "this is a bug of the service; its log has the details"
    return problem_response(ProblemError(500, detail, {"connection": "close"}))


class RequestMetrics:
    """Middleware that records the time of each operation until its response starts."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and record its time and status."""
        begun = time.perf_counter()

        def record(status: int) -> None:
            endpoint = scope.get("endpoint")
            if isinstance(endpoint, Endpoint):
                method = scope["method"] if scope["method"] in endpoint.operations else "OTHER"
                seconds = time.perf_counter() - begun
                self._metrics.request(endpoint.path, method, status, seconds)

        async def send_recorded(message: Message) -> None:
            if message["type"] == "http.response.start":
                record(message["status"])
            await send(message)

        try:
            await self._app(scope, receive, send_recorded)
        except Exception:
            # Starlette answers unexpected errors outside of this middleware.
            record(500)
            raise


class Endpoint:
    """The operations of one path, by method.

    This is an ASGI application and not a Starlette endpoint, because Starlette would answer HEAD
    wherever there is a GET, and because its wrapper handles errors a second time.
    """

    def __init__(self, service: Service, path: str, operations: dict[str, Operation]) -> None:
        self.path = path
        self.operations = operations
        self._service = service
        self._decoders = {
            method: msgspec.json.Decoder(operation.body)
            for method, operation in operations.items()
            if operation.body is not None
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, call its handler and send the response."""
        method = scope["method"]
        operation = self.operations.get("GET" if method == "HEAD" else method)
        if operation is None or (method == "HEAD" and operation.role is not None):
            detail = f"method must be one of {', '.join(self.operations)}"
            raise ProblemError(405, detail, {"allow": ", ".join(sorted(self.operations))})
        request = ServiceRequest(scope, receive, send)
        request.service = self._service
        try:
            request.caller = identify(request, operation.role)
        except ProblemError:
            # The client must have sent its body before it reads the response.
            if operation.body is not None:
                await request.read_body(operation.max_bytes, keep=False)
            raise
        if operation.body is not None:
            body = await request.read_body(operation.max_bytes)
            if body or not operation.body_optional:
                request.content = request.decode(body, self._decoders[method])
            else:
                request.content = operation.body()
        if scope["query_string"] and operation.role is not None:
            request.check_query([name for name, _ in operation.query])
        response = await operation.handler(request)
        await response(scope, receive, send)


def identify(request: ServiceRequest, role: str | None) -> Identity:
    """The identity of the caller, who needs at least this role.

    Raises:
        ProblemError: 401 without a valid token, 403 if the token's role is too low, 429 if the
            token made too many requests.
    """
    if role is None:
        return _ANONYMOUS
    service = request.service
    if not service.tokens.needed:
        _check_local(request)
        caller = _LOCAL_ADMIN
    else:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        found = service.tokens.find(token.strip()) if scheme.lower() == "bearer" else None
        if found is None:
            detail = "a valid token is needed: Authorization: Bearer gb_..."
            raise ProblemError(401, detail, {"www-authenticate": "Bearer"})
        caller = found
    if not caller.may(role):
        raise ProblemError(403, f"the token's role must be {role} or more, got {caller.role}")
    wait = service.rates.wait(caller.token)
    if wait:
        raise ProblemError(429, "too many requests with this token", {"retry-after": str(wait)})
    return caller


def _check_local(request: ServiceRequest) -> None:
    """Refuse requests that a page of another site makes a browser on this machine send.

    Without tokens every local program is an administrator. A page of another site could reach the
    service under a host name that its owner points to 127.0.0.1, or under the service's own name
    with requests that browsers send without a preflight.
    """
    hosts = request.service.options.hosts
    host = request.headers.get("host", "").lower()
    if host.rpartition(":")[0] not in hosts and host not in hosts:
        raise ProblemError(403, f"host must be localhost where no token is needed, got {host!r}")
    origin = request.headers.get("origin", "").lower()
    if origin and origin.partition("://")[2] != host:
        raise ProblemError(403, f"origin must be {host!r} where no token is needed, got {origin!r}")
