"""Answers for a peer in Python: jobs on standard input, one octet a verdict on standard output.

A job is a robots.txt, agents and URLs. Numbers are 32 bits, little endian, and stand before what they count in octets: the body, then all agents, then all
URLs; within the latter two each item again has its length before it. The answer holds A (allow), D (disallow), E (an exception) or ? (it can not be asked),
agent by agent, URL by URL.
"""

import struct
import sys


def read_part(stream):
    prefix = stream.read(4)
    if len(prefix) < 4:
        return None
    return stream.read(struct.unpack("<I", prefix)[0])


def split(part):
    items, at = [], 0
    while at < len(part):
        (length,) = struct.unpack_from("<I", part, at)
        items.append(part[at + 4 : at + 4 + length])
        at += 4 + length
    return items


def text(octets):
    try:
        return octets.decode("utf-8")
    except UnicodeDecodeError:
        return None


def protego():
    from protego import Protego

    def verdict(robots, url, agent):
        if url is None:
            return b"?"
        try:
            return b"A" if robots.can_fetch(url, agent) else b"D"
        except Exception:
            return b"E"

    def answer(body, agents, urls):
        # As Scrapy decodes it.
        robots = Protego.parse(body.decode("utf-8-sig", errors="ignore"))
        urls = [text(url) for url in urls]
        return b"".join(verdict(robots, url, agent.decode()) for agent in agents for url in urls)

    return answer


def google():
    from jwm.robotstxt.googlebot import RobotsMatcher

    matcher = RobotsMatcher()

    def answer(body, agents, urls):
        allowed = matcher.OneAgentAllowedByRobots
        return b"".join(b"A" if allowed(body, agent, url) else b"D" for agent in agents for url in urls)

    return answer


def main(peer):
    answer = {"protego": protego, "google": google}[peer]()
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    while (body := read_part(stdin)) is not None:
        agents, urls = split(read_part(stdin)), split(read_part(stdin))
        stdout.write(answer(body, agents, urls))
        stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
