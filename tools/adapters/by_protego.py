"""Protego, as Scrapy calls it, for `robosieve bench --external`: URLs on standard input, a verdict a line on standard output.

Usage: by_protego.py ROBOTS AGENT
"""

import sys
from importlib.metadata import version
from pathlib import Path

from protego import Protego

ABOUT = f"Protego {version('Protego')}, Python {sys.version.split()[0]}; robots.txt parsed once, each URL decoded from UTF-8, then can_fetch"


def verdict(policy, url, agent):
    try:
        return b"allow\n" if policy.can_fetch(url.decode(), agent) else b"disallow\n"
    except Exception:  # whatever it stumbles over is no verdict
        return b"error\n"


def main(robots, agent):
    print("about:", ABOUT, file=sys.stderr, flush=True)
    # As Scrapy decodes it.
    policy = Protego.parse(Path(robots).read_bytes().decode("utf-8-sig", errors="ignore"))
    urls = sys.stdin.buffer.read().split(b"\n")[:-1]
    sys.stdout.buffer.write(b"".join(verdict(policy, url, agent) for url in urls))


if __name__ == "__main__":
    main(*sys.argv[1:])
