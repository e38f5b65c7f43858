"""``globalbandits serve`` and ``globalbandits token``: the decision service over HTTP."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from globalbandits.service.stores import Store

_EXAMPLE = """{"model": {"family": "demand.linear_power", "arms": [0.4, 0.5, 0.6, 0.7, 0.8]}, \
"policy": {"policy": "wagp"}}"""

TokenDatabase = Annotated[
    str,
    typer.Argument(
        metavar="DB", help="SQLite file of the service, or postgresql://user@host/database."
    ),
]

token_app = typer.Typer(no_args_is_help=True, help="Tokens of a decision service.")


def serve(
    db: Annotated[
        str,
        typer.Option(
            help="SQLite file of the log, created if it is missing; or "
            "postgresql://user@host/database, which several servers may share."
        ),
    ] = "globalbandits.db",
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 selects a free port.")] = 8000,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="GLOBALBANDITS_TOKEN", help="Token with the role admin in the main tenant."
        ),
    ] = None,
    example: Annotated[bool, typer.Option(help="Create a bandit named example.")] = False,
    most_open: Annotated[
        int, typer.Option(help="Maximum number of open decisions of a bandit.")
    ] = 100_000,
    deadline: Annotated[
        str,
        typer.Option(help="Deadline of new bandits that name none, such as 30d or 12h; or none."),
    ] = "30d",
    most_bandits: Annotated[
        int | None, typer.Option(help="Maximum number of bandits of a tenant; no limit by default.")
    ] = None,
    max_loaded: Annotated[int, typer.Option(help="Maximum number of bandits in memory.")] = 1_000,
    keep: Annotated[
        str | None,
        typer.Option(help="Prune decisions older than this, such as 400d; all stay by default."),
    ] = None,
    bandit_metrics: Annotated[
        bool, typer.Option(help="Numbers of every bandit in memory at /metrics.")
    ] = False,
    webhook: Annotated[
        str | None, typer.Option(help="Address that gets a POST when a model is refuted.")
    ] = None,
    rate: Annotated[float, typer.Option(help="Requests per second and token.")] = 10_000.0,
) -> None:
    """Serve decisions over HTTP, and learn from their rewards.

    By default only this machine can reach the service. Any other --host needs a token. The API is
    described at /openapi.json.

    [bold]Examples[/bold]

      globalbandits serve --db shop.db --example

      GLOBALBANDITS_TOKEN=... globalbandits serve --db /data/shop.db --host 0.0.0.0
    """
    from globalbandits._extras import needs_extra
    from globalbandits._validation import as_integer, as_positive
    from globalbandits.cli.arguments import as_seconds
    from globalbandits.errors import ServiceError

    with needs_extra("serve"):
        from globalbandits.service.server import bind, check_reachable, run
        from globalbandits.service.service import ServiceOptions
    from globalbandits.service.stores import open_store

    as_integer("port", port, 0, ServiceError, maximum=65_535)
    as_integer("most-open", most_open, 1, ServiceError)
    if most_bandits is not None:
        as_integer("most-bandits", most_bandits, 1, ServiceError)
    as_integer("max-loaded", max_loaded, 10, ServiceError)
    as_positive("rate", rate, ServiceError)
    options = ServiceOptions(
        token=token,
        most_bandits=most_bandits,
        max_loaded=max_loaded,
        most_open=most_open,
        deadline_seconds=None if deadline == "none" else as_seconds("deadline", deadline),
        keep_seconds=None if keep is None else as_seconds("keep", keep),
        bandit_metrics=bandit_metrics,
        webhook=webhook,
        rate=rate,
        burst=2 * rate,
    )
    store = open_store(db)
    try:
        check_reachable(host, store, options)
        with bind(host, port) as listening:
            if example:
                _create_example(store)
            host, port = listening.getsockname()[:2]
            _print_address(
                str(store.path), host, port, options.token is not None or bool(store.tokens())
            )
            run(store, options, listening)
    finally:
        store.close()


def _create_example(store: "Store") -> None:
    import json

    from globalbandits.service.log import Log

    log = Log(store, compiled=False)
    if "example" not in log.names():
        log.create("example", json.loads(_EXAMPLE))
    log.stop()


def _print_address(db: str, host: str, port: int, tokens: bool) -> None:
    """Print the address of the server and three commands to try."""
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    head = ' -H "Authorization: Bearer $GLOBALBANDITS_TOKEN"' if tokens else ""
    body = " -H 'Content-Type: application/json'"
    bandit = f"{address}/v1/bandits/example"
    lines = [
        f"globalbandits serves {db} at {address}; stop it with Ctrl-C",
        f"  curl -X PUT {bandit}{head}{body} -d '{_EXAMPLE}'",
        f"  curl -X POST {bandit}/decisions{head}",
        f"  curl -X PUT {bandit}/decisions/DECISION_ID/reward{head}{body} -d '{{\"reward\": 0.3}}'",
    ]
    print("\n".join(lines), flush=True)


@token_app.command("create")
def token_create(
    db: TokenDatabase,
    role: Annotated[str, typer.Option(help="read, write or admin.")] = "write",
    tenant: Annotated[str, typer.Option(help="Tenant of the token.")] = "main",
    label: Annotated[str, typer.Option(help="Description of its purpose.")] = "",
) -> None:
    """Create a token and print it once. No server may be using an SQLite file.

    If a server is using it, an administrator can create a token with POST /v1/tokens.

    [bold]Example[/bold]

      globalbandits token create shop.db --role admin
    """
    import time

    from globalbandits.service.stores import open_store
    from globalbandits.service.tokens import new_token

    token, row = new_token(role, tenant, label, time.time_ns() // 1000, None)
    store = open_store(db)
    try:
        with store.transaction() as rows:
            rows.add_token(row)
    finally:
        store.close()
    print(token)


@token_app.command("list")
def token_list(db: TokenDatabase) -> None:
    """List the tokens of all tenants, without their secrets. A server may be running.

    [bold]Example[/bold]

      globalbandits token list shop.db
    """
    from globalbandits.service.log.clock import as_text
    from globalbandits.service.stores import open_store

    store = open_store(db, read_only=True)
    try:
        for row in store.tokens():
            ends = "" if row.expires_at is None else f" until {as_text(row.expires_at)}"
            print(f"{row.id} {row.tenant} {row.role} since {as_text(row.at)}{ends} {row.label}")
    finally:
        store.close()


@token_app.command("revoke")
def token_revoke(
    db: TokenDatabase,
    id: Annotated[str, typer.Argument(metavar="ID", help="Id of the token, see token list.")],
) -> None:
    """Revoke a token. No server may be using an SQLite file.

    If a server is using it, an administrator can revoke a token with DELETE /v1/tokens/ID.

    [bold]Example[/bold]

      globalbandits token revoke shop.db 0123456789ab
    """
    from globalbandits.errors import UnknownError
    from globalbandits.service.stores import open_store

    store = open_store(db)
    try:
        if id not in {row.id for row in store.tokens()}:
            raise UnknownError(f"id must be the id of a token, got {id!r}")
        with store.transaction() as rows:
            rows.drop_token(id)
    finally:
        store.close()
    print(f"{id} is revoked")
