"""Messages between the grader and its two helpers: a small JSON header and an opaque body.

The other end may be hostile. Nothing is unpickled; a header is at most 64 KiB of JSON, a body is
bytes that this module never looks into, and both lengths are checked before anything is read.
"""

from __future__ import annotations

import json
import select
import socket
import struct
import time
from collections.abc import Mapping
from typing import Any

HEADER_LIMIT = 1 << 16
_LENGTHS = struct.Struct("!II")


class ChannelClosed(ConnectionError):
    """The other end has gone."""


class ChannelTimeout(TimeoutError):
    """No whole message arrived in time."""


class ProtocolError(ValueError):
    """What arrived is no message."""


class Channel:
    """One end of a stream socket that carries whole messages.

    Args:
        sock: a connected stream socket; the channel owns it.
        body_limit: the largest body accepted, in bytes.
    """

    def __init__(self, sock: socket.socket, body_limit: int = 128 << 20) -> None:
        self.sock, self.body_limit = sock, body_limit
        self._buffer = bytearray()

    def fileno(self) -> int:
        """The descriptor, so that ``select`` takes a channel."""
        return self.sock.fileno()

    def close(self) -> None:
        """Close the socket; closing twice is allowed."""
        self.sock.close()

    def send(
        self, header: Mapping[str, Any], body: bytes = b"", deadline: float | None = None
    ) -> None:
        """Send one message.

        Raises:
            ChannelClosed: the other end has gone.
            ChannelTimeout: the other end did not read before ``deadline`` (``time.monotonic``).
            ProtocolError: the header or the body is too large.
        """
        head = json.dumps(header).encode()
        if len(head) > HEADER_LIMIT or len(body) > self.body_limit:
            raise ProtocolError(f"a message of {len(head)} + {len(body)} bytes is too large")
        try:
            if deadline is None:
                self.sock.settimeout(None)
                self.sock.sendall(_LENGTHS.pack(len(head), len(body)) + head + body)
                return
            view = memoryview(_LENGTHS.pack(len(head), len(body)) + head + body)
            while view:
                self.sock.settimeout(max(0.001, deadline - time.monotonic()))
                view = view[self.sock.send(view) :]
        except TimeoutError as error:
            raise ChannelTimeout("the other end did not read in time") from error
        except OSError as error:
            raise ChannelClosed(str(error)) from error

    def pump(self) -> None:
        """Read what is there into the buffer (call it when ``select`` says readable).

        Raises:
            ChannelClosed: the other end has gone.
        """
        try:
            chunk = self.sock.recv(1 << 18)
        except OSError as error:
            raise ChannelClosed(str(error)) from error
        if not chunk:
            raise ChannelClosed("the other end has gone")
        self._buffer += chunk

    def take(self) -> tuple[dict[str, Any], bytes] | None:
        """A whole message from the buffer, or ``None`` if there is none yet.

        Raises:
            ProtocolError: the buffer starts with something else.
        """
        buffer = self._buffer
        if len(buffer) < _LENGTHS.size:
            return None
        head_length, body_length = _LENGTHS.unpack_from(buffer)
        if head_length > HEADER_LIMIT or body_length > self.body_limit:
            raise ProtocolError(f"a message of {head_length} + {body_length} bytes is refused")
        end = _LENGTHS.size + head_length + body_length
        if len(buffer) < end:
            return None
        try:
            header = json.loads(buffer[_LENGTHS.size : _LENGTHS.size + head_length])
        except (ValueError, RecursionError) as error:
            raise ProtocolError("the header is not JSON") from error
        if not isinstance(header, dict):
            raise ProtocolError("the header is not an object")
        body = bytes(buffer[_LENGTHS.size + head_length : end])
        del buffer[:end]
        return header, body

    def receive(self, deadline: float | None = None) -> tuple[dict[str, Any], bytes]:
        """The next message.

        Raises:
            ChannelClosed: the other end has gone.
            ChannelTimeout: the deadline (``time.monotonic``) passed.
            ProtocolError: what arrived is no message.
        """
        while True:
            message = self.take()
            if message is not None:
                return message
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise ChannelTimeout("no message arrived in time")
            if select.select([self.sock], [], [], left)[0]:
                self.pump()
