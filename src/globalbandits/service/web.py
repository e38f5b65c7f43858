"""One request and its answer: reading, checking, answering, and errors as answers, in one place."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import msgspec

from globalbandits.errors import (
    ConflictError,
    GlobalBanditsError,
    StoreError,
    UnknownError,
)
from globalbandits.service.messages import Problem
from globalbandits.service.tokens import Identity

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

LARGEST_BODY = 64_000  # bytes
LARGEST_BATCH = 1_000_000
JSON, PROBLEM = b"application/json", b"application/problem+json"
NDJSON, EVENTS = b"application/x-ndjson", b"text/event-stream"
TEXT = b"text/plain; version=0.0.4; charset=utf-8"
HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        b"img-src 'self'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]
_PLACE = re.compile(r" - at `(?:key in )?\$\.?([^`]*)`")
_RULE = re.compile(r"([a-z_]+) must ")
_encode = msgspec.json.Encoder().encode


class Request(NamedTuple):
    """What a handler is given."""

    params: Mapping[str, str]  # of the path
    query: Mapping[str, str]
    headers: Mapping[bytes, bytes]
    body: Any  # a struct, or None
    who: Identity


class Answer(NamedTuple):
    """What a handler gives back."""

    status: int
    content: Any = None  # a struct, bytes, or pieces that come one by one
    headers: tuple[tuple[bytes, bytes], ...] = ()
    media: bytes = JSON


class Refused(Exception):  # noqa: N818 (an answer on its way, not a mistake)
    """An answer that is a problem."""

    def __init__(
        self, status: int, detail: str, headers: tuple[tuple[bytes, bytes], ...] = (), **more: Any
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.headers = headers
        self.problem = Problem(
            title=HTTPStatus(status).phrase, status=status, detail=detail, **more
        )

    def answer(self) -> Answer:
        """As an answer."""
        return Answer(self.status, self.problem, self.headers, PROBLEM)


def refused(error: Exception) -> Refused:
    """The answer that an error of the library is."""
    if isinstance(error, Refused):
        return error
    text = str(error)
    if isinstance(error, UnknownError):
        return Refused(404, text)
    if isinstance(error, ConflictError):
        return Refused(409, text)
    if isinstance(error, StoreError):
        return Refused(503, text, ((b"retry-after", b"1"),))
    if isinstance(error, GlobalBanditsError):
        rule = _RULE.match(text)
        return Refused(422, text, parameter=None if rule is None else rule[1])
    raise error


def header_map(scope: Scope) -> dict[bytes, bytes]:
    """Headers by name; of a name that stands twice the last one."""
    return dict(scope["headers"])


def query_of(scope: Scope) -> dict[str, str]:
    """The query's parameters."""
    text = scope["query_string"]
    return dict(parse_qsl(text.decode("latin-1"), keep_blank_values=True)) if text else {}


def check_query(query: Mapping[str, str], known: Sequence[str]) -> None:
    """Refuse parameters that would be passed over."""
    for name in query:
        if name not in known:
            rule = f"be one of {', '.join(known)}" if known else "not be given"
            raise Refused(422, f"query parameter must {rule}, got {name!r}", parameter=name)


def as_flag(query: Mapping[str, str], name: str) -> bool:
    """A truth of the query."""
    text = query.get(name, "false")
    if text not in ("true", "false"):
        raise Refused(422, f"{name} must be true or false, got {text!r}", parameter=name)
    return text == "true"


def as_number(query: Mapping[str, str], name: str, default: int, largest: int) -> int:
    """A whole number of the query."""
    text = query.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 19 and int(text) <= largest):
        raise Refused(
            422, f"{name} must be a whole number from 0 to {largest}, got {text!r}", parameter=name
        )
    return int(text)


async def read_body(receive: Receive, headers: Mapping[bytes, bytes], largest: int) -> bytes:
    """The whole body, if it is not too long. The server bounds how long it may take."""
    declared = headers.get(b"content-length")
    if declared is not None and declared.isdigit() and int(declared) > largest:
        raise _too_large(largest)
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise Refused(400, "the connection ended before the body did")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > largest:
            raise _too_large(largest)
        more = message.get("more_body", False)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _too_large(largest: int) -> Refused:
    text = f"the body must have at most {largest} bytes"
    return Refused(413, text, ((b"connection", b"close"),))


def decode(
    decoder: "msgspec.json.Decoder[Any]", body: bytes, headers: Mapping[bytes, bytes]
) -> Any:
    """A body as a struct."""
    media = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if media != JSON:
        shown = media.decode("latin-1")
        raise Refused(415, f"content-type must be application/json, got {shown!r}")
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        place = _PLACE.search(str(error))
        raise Refused(422, str(error), parameter=place[1] if place else None) from None
    except RecursionError:
        raise Refused(422, "the body must not be nested that deeply") from None
    except msgspec.DecodeError as error:
        raise Refused(400, f"the body must be JSON: {error}") from None
    except UnicodeDecodeError:
        raise Refused(400, "the body must be JSON in UTF-8") from None


async def send_answer(receive: Receive, send: Send, answer: Answer) -> None:
    """Send an answer whole, or piece by piece until nobody listens any more."""
    content = answer.content
    headers = [(b"content-type", answer.media), *HEADERS, *answer.headers]
    start = {"type": "http.response.start", "status": answer.status, "headers": headers}
    if isinstance(content, (bytes, msgspec.Struct)):
        body = content if isinstance(content, bytes) else _encode(content)
        headers.append((b"content-length", b"%d" % len(body)))
        await send(start)
        await send({"type": "http.response.body", "body": body})
        return
    await send(start)
    # What is sent to a client that is gone is swallowed without a word: it must be looked for.
    sending = asyncio.create_task(_send_pieces(send, content))
    leaving = asyncio.create_task(_left(receive))
    try:
        await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (sending, leaving):
            task.cancel()
        await asyncio.wait({sending, leaving})
    if not sending.cancelled():
        sending.result()


async def _send_pieces(send: Send, pieces: AsyncIterator[bytes]) -> None:
    async for piece in pieces:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _left(receive: Receive) -> None:
    """Wait until the client is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
