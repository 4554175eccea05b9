"""The page served on this machine alone, by the standard library."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from backwater.errors import UsageError

#: Nobody else can reach it.
LOOPBACK = "127.0.0.1"
_NAMES = {LOOPBACK, "localhost"}


def server(page: str, port: int = 0) -> ThreadingHTTPServer:
    """A server of this page at ``/``; `port` 0 takes any that is free. Raises UsageError if the port is taken."""
    plain = page.encode()
    packed = gzip.compress(plain, compresslevel=1, mtime=0)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            # A page elsewhere must not read this one by a name of its own that leads here.
            if self.headers.get("Host", "").rpartition(":")[0] not in _NAMES:
                self.send_error(403, "only by the name 127.0.0.1 or localhost")
            elif self.path.partition("?")[0] != "/":
                self.send_error(404, "there is one page here: /")
            else:
                self._send()

        def _send(self) -> None:
            zipped = "gzip" in self.headers.get("Accept-Encoding", "")
            body = packed if zipped else plain
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            if zipped:
                self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing: the terminal is the user's."""

    try:
        return ThreadingHTTPServer((LOOPBACK, port), Handler)
    except (OSError, OverflowError) as error:
        raise UsageError(f"--port {port}: it cannot be used ({error}); leave it out to take one that is free") from None


def serve(page: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve the page until Ctrl-C; `ready` learns its address."""
    with server(page, port) as running:
        ready(f"http://{LOOPBACK}:{running.server_address[1]}/")
        try:
            running.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            return
