"""What the scripts ask of Lehr beside the client that is under test; only the standard library."""

import json
import struct
import time
import urllib.request
import zlib

MODELS = {"image": "demo-diffusion", "speech": "demo-whisper", "times_words": True}


class Api:
    def __init__(self, url, key):
        self.url = url
        self.operator_key = key

    def ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.operator_key}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data=data, method=method, headers=headers)
        with urllib.request.urlopen(request) as response:
            return json.loads(response.read() or "null")

    def key(self, **fields):
        """A new key of its own tenant."""
        tenant = f"python-{time.time_ns()}"
        return self.ask("POST", "/v1/keys", {"tenant": tenant, "name": "client", **fields})["key"]

    def fetch(self, link):
        """Fetches a signed link without a key."""
        with urllib.request.urlopen(link) as response:
            return response.read()

    def newest(self):
        return self.ask("GET", "/v1/jobs?limit=1")["data"][0]

    def jobs(self):
        """How many jobs there are."""
        count, path = 0, "/v1/jobs?limit=100"
        while path:
            page = self.ask("GET", path)
            count += len(page["data"])
            cursor = page.get("next_cursor")
            path = f"/v1/jobs?limit=100&cursor={cursor}" if cursor else None
        return count

    def cancel_newest(self):
        """Waits until the newest job runs, and cancels it."""
        give_up_at = time.monotonic() + 60
        while time.monotonic() < give_up_at:
            job = self.newest()
            if job["status"] == "running":
                self.ask("POST", f"/v1/jobs/{job['id']}/cancel")
                return
            time.sleep(0.05)
        raise AssertionError("no job runs")


def png(side, pixel):
    """A square picture; `pixel` returns red, green, blue and opacity at x and y."""

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = b"".join(b"\0" + bytes(v for x in range(side) for v in pixel(x, y)) for y in range(side))
    head = struct.pack(">IIBBBBB", side, side, 8, 6, 0, 0, 0)
    chunks = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def picture_size(png):
    width, height = struct.unpack(">II", png[16:24])
    return f"{width}x{height}"


def pixels(png):
    """The compressed pixels, without the text chunks: these name the job."""
    data, at = b"", 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        data += png[at + 8 : at + 8 + length] if png[at + 4 : at + 8] == b"IDAT" else b""
        at += length + 12
    return data
