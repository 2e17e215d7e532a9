"""Compares the measured tables with the programs that they were measured on.

The google tables are asked of google/robotstxt itself, the C++ parser, which jwm.robotstxt wraps; the scrapy tables of Protego, with the body
decoded as Scrapy does.
"""

import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

from jwm.robotstxt.googlebot import RobotsMatcher
from protego import Protego

CODECS = {"text": "utf-8", "utf16le": "utf-16-le", "utf16be": "utf-16-be"}


def octets(value):
    """The octets that a text or a table of the format stands for."""
    if isinstance(value, str):
        return value.encode()
    if "parts" in value:
        return b"".join(map(octets, value["parts"]))
    key, = value.keys() - {"times"}
    once = bytes.fromhex(value[key]) if key == "hex" else value[key].encode(CODECS[key])
    return once * value.get("times", 1)


def by_google(body, agent, url):
    matcher = RobotsMatcher()
    allows = matcher.AllowedByRobots(body, [agent.encode()], url)
    return "allow" if allows else "disallow", matcher.matching_line()


def by_scrapy(body, agent, url):
    # Scrapy hands over the body as `body.decode("utf-8-sig", errors="ignore")`. Protego tells no lines.
    allows = Protego.parse(body.decode("utf-8-sig", errors="ignore")).can_fetch(url.decode(), agent)
    return "allow" if allows else "disallow", None


PROGRAMS = {
    "google": (by_google, f"measured: google/robotstxt, through jwm.robotstxt {version('jwm.robotstxt')}"),
    "scrapy": (by_scrapy, f"measured: Protego {version('Protego')}"),
}


def differences(case, ask, authority):
    """What the program says otherwise, one text a check."""
    if case["authority"] != authority:
        yield f"the authority is {case['authority']!r}, asked was {authority!r}"
    body = octets(case["robots"]) if "robots" in case else octets({"parts": case["robots_parts"]})
    for agent, url, verdict, *line in case["checks"]:
        measured, measured_line = ask(body, agent, octets(url))
        if measured != verdict or (line and measured_line is not None and measured_line != line[0]):
            yield f"{agent} on {str(url)[:200]}: measured {measured} by line {measured_line}, the table says {[verdict, *line]}"


def main(root):
    checks = wrong = 0
    for folder, (ask, authority) in PROGRAMS.items():
        for path in sorted(Path(root, folder).glob("*.toml")):
            for case in tomllib.loads(path.read_text())["case"]:
                if not case.get("measurable", True):
                    continue
                checks += len(case["checks"])
                for difference in differences(case, ask, authority):
                    wrong += 1
                    print(f"{folder}/{path.name} {case['id']}: {difference}")
    print(f"{checks} checks measured, {wrong} differences")
    return 1 if wrong or not checks else 0


sys.exit(main(*sys.argv[1:]))
