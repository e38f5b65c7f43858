"""What the operations on tokens do."""

import asyncio
from collections.abc import Callable

from globalbandits.errors import ConflictError, UnknownError
from globalbandits.service.answers import token_fields, token_out
from globalbandits.service.log.writer import Change
from globalbandits.service.messages import NewTokenOut, TokensOut
from globalbandits.service.service import Service
from globalbandits.service.stores.base import Transaction
from globalbandits.service.tokens import new_token
from globalbandits.service.web import Answer, Request


async def create_token(service: Service, request: Request) -> Answer:
    """Create a token of the tenant of who asks."""
    body = request.body
    if not service.tokens.needed and body.role != "admin":
        raise ConflictError(
            f"the first token must have the role admin, got {body.role!r}: nobody could make others"
        )
    at = service.log.clock.now()
    seconds = body.expires_seconds
    expires = None if seconds is None else at + round(seconds * 1e6)
    token, row = new_token(body.role, request.who.tenant, body.label, at, expires)
    await _store(service, lambda rows: rows.add_token(row))
    service.tokens.add(row)
    return Answer(201, NewTokenOut(token=token, **token_fields(row)))


async def list_tokens(service: Service, request: Request) -> Answer:
    """The tenant's tokens, without their secrets."""
    rows = service.tokens.of(request.who.tenant)
    return Answer(200, TokensOut(tokens=[token_out(row) for row in rows]))


async def drop_token(service: Service, request: Request) -> Answer:
    """Take a token back."""
    id = request.params["id"]
    if id not in {row.id for row in service.tokens.of(request.who.tenant)}:
        raise UnknownError(f"token must be one of this tenant's, got {id!r}")
    await _store(service, lambda rows: rows.drop_token(id))
    service.tokens.drop(id)
    return await list_tokens(service, request)


async def _store(service: Service, write: Callable[[Transaction], None]) -> None:
    stored = service.log.writer.submit(Change(write, lambda _: None))
    await asyncio.to_thread(stored.result)
