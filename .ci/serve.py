#!/usr/bin/env python3
"""Serve the built pages, to this machine only unless told, and print their address."""

import argparse
import functools
import sys
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PAGES = Path(__file__).resolve().parent.parent / "_build" / "html"


class QuietHandler(SimpleHTTPRequestHandler):
    """Files, without a line in the terminal for each."""

    def log_request(self, code="-", size="-"):
        """Say nothing: only errors are worth a line."""


def main():
    """Serve until interrupted; exit 2 where there is nothing to serve or the port is taken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8000, help="0: any free port")
    parser.add_argument("--host", default="127.0.0.1", help="0.0.0.0: to other machines too")
    arguments = parser.parse_args()
    host, port = arguments.host, arguments.port
    if not (PAGES / "index.html").exists():
        print("serve: no pages in {}; run `make book` first".format(PAGES), file=sys.stderr)
        return 2
    handler = functools.partial(QuietHandler, directory=str(PAGES))
    try:
        server = ThreadingHTTPServer((host, port), handler)
    except (OSError, OverflowError) as error:
        print("serve: port {}: {}; try make serve PORT=8001".format(port, error), file=sys.stderr)
        return 2
    address = "http://{}:{}/".format(host, server.server_port)
    print("the book is at {} (Ctrl-C ends)".format(address), flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
