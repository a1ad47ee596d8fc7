"""dc-client and gossamer.Service: every command, exit codes, several nodes, keys."""

import asyncio
import json
import shlex
import socket
import stat
import subprocess
import sys

import pytest
from service_rig import BIN, EXAMPLES, Daemon, item_of, program, write_ini

import gossamer as library
from gossamer.daemons.endpoints import Endpoint
from gossamer.errors import ConfigError, InputError, ServiceError
from gossamer.objects.answers import GeneralResponse
from gossamer.objects.batch import Batch, BatchItem
from gossamer.objects.coding import decode, encode
from gossamer.objects.content import URLContentRequest
from gossamer.objects.enumerations import Operation, ResponseError, SiteState
from gossamer.objects.operations import FORMS
from gossamer.objects.site import Site, SiteDelete, SiteFind, SiteStatus, SiteUpdate
from gossamer.objects.url import URL, URLStatus
from gossamer.service import calling, client
from gossamer.service.curve import client_keys, make_keys
from gossamer.service.envelope import AdminRequest
from gossamer.service.exchange import compact
from gossamer.service.names import CLIENT_COMMANDS, OTHER_NAMES

SITE = "https://example.org/"


# As somebody would try them: what a sample is about is there when its turn comes.
LAST = ("URL_CLEANUP", "URL_DELETE", "SITE_CLEANUP", "SITE_DELETE")
IN_ORDER = (*(name for name in CLIENT_COMMANDS if name not in LAST), *LAST)


def example_of(operation: Operation):
    return EXAMPLES / f"{operation.name.lower().replace('_', '-')}.json"


def test_there_is_a_sample_for_every_command():
    files = {path.name for path in EXAMPLES.glob("*.json")}
    assert files == {example_of(operation).name for operation in FORMS}
    assert set(CLIENT_COMMANDS) == {operation.name for operation in FORMS} | set(OTHER_NAMES)


@pytest.mark.req("S3.8", "S3.13", "S3.42", "S3.184", "S3.185")
def test_the_sample_of_every_command_is_answered(sampled):
    """One test for all of them: the later ones are about what the earlier ones made."""
    for command in IN_ORDER:
        check_sample(sampled, command)


def check_sample(sampled: Daemon, command: str) -> None:
    operation = OTHER_NAMES.get(command) or Operation[command]
    done = program(
        *("dc-client", "-cmd", command, "-f", example_of(operation)),
        *("--config", sampled.client_config),
        cwd=sampled.folder,
    )
    assert done.returncode == 0, (command, done.stderr)
    answer = json.loads(done.stdout)
    assert list(answer) == ["errorCode", "errorMessage", "itemsList"]
    (item,) = answer["itemsList"]
    assert sorted(item) == [
        *("errorCode", "errorMessage", "host", "id", "itemObject", "node", "port", "time"),
    ]
    assert (item["host"], item["port"]) == (sampled.client.host, sampled.client.port)
    assert isinstance(item["itemObject"], list) == FORMS[operation].answers_list
    if FORMS[operation].answer is GeneralResponse:
        assert item["itemObject"]["errorCode"] == 0, (command, item)
    # Sorted keys, indented by four.
    assert done.stdout == json.dumps(answer, indent=4, sort_keys=True, ensure_ascii=False) + "\n"


def shell_words(daemon: Daemon, words: tuple[str, ...]) -> str:
    """Return a program with its arguments as a shell takes them."""
    name, *rest = words
    return shlex.join([str(BIN / name), *rest, "--config", str(daemon.client_config)])


def in_shell(daemon: Daemon, line: str):
    return subprocess.run(
        ["bash", "-c", line],
        capture_output=True,
        encoding="utf-8",
        cwd=daemon.folder,
        timeout=60,
        check=False,
    )


def call(daemon: Daemon, *words: object):
    return program("dc-client", "--config", daemon.client_config, *words, cwd=daemon.folder)


