"""The robots.txt rules of every authority, kept on its host."""

from gossamer.config.urlserver import UrlServerSettings
from gossamer.url.parts import host_of
from gossamer.urlserver.authority import Authority
from gossamer.urlserver.host import Host
from gossamer.urlserver.hosts import HostTable
from gossamer.urlserver.pace import Pace
from gossamer.urlserver.robots import (
    RobotsAnswer,
    RobotsRules,
    RobotsState,
    decide,
    ignored,
    reason_to_ignore,
)


class Rulebook:
    """Decides what answers mean and lets Crawl-delay count for the host."""

    def __init__(
        self, settings: UrlServerSettings, agent: str, pace: Pace, hosts: HostTable
    ) -> None:
        self._settings = settings
        self._agent = agent
        self._pace = pace
        self._hosts = hosts

    def find(self, name: str) -> Authority | None:
        """Return an authority (`scheme://host[:port]`, proxy and agent if any) if it is known."""
        host = self._hosts.find(host_of(name.partition(" ")[0]))
        return None if host is None else host.authorities.get(name)

    def open(self, name: str, host: Host) -> Authority:
        """Return an authority of a host, which may be new."""
        authority = host.authorities.get(name)
        if authority is None:
            authority = host.authorities[name] = Authority(name, host)
        return authority

    def set_aside(self, authority: Authority) -> bool:
        """Let everything pass if the operator has set this host's robots.txt aside."""
        reason = reason_to_ignore(self._settings.robots_ignore, authority.host.name)
        if reason is None:
            return False
        authority.rules = ignored(reason)
        return True

    def learn(self, authority: Authority, answer: RobotsAnswer, now: float) -> RobotsRules:
        """Let an answer count from now on."""
        rules = self._decide(authority, answer, authority.rules, now)
        self._keep(authority, rules)
        return rules

    def recall(
        self,
        authority: Authority,
        answer: RobotsAnswer,
        now: float,
        unreachable_since: float | None,
    ) -> None:
        """Let an answer of an earlier run count, given at `now`."""
        earlier = None
        if unreachable_since is not None:
            earlier = RobotsRules(RobotsState.UNREACHABLE, 0.0, unreachable_since=unreachable_since)
        self._keep(authority, self._decide(authority, answer, earlier, now))

    def _decide(
        self,
        authority: Authority,
        answer: RobotsAnswer,
        earlier: RobotsRules | None,
        now: float,
    ) -> RobotsRules:
        agents = (self._agent, authority.agent) if authority.agent else (self._agent,)
        return decide(answer, agents=agents, settings=self._settings, earlier=earlier, now=now)

    def _keep(self, authority: Authority, rules: RobotsRules) -> None:
        before = authority.rules
        if before is not None and before.rules is not None:
            self._hosts.rule_characters -= before.rules.characters
        if rules.rules is not None:
            self._hosts.rule_characters += rules.rules.characters
        authority.rules = rules
        host = authority.host
        known = (each.rules for each in host.authorities.values())
        host.crawl_delay = max((each.crawl_delay for each in known if each), default=0.0)
        host.set_pace(self._pace)
