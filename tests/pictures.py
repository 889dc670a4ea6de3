"""Small images, made byte by byte."""

import struct
import zlib


def png(width=3, height=2, grey=0):
    """A whole PNG of one shade."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = b"".join(b"\0" + bytes([grey]) * width for _ in range(height))
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def gif(width=3, height=2):
    """The beginning of a GIF, as far as it is looked at."""
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\x80\x00\x00" + bytes(6)


def jpeg(width=3, height=2):
    """The beginning of a JPEG: a comment before the frame."""
    comment = b"\xff\xfe" + struct.pack(">H", 6) + b"\xff\xc0ab"
    frame = b"\xff\xc2" + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\x01\x11\x00"
    return b"\xff\xd8" + comment + b"\xff" + frame


def webp(width=3, height=2, kind=b"VP8X"):
    """The beginning of a WebP."""
    data = {
        b"VP8X": bytes(4) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little"),
        b"VP8L": b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14),
        b"VP8 ": b"\x10\x00\x00\x9d\x01\x2a" + struct.pack("<HH", width, height),
    }[kind]
    body = b"WEBP" + kind + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body