@pytest.mark.req("S3.186")
def test_fields_on_top_of_a_file_and_alone(shared):
    file = example_of(Operation.SITE_NEW)
    words = ("--command", "SITE_NEW", "--file", file)
    assert call(shared, *words, "--fields", '{"id": "f1", "priority": 7}').returncode == 0
    site = item_of(shared.call("SITE_STATUS", {"id": "f1"}))
    assert site["priority"] == 7
    assert site["urls"] == [SITE]
    done = call(shared, "-cmd", "SITE_STATUS", "-ff", '{"id": "f1"}')
    assert item_of(json.loads(done.stdout))["id"] == "f1"
    more = '{"id": "f2", "urls": ["https://example.org/more"]}'
    assert call(shared, *words, "--fields", more, "--mode", "2").returncode == 0
    site = item_of(shared.call("SITE_STATUS", {"id": "f2"}))
    assert site["urls"] == [SITE, "https://example.org/more"]


def test_values_from_files(shared):
    (shared.folder / "words.txt").write_text("from a file")
    (shared.folder / "site.json").write_text(
        json.dumps({"id": "f3", "urls": [SITE], "description": "file:words.txt"})
    )
    assert call(shared, "--command", "SITE_NEW", "--file", "site.json").returncode == 0
    assert item_of(shared.call("SITE_STATUS", {"id": "f3"}))["description"] == "from a file"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (1, ["--command", "SITE_NEW", "--file", "missing.json"]),
        (1, ["--command", "SITE_NEW", "--file", "bad.json"]),
        (1, ["--command", "SITE_NEW", "--fields", "{"]),
        (1, ["--command", "SITE_NEW", "--fields", '{"id": "file:missing"}']),
        (1, ["--command", "SITE_FIND", "--fields", "{}", "--config", "missing.ini"]),
        (1, ["--command", "SITE_FIND", "--fields", "{}", "-o", "no/such/folder"]),
        (1, ["--command", "SITE_STATUS", "--fields", '{"id": "fault"}']),
        (2, ["--command", "SITE_FIND", "--fields", "{}", "--dcc_timeout", "0"]),
        (2, ["--command", "SITE_NEW"]),
        (2, ["--command", "NOPE", "--fields", "{}"]),
        (2, ["--fields", "{}"]),
        (2, ["--command", "SITE_NEW", "--fields", "[]"]),
        (2, ["--command", "SITE_FIND", "--fields", "{}", "--config", "wrong.ini"]),
        (2, ["--command", "SITE_FIND", "--fields", "{}", "--merge", "maybe"]),
        (2, ["--command", "SITE_FIND", "--fields", "{}", "--mode", "3"]),
        (2, ["--command", "SITE_FIND", "--fields", "{}", "--dcc_clientHost", "a b"]),
        (4, ["--command", "SITE_NEW", "--fields", '{"nope": 1}']),
        (4, ["--command", "SITE_NEW", "--fields", '{"id": 1, "state": "x"}']),
        (5, ["--command", "SITE_FIND", "--fields", "{}", "--config", "keys.ini"]),
    ],
)
def test_exit_codes_of_the_client(shared, code, words):
    (shared.folder / "bad.json").write_text("{")
    write_ini(shared.folder / "wrong.ini", {"Client": {"timeout_seconds": "soon"}})
    keys = {"curve_secret_key_file": "none", "curve_server_key_file": "none"}
    write_ini(shared.folder / "keys.ini", {"Client": keys})
    done = call(shared, *words)
    assert done.returncode == code, (done.stdout, done.stderr)
    assert done.stderr.startswith("dc-client: ")
    assert "Traceback" not in done.stderr


@pytest.mark.req("S3.183")
def test_without_configuration_the_flags_say_where(shared, tmp_path):
    words = ("dc-client", "--command", "SITE_FIND", "--fields", "{}")
    missing = program(*words, cwd=tmp_path)
    assert missing.returncode == 1
    assert "dc-client.ini" in missing.stderr
    host = ("--dcc_clientHost", "127.0.0.1", "--dcc_clientPort", shared.client.port)
    assert program(*words, *host, cwd=tmp_path).returncode == 0
    write_ini(tmp_path / "dc-client.ini", {"Client": {"hosts": str(shared.client)}})
    assert program(*words, cwd=tmp_path).returncode == 0


@pytest.mark.req("S3.184")
def test_an_operation_that_is_refused_is_answered_and_complained_of(shared):
    words = ("--command", "SITE_NEW", "--fields", json.dumps({"id": "f5", "urls": [SITE]}))
    assert call(shared, *words).returncode == 0
    again = call(shared, *words)
    assert again.returncode == 1
    assert item_of(json.loads(again.stdout))["errorCode"] == 2020
    assert again.stderr == "dc-client: duplicate site\n"


