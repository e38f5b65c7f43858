"""The ASGI application: who asks, whether they may, and what the operation answers."""

import contextlib
import json
import logging
import time
from collections.abc import AsyncIterator, Callable
from functools import cache, partial
from importlib.resources import files
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.routing import Route

from globalbandits.errors import GlobalBanditsError
from globalbandits.service.openapi import document
from globalbandits.service.routes import OPERATIONS, Operation
from globalbandits.service.service import Service
from globalbandits.service.tokens import MAIN, Identity
from globalbandits.service.web import (
    JSON,
    Answer,
    Receive,
    Refused,
    Request,
    Scope,
    Send,
    check_query,
    decode,
    header_map,
    query_of,
    read_body,
    refused,
    send_answer,
)

_LOGGER = logging.getLogger("globalbandits.service")
_ANYBODY = Identity("anybody", MAIN, "read")
_OPEN = Identity("local", MAIN, "admin")


def make_app(service: Service) -> Starlette:
    """The application of a service, which starts and stops with it."""

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
    routes.append(Route("/openapi.json", _Fixed(JSON, _encoded_document)))
    for path, (name, media) in PAGE.items():
        routes.append(Route(path, _Fixed(media, partial(_page_file, name))))
    app = Starlette(routes=routes, lifespan=lifespan)
    app.router.redirect_slashes = False
    app.router.default = _nowhere
    # Nothing of Starlette but its router: each layer costs time, and errors are answered here.
    app.middleware_stack = app.router
    return app


class Endpoint:
    """One path."""

    def __init__(self, service: Service, path: str, operations: dict[str, Operation]) -> None:
        self._service = service
        self._path = path
        self._operations = operations
        self._decoders = {
            method: msgspec.json.Decoder(operation.body)
            for method, operation in operations.items()
            if operation.body is not None
        }
        self._allowed = ((b"allow", ", ".join(sorted(operations)).encode()),)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        begun = time.perf_counter()
        method = scope["method"]
        try:
            answer = await self._answer(method, scope, receive)
        except (Refused, GlobalBanditsError) as error:
            answer = refused(error).answer()
        except Exception:
            _LOGGER.exception("%s %s failed", method, self._path)
            answer = Refused(500, "this is a mistake of the service; it is in its log").answer()
        shown = method if method in self._operations else "OTHER"
        seconds = time.perf_counter() - begun
        self._service.metrics.request(self._path, shown, answer.status, seconds)
        await send_answer(receive, send, answer)

    async def _answer(self, method: str, scope: Scope, receive: Receive) -> Answer:
        operation = self._operations.get("GET" if method == "HEAD" else method)
        if operation is None or (method == "HEAD" and operation.role is not None):
            raise Refused(
                405, f"method must be one of {', '.join(self._operations)}", self._allowed
            )
        service, headers = self._service, header_map(scope)
        who = _ANYBODY if operation.role is None else identify(service, headers, operation.role)
        body = None
        if operation.body is not None:
            raw = await read_body(receive, headers, operation.largest)
            if raw or not operation.optional:
                body = decode(self._decoders[method], raw, headers)
            else:
                body = operation.body()
        query = query_of(scope)
        if query and operation.role is not None:
            check_query(query, [name for name, _ in operation.query])
        request = Request(scope["path_params"], query, headers, body, who)
        return await operation.handler(service, request)


def identify(service: Service, headers: dict[bytes, bytes], role: str) -> Identity:
    """Who asks.

    Raises:
        Refused: 401 without a good token, 403 where the role is not enough, 429 if too often.
    """
    if not service.tokens.needed:
        _check_from_here(service, headers)
        who = _OPEN
    else:
        scheme, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        found = service.tokens.find(token.strip()) if scheme.lower() == "bearer" else None
        if found is None:
            text = "a valid token is needed: Authorization: Bearer gb_..."
            raise Refused(401, text, ((b"www-authenticate", b"Bearer"),))
        who = found
    if not who.may(role):
        raise Refused(403, f"the token's role must be {role} or more, got {who.role}")
    wait = service.rates.wait(who.token)
    if wait:
        text = "too many requests with this token"
        raise Refused(429, text, ((b"retry-after", b"%d" % wait),))
    return who


def _check_from_here(service: Service, headers: dict[bytes, bytes]) -> None:
    """Refuse what a page of another site sends, where everybody on this machine may do everything.

    Such a page could reach us through a name that it has pointed here; or by our own name, with
    requests that a browser sends without asking first.
    """
    host = headers.get(b"host", b"").decode("latin-1").lower()
    if host.rpartition(":")[0] not in service.options.hosts and host not in service.options.hosts:
        raise Refused(403, f"host must be localhost where no token is needed, got {host!r}")
    origin = headers.get(b"origin", b"").decode("latin-1").lower()
    if origin and origin.partition("://")[2] != host:
        raise Refused(403, f"origin must be {host!r} where no token is needed, got {origin!r}")


PAGE = {
    "/": ("index.html", b"text/html; charset=utf-8"),
    "/page.css": ("page.css", b"text/css; charset=utf-8"),
    "/page.js": ("page.js", b"text/javascript; charset=utf-8"),
    "/icon.svg": ("icon.svg", b"image/svg+xml"),
    "/charts.js": ("charts.js", b"text/javascript; charset=utf-8"),
}


class _Fixed:
    """Something that is the same for everybody: the document of the API, or a file of the page."""

    def __init__(self, media: bytes, content: Callable[[], bytes]) -> None:
        self._media = media
        self._content = content

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["method"] != "GET":
            answer = Refused(405, "method must be GET", ((b"allow", b"GET"),)).answer()
        else:
            answer = Answer(200, self._content(), media=self._media)
        await send_answer(receive, send, answer)


@cache
def _page_file(name: str) -> bytes:
    return files("globalbandits.service").joinpath("page", name).read_bytes()


@cache
def _encoded_document() -> bytes:
    return json.dumps(document(), separators=(",", ":")).encode()


async def _nowhere(scope: Any, receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        await send_answer(receive, send, Refused(404, "there is nothing at this path").answer())
