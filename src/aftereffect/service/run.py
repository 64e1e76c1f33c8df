"""`aftereffect serve`: a store over HTTP in one process, on loopback unless told how it is protected elsewhere."""

from __future__ import annotations

import ipaddress
import logging
import os
import sys
from contextlib import closing
from dataclasses import dataclass

from aftereffect.errors import AftereffectError

PORT = 8337
GRACE = 10  # seconds for requests under way when the service is stopped


@dataclass(frozen=True)
class Binding:
    """Where to listen, and what protects it."""

    host: str = "127.0.0.1"
    port: int = PORT
    certificate: str | None = None
    key: str | None = None
    behind_proxy: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise AftereffectError(f"--port must lie in 0..65535, got {self.port}")
        if (self.certificate is None) != (self.key is None):
            raise AftereffectError("--tls-cert and --tls-key go together")
        for option, path in (("--tls-cert", self.certificate), ("--tls-key", self.key)):
            if path is not None and not os.access(path, os.R_OK):
                raise AftereffectError(f"{option}: {path!r} cannot be read")
        if not self.loopback and self.certificate is None and not self.behind_proxy:
            raise AftereffectError(
                f"--host {self.host} is beyond loopback: give --tls-cert and --tls-key, or --behind-proxy if a proxy "
                "encrypts what comes in"
            )

    @property
    def loopback(self) -> bool:
        """Whether nobody but this machine can connect."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def secure(self) -> bool:
        """Whether browsers see HTTPS."""
        return self.certificate is not None or self.behind_proxy

    @property
    def url(self) -> str:
        """Where a browser finds it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.certificate else 'http'}://{host}:{self.port}"


def serve(url: str | None, binding: Binding, quiet: bool = False) -> None:
    """Serve a store until the process is told to stop; requests under way are finished first."""
    import uvicorn

    from aftereffect.programs.store import open_store
    from aftereffect.service.app import build_app

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING if quiet else logging.INFO, format="%(message)s")
    with closing(open_store(url)) as store:
        config = uvicorn.Config(
            build_app(store, secure=binding.secure),
            host=binding.host,
            port=binding.port,
            ssl_certfile=binding.certificate,
            ssl_keyfile=binding.key,
            access_log=False,
            log_level="warning",
            proxy_headers=binding.behind_proxy,
            server_header=False,
            timeout_graceful_shutdown=GRACE,
            backlog=256,
        )
        server = uvicorn.Server(config)
        print(f"Aftereffect serves {store.database} at {binding.url} (Ctrl-C stops it)", file=sys.stderr, flush=True)
        server.run()
        if not server.started:
            raise AftereffectError(f"cannot listen on {binding.host} port {binding.port}: is it in use?")
