"""A request as handlers see it, and the errors that refuse it."""

import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from globalbandits.errors import ConflictError, GlobalBanditsError, StoreError, UnknownError
from globalbandits.service.http.messages import Problem
from globalbandits.service.log.bandit import Bandit
from globalbandits.service.service import Service
from globalbandits.service.tokens import Identity

MAX_BODY_BYTES = 64_000
MAX_BATCH_BYTES = 1_000_000
JSON, PROBLEM = "application/json", "application/problem+json"
NDJSON, EVENTS = "application/x-ndjson", "text/event-stream"
TEXT = "text/plain; version=0.0.4; charset=utf-8"
# The path of a field in a message of msgspec, and the parameter in a message of the library.
_FIELD_PATH = re.compile(r" - at `(?:key in )?\$\.?([^`]*)`")
_PARAMETER = re.compile(r"([a-z_]+) must ")

encode_json = msgspec.json.Encoder().encode


class ProblemError(HTTPException):
    """Starlette's error for a status, with the fields of a `Problem` as its body."""

    def __init__(
        self, status: int, detail: str, headers: Mapping[str, str] | None = None, **fields: Any
    ) -> None:
        super().__init__(status, detail, dict(headers) if headers else None)
        self.problem = Problem(
            title=HTTPStatus(status).phrase, status=status, detail=detail, **fields
        )


def problem_error(error: GlobalBanditsError | ProblemError) -> ProblemError:
    """The status and body that answer an error of the library."""
    if isinstance(error, ProblemError):
        return error
    text = str(error)
    if isinstance(error, UnknownError):
        return ProblemError(404, text)
    if isinstance(error, ConflictError):
        return ProblemError(409, text)
    if isinstance(error, StoreError):
        return ProblemError(503, text, {"retry-after": "1"})
    found = _PARAMETER.match(text)
    return ProblemError(422, text, parameter=None if found is None else found[1])


def problem_response(error: ProblemError) -> Response:
    """An error as a response (RFC 9457)."""
    return Response(encode_json(error.problem), error.status_code, error.headers, PROBLEM)


class ServiceRequest(Request):
    """Starlette's request, with its service, its caller and its decoded body.

    Attributes:
        service: the service that answers.
        caller: the identity of the request's token.
        content: the decoded body, a struct of `messages`; None for operations without a body.
    """

    service: Service
    caller: Identity
    content: Any = None

    async def bandit(self) -> Bandit:
        """The bandit that the path names, loaded if necessary."""
        return await self.service.bandit(self.path_params["name"], self.caller.tenant)

    async def read_body(self, max_bytes: int, *, keep: bool = True) -> bytes:
        """The whole body, or nothing if it is not to be kept. The server limits the time.

        Raises:
            ProblemError: 413 if the body is too long, 400 if it is cut off.
        """
        declared = self.headers.get("content-length", "")
        size = int(declared) if declared.isdigit() else 0
        if size > max_bytes:
            raise _too_long(max_bytes)
        chunks, size = [], 0
        try:
            async for chunk in self.stream():
                size += len(chunk)
                if size > max_bytes:
                    raise _too_long(max_bytes)
                if keep:
                    chunks.append(chunk)
        except ClientDisconnect:
            raise ProblemError(400, "the connection ended before the body did") from None
        return b"".join(chunks)

    def decode(self, body: bytes, decoder: "msgspec.json.Decoder[Any]") -> Any:
        """The body as a struct.

        Raises:
            ProblemError: 415 if it is not declared as JSON, 400 if it is not JSON, 422 if its
                fields are not those of the struct.
        """
        media_type = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type != JSON:
            raise ProblemError(415, f"content-type must be application/json, got {media_type!r}")
        try:
            return decoder.decode(body)
        except msgspec.ValidationError as error:
            path = _FIELD_PATH.search(str(error))
            raise ProblemError(422, str(error), parameter=path[1] if path else None) from None
        except RecursionError:
            raise ProblemError(422, "the body must not be nested that deeply") from None
        except msgspec.DecodeError as error:
            raise ProblemError(400, f"the body must be JSON: {error}") from None
        except UnicodeDecodeError:
            raise ProblemError(400, "the body must be JSON in UTF-8") from None

    def check_query(self, known: Sequence[str]) -> None:
        """Refuse query parameters that the operation would ignore."""
        for name in self.query_params:
            if name not in known:
                rule = f"be one of {', '.join(known)}" if known else "not be given"
                detail = f"query parameter must {rule}, got {name!r}"
                raise ProblemError(422, detail, parameter=name)

    def query_flag(self, name: str) -> bool:
        """A query parameter that is true or false; false by default."""
        text = self.query_params.get(name, "false")
        if text not in ("true", "false"):
            raise ProblemError(422, f"{name} must be true or false, got {text!r}", parameter=name)
        return text == "true"

    def query_text(self, name: str, maximum: int) -> str:
        """A query parameter of limited length; empty by default."""
        text = self.query_params.get(name, "")
        if len(text) > maximum:
            detail = f"{name} must have at most {maximum} characters, got {len(text)}"
            raise ProblemError(422, detail, parameter=name)
        return text

    def query_integer(self, name: str, default: int, maximum: int, minimum: int = 0) -> int:
        """A query parameter that is a whole number from a minimum to a maximum."""
        text = self.query_params.get(name)
        if text is None:
            return default
        is_number = text.isascii() and text.isdigit() and len(text) <= 19
        if not (is_number and minimum <= int(text) <= maximum):
            detail = f"{name} must be a whole number from {minimum} to {maximum}, got {text!r}"
            raise ProblemError(422, detail, parameter=name)
        return int(text)


def _too_long(max_bytes: int) -> ProblemError:
    detail = f"the body must have at most {max_bytes} bytes"
    return ProblemError(413, detail, {"connection": "close"})
