"""Google's parser, for `robosieve bench --external`: URLs on standard input, a verdict a line on standard output.

It is google/robotstxt itself, in C++, which jwm.robotstxt wraps. Its interface takes robots.txt with every question and parses it each time.

Usage: by_google.py ROBOTS AGENT
"""

import sys
from importlib.metadata import version
from pathlib import Path

from jwm.robotstxt.googlebot import RobotsMatcher

ABOUT = (
    f"google/robotstxt (C++) through jwm.robotstxt {version('jwm.robotstxt')}, Python {sys.version.split()[0]};"
    " robots.txt parsed anew for each URL, OneAgentAllowedByRobots"
)


def main(robots, agent):
    print("about:", ABOUT, file=sys.stderr, flush=True)
    body, agent = Path(robots).read_bytes(), agent.encode()
    allowed = RobotsMatcher().OneAgentAllowedByRobots
    urls = sys.stdin.buffer.read().split(b"\n")[:-1]
    sys.stdout.buffer.write(b"".join(b"allow\n" if allowed(body, agent, url) else b"disallow\n" for url in urls))


if __name__ == "__main__":
    main(*sys.argv[1:])