@pytest.mark.req("S3.183")
def test_a_port_of_the_flags_wins_over_those_of_the_configuration(shared, tmp_path):
    nobody = "127.0.0.1:9, 127.0.0.1:10"
    write_ini(tmp_path / "dc-client.ini", {"Client": {"hosts": nobody}})
    words = ("--command", "SITE_FIND", "--fields", "{}", "--dcc_clientPort", shared.client.port)
    done = program("dc-client", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["itemsList"]) == 1


@pytest.mark.parametrize(
    "words",
    [
        ("dc-client", "--command", "SITE_FIND", "--fields", "{}", "--dcc_clientHost", "[::1]:0"),
        ("dc-admin", "--cmd", "STAT", "--host", "127.0.0.1:0"),
    ],
)
def test_a_port_on_which_nobody_listens_is_a_wrong_argument(tmp_path, words):
    done = program(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert "1 to 65535" in done.stderr


PROGRAMS = [
    ("dc-client", "--command", "SITE_FIND", "--fields", "{}"),
    ("dc-admin", "--cmd", "STAT"),
]


@pytest.mark.req("S3.184", "S3.192")
@pytest.mark.parametrize("words", PROGRAMS)
def test_an_answer_that_nobody_reads_ends_quietly(shared, words):
    done = in_shell(shared, f"{shell_words(shared, words)} | true; exit ${{PIPESTATUS[0]}}")
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.req("S3.184", "S3.192")
@pytest.mark.parametrize("words", PROGRAMS)
def test_an_answer_for_which_there_is_no_room_is_one_complaint(shared, words):
    done = in_shell(shared, f"exec {shell_words(shared, words)} > /dev/full")
    assert done.returncode == 1
    assert done.stderr == f"{words[0]}: cannot write the answer: No space left on device\n"


@pytest.mark.req("S3.184")
def test_an_answer_is_utf8_whatever_the_terminal_knows(shared):
    site = json.dumps({"id": "f4", "urls": [SITE], "description": "Grüße"})
    assert call(shared, "--command", "SITE_NEW", "--fields", site).returncode == 0
    words = ("dc-client", "--command", "SITE_STATUS", "--fields", '{"id": "f4"}')
    done = in_shell(shared, f"PYTHONIOENCODING=ascii {shell_words(shared, words)}")
    assert json.loads(done.stdout)["itemsList"][0]["itemObject"]["description"] == "Grüße"


@pytest.mark.parametrize("order", [None, "", " ", "nonsense ((", "URL ASC"])
def test_a_fetch_with_any_order_is_answered(shared, order):
    fetch = {"urlsCriterions": {"ORDER BY": order, "LIMIT": 1}}
    assert isinstance(item_of(shared.call("URL_FETCH", [fetch])), list)


def test_nobody_at_the_other_end(tmp_path):
    words = ("--command", "SITE_FIND", "--fields", "{}", "--dcc_timeout", "0.2")
    host = ("--dcc_clientHost", "127.0.0.1:9")
    done = program("dc-client", *words, *host, cwd=tmp_path)
    assert done.returncode == 1
    answer = json.loads(done.stdout)
    assert (answer["errorCode"], answer["itemsList"]) == (1, [])
    assert "127.0.0.1:9" in answer["errorMessage"]


def test_answers_and_complaints_can_go_to_files(shared):
    done = call(shared, *("--command", "SITE_FIND", "--fields", "{}", "-o", "out.json", "-v"))
    assert (done.returncode, done.stdout) == (0, "")
    assert json.loads((shared.folder / "out.json").read_text())["errorCode"] == 0
    assert f"asks {shared.client} for SITE_FIND" in done.stderr
    done = call(shared, *("--command", "SITE_NEW", "--file", "missing.json", "-e", "errors.txt"))
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
    assert "missing.json" in (shared.folder / "errors.txt").read_text()


@pytest.mark.parametrize("operation", FORMS)
def test_a_request_without_its_defaults_means_the_same(operation):
    """What the client leaves out, the service puts back."""
    payload = decode(operation, example_of(operation).read_bytes())
    short = encode(compact(payload))
    assert decode(operation, short) == payload
    assert len(short) <= len(encode(payload))


def test_many_urls_make_a_short_request():
    urls = [URL(url=f"{SITE}{number}") for number in range(1000)]
    assert len(encode(compact(urls))) < 50 * 1000


@pytest.mark.req("S3.187")
def test_three_nodes_answer_as_one_or_each(tmp_path):
    with (
        Daemon(tmp_path / "a", Application={"name": "a"}) as a,
        Daemon(tmp_path / "b", Application={"name": "b"}) as b,
        Daemon(tmp_path / "c", Application={"name": "c"}) as c,
    ):
        hosts = ",".join(str(daemon.client) for daemon in (a, b, c))
        config = write_ini(tmp_path / "all.ini", {"Client": {"hosts": hosts}})

        def ask(command: str, fields: str, *words: str, code: int = 0):
            given = ("--command", command, "--fields", fields, "--config", config, *words)
            done = program("dc-client", *given, cwd=tmp_path)
            assert done.returncode == code, (done.stdout, done.stderr)
            return json.loads(done.stdout)

        site = {"id": "1", "urls": [SITE], "maxURLs": 100, "maxErrors": 1, "errors": 5}
        new = ask("SITE_NEW", json.dumps(site))
        (item,) = new["itemsList"]
        assert item["node"] == "a;b;c"
        assert item["errorCode"] == "0;0;0"
        assert item["itemObject"]["statuses"] == [0, 0, 0]

        each = ask("SITE_STATUS", '{"id": "1"}', "--merge", "0")
        assert [item["node"] for item in each["itemsList"]] == ["a", "b", "c"]
        # Divided among the nodes, rounded up, at least 1.
        assert [item["itemObject"]["maxURLs"] for item in each["itemsList"]] == [34, 34, 34]
        assert [item["itemObject"]["maxErrors"] for item in each["itemsList"]] == [1, 1, 1]
        for words in ((), ("--merge", "1"), ("--merge", "true"), ("--merge", "7")):
            (item,) = ask("SITE_STATUS", '{"id": "1"}', *words)["itemsList"]
            assert item["itemObject"]["errors"] == 15
            assert item["itemObject"]["maxURLs"] == 102

        for number, daemon in enumerate((a, b, c)):
            urls = [{"url": f"{SITE}{number}"}, {"url": f"{SITE}all", "crawled": number}]
            daemon.call("URL_NEW", urls)
        fetch = '{"urlsCriterions": {"ORDER BY": "URL DESC"}}'
        (item,) = ask("URL_FETCH", fetch)["itemsList"]
        found = [url["url"] for url in item["itemObject"]]
        assert found == [f"{SITE}{name}" for name in ("all", "2", "1", "0")]
        each = ask("URL_FETCH", fetch, "--merge", "false")
        assert [len(item["itemObject"]) for item in each["itemsList"]] == [2, 2, 2]

        assert c.terminate() == 0
        # The time that the others have, too.
        gone = ask("SITE_STATUS", '{"id": "1"}', "--dcc_timeout", "10", code=1)
        (item,) = gone["itemsList"]
        assert item["errorCode"] == "0;0;2"
        assert item["itemObject"]["errors"] == 10


def test_keys_let_in_those_who_are_known_and_nobody_else(tmp_path):
    keys = tmp_path / "keys"
    make_keys(keys, "server")
    make_keys(keys, "stranger")
    make_keys(keys, "impostor")
    make_keys(keys, "alice")
    (keys / "clients").mkdir()
    (keys / "clients" / "alice.key").write_bytes((keys / "alice.key").read_bytes())
    server = {"curve_secret_key_file": "../keys/server.key_secret"}
    server["curve_clients_dir"] = "../keys/clients"
    with Daemon(tmp_path / "a", Server=server) as daemon:

        def ask(program_name: str, own: str | None, expected: str = "server") -> int:
            client = {"hosts": str(daemon.client), "admin_host": str(daemon.admin)}
            if own:
                client["curve_secret_key_file"] = f"keys/{own}.key_secret"
                client["curve_server_key_file"] = f"keys/{expected}.key"
            config = write_ini(tmp_path / "client.ini", {"Client": client})
            words = {
                "dc-client": ("--command", "SITE_FIND", "--fields", "{}", "--dcc_timeout"),
                "dc-admin": ("--cmd", "STAT", "--timeout"),
            }[program_name]
            seconds = "30" if (own, expected) == ("alice", "server") else "0.5"
            done = program(program_name, *words, seconds, "--config", config, cwd=tmp_path)
            return done.returncode

        for name in ("dc-client", "dc-admin"):
            assert ask(name, "alice") == 0
            assert ask(name, "stranger") == 1
            assert ask(name, None) == 1
            assert ask(name, "alice", "impostor") == 1

        async def talk(own: str) -> list[Site]:
            node = f"tcp://{daemon.client}"
            seconds = 30 if own == "alice" else 0.5
            async with library.Service(
                node,
                keys=client_keys(keys / f"{own}.key_secret", keys / "server.key"),
                timeout_seconds=seconds,
            ) as dc:
                return await dc.site_find(SiteFind())

        assert asyncio.run(talk("alice")) == []
        with pytest.raises(ServiceError, match="TIMEOUT"):
            asyncio.run(talk("stranger"))
        assert daemon.terminate() == 0
        assert "unknown key was turned away" in daemon.log


def test_where_nobody_listens_an_answer_is_not_waited_for(monkeypatch):
    """However long an answer may take: the time it has is never used up here."""
    monkeypatch.setattr(calling, "CONNECT_SECONDS", 0.1)
    monkeypatch.setattr(client, "CONNECT_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent, socket.socket() as closed:
        # One takes connections and never says a word, the other takes none.
        closed.bind(("127.0.0.1", 0))
        for port in (silent.getsockname()[1], closed.getsockname()[1]):
            node = Endpoint("127.0.0.1", port)
            told = calling.call([node], Operation.SITE_FIND, SiteFind(), timeout_seconds=3_600)
            assert told.error_code == ResponseError.NO_ANSWER
            assert f"127.0.0.1:{port}; see that dc-daemon runs there" in told.error_message
            with pytest.raises(ServiceError, match="see that dc-daemon runs there"):
                calling.ask(node, AdminRequest("STAT"), timeout_seconds=3_600)

            async def talk(node: Endpoint) -> None:
                async with library.Service(str(node), timeout_seconds=3_600) as dc:
                    await dc.site_find(SiteFind())

            with pytest.raises(ServiceError, match="see that dc-daemon runs there"):
                asyncio.run(talk(node))


def test_keys_are_for_their_owner_alone(tmp_path, gossamer):
    gossamer("service", "keys", "bob", "--folder", tmp_path / "k")
    for name in ("bob.key", "bob.key_secret"):
        assert stat.S_IMODE((tmp_path / "k" / name).stat().st_mode) & 0o077 == 0
    for name in ("bob", "../bob", "", ".hidden", "a/b"):
        with pytest.raises(InputError):
            make_keys(tmp_path / "k", name)


def test_a_server_with_keys_for_nobody_does_not_start(tmp_path):
    make_keys(tmp_path, "server")
    (tmp_path / "empty").mkdir()
    for name, clients in (("server.key_secret", "empty"), ("server.key", "."), ("gone", ".")):
        server = {"curve_secret_key_file": name, "curve_clients_dir": clients}
        config = write_ini(
            tmp_path / "a.ini",
            {"Application": {"operations": "toy_operations:open_operations"}, "Server": server},
        )
        done = program("dc-daemon", "-c", config, cwd=tmp_path)
        assert done.returncode == 1
        assert done.stderr.startswith("dc-daemon: ")


@pytest.mark.parametrize("key", ["short", "~" * 40, "#" * 40])
def test_what_is_no_key_is_refused_before_anything_starts(tmp_path, key):
    make_keys(tmp_path, "server")
    make_keys(tmp_path / "clients", "alice")
    (tmp_path / "clients" / "bob.key").write_text(f'metadata\ncurve\n    public-key = "{key}"\n')
    with pytest.raises(ConfigError, match=r"bob.key: 40 characters of Z85"):
        client_keys(tmp_path / "server.key_secret", tmp_path / "clients" / "bob.key")
    server = {"curve_secret_key_file": "server.key_secret", "curve_clients_dir": "clients"}
    config = write_ini(tmp_path / "a.ini", {"Server": server})
    done = program("dc-daemon", "-c", config, cwd=tmp_path)
    assert done.returncode == 1
    assert "bob.key" in done.stderr
    assert not (tmp_path / "data").exists()


@pytest.mark.req("S3.29", "S3.133")
def test_a_site_that_is_not_there_is_an_error_with_a_message(shared):
    answer = shared.call("SITE_STATUS", {"id": "no"}, code=1)
    (item,) = answer["itemsList"]
    assert (item["errorCode"], item["errorMessage"]) == (2, "site id not found: no")
    assert (item["itemObject"]["id"], item["itemObject"]["state"]) == ("no", SiteState.NOT_FOUND)


def test_the_python_client_is_typed_and_may_call_side_by_side(shared):
    async def talk() -> None:
        async with library.Service(f"tcp://{shared.client}") as dc:
            made = await dc.site_new(Site(id="py", urls=[SITE]))
            assert made.error_code == 0
            again = await dc.site_new(Site(id="py", urls=[SITE]))
            assert again.error_code == 2020
            await dc.site_update(SiteUpdate(id="py", description="words"))
            assert (await dc.site_status(SiteStatus(id="py"))).description == "words"
            assert (await dc.site_status(SiteStatus(id="no"))).state is SiteState.NOT_FOUND
            assert "py" in [site.id for site in await dc.site_find(SiteFind(url=SITE))]
            urls = [URL(url=f"{SITE}py{number}") for number in range(20)]
            assert (await dc.url_new(urls)).statuses == [0] * 20
            found = await asyncio.gather(*(dc.url_status([URLStatus(url=url.url)]) for url in urls))
            assert [url.url for (url,) in found] == [url.url for url in urls]
            (content,) = await dc.url_content([URLContentRequest(url=SITE)])
            assert content.raw_contents
            (content,) = await dc.batch(Batch(items=[BatchItem(url_id="abc")]))
            assert content.url_md5 == "abc"
            with pytest.raises(ServiceError, match="the disk is full"):
                await dc.site_status(SiteStatus(id="fault"))
            assert (await dc.site_delete([SiteDelete(id="py")])).statuses == [True]

    asyncio.run(talk())


def test_more_calls_than_there_are_sockets_wait_for_their_turn(shared):
    async def talk() -> list[Site]:
        async with library.Service(f"tcp://{shared.client}") as dc:
            status = SiteStatus(id="nobody")
            return await asyncio.gather(*(dc.site_status(status) for _ in range(600)))

    assert {site.state for site in asyncio.run(talk())} == {SiteState.NOT_FOUND}


def test_a_call_that_is_given_up_does_not_disturb_the_next(shared):
    async def talk() -> None:
        async with library.Service(f"tcp://{shared.client}") as dc:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await dc.site_status(SiteStatus(id="sleep0_3"))
            assert (await dc.site_status(SiteStatus(id="other"))).id == "other"
        with pytest.raises(ServiceError, match="not open"):
            await dc.site_status(SiteStatus(id="other"))

    asyncio.run(talk())


WITHOUT_ZMQ = "import sys; sys.modules['zmq'] = None; "
PROGRAMS = "from gossamer.cli import service_programs; sys.exit(service_programs"
AT = "--dcc_clientHost 127.0.0.1"


@pytest.mark.parametrize(
    ("program_text", "code"),
    [
        ("import gossamer.cli.main as m; sys.exit(m.main(['service', '--help']))", 0),
        ("import gossamer; gossamer.crawl", 0),
        (f"{PROGRAMS}.client('--command SITE_FIND --fields {{}} {AT}'.split()))", 5),
        (f"{PROGRAMS}.admin('--cmd STAT --host 127.0.0.1:1'.split()))", 5),
        (f"open('a.ini', 'w').close(); {PROGRAMS}.daemon('-c a.ini'.split()))", 1),
        ("import gossamer; gossamer.Service", 1),
    ],
)
def test_without_pyzmq_one_message_says_what_to_install(tmp_path, program_text, code):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_ZMQ + program_text],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=60,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert ("pip install 'gossamer[service]'" in done.stderr) == (code != 0)
