"""`neelc lsp` as a real process, spoken to over its standard input and output."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from language_client import Client, client

URI = "file:///nowhere/script.neel"
STREAM = "CREATE STREAM s (ts BIGINT, x INT, k STRING) TIMESTAMP BY ts TYPE BY k;\n"
DOCUMENT = {"uri": URI}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with client(tmp_path_factory.mktemp("work"), "--stdio") as found:
        yield found
        assert found.end() == 0


VERSIONS = iter(range(2, 1_000_000))


def opened(server: Client, text: str) -> list[dict[str, Any]]:
    """Open the document; gives its diagnostics."""
    server.notify(
        "textDocument/didOpen", textDocument={**DOCUMENT, "languageId": "neel", "version": 1, "text": text}
    )
    return diagnostics(server, 1)


def changed(server: Client, *texts: str) -> list[dict[str, Any]]:
    """Type; gives the diagnostics of the last text."""
    for text in texts:
        version = next(VERSIONS)
        server.notify(
            "textDocument/didChange",
            textDocument={**DOCUMENT, "version": version},
            contentChanges=[{"text": text}],
        )
    return diagnostics(server, version)


def diagnostics(server: Client, version: int) -> list[dict[str, Any]]:
    while (notification := server.notification("textDocument/publishDiagnostics")).get("version") != version:
        pass
    found: list[dict[str, Any]] = notification["diagnostics"]
    return found


def at(line: int, character: int) -> dict[str, Any]:
    return {"textDocument": DOCUMENT, "position": {"line": line, "character": character}}


def test_the_server_says_what_it_can_do(server: Client) -> None:
    can = server.greeting["capabilities"]
    assert can["positionEncoding"] == "utf-16"
    assert can["textDocumentSync"]["change"] == 1
    for name in ("hover", "completion", "definition", "documentSymbol", "documentFormatting"):
        assert can[f"{name}Provider"]


def test_a_session(server: Client) -> None:
    [wrong] = opened(server, STREAM + "PATTERN SEQ(A a, B b) WHERE a.k = '🐍' AND b.y > 1 WITHIN 5 SECONDS")
    assert (wrong["code"], wrong["severity"], wrong["source"]) == ("NEEL2003", 1, "neelc")
    assert wrong["message"] == "`b` has no attribute `y`\nhint: attributes of b: ts, x, k"
    # The snake takes two units of UTF-16.
    assert wrong["range"] == {"start": {"line": 1, "character": 45}, "end": {"line": 1, "character": 46}}

    assert (
        changed(server, STREAM + "PATTERN SEQ(A a, B", STREAM + "PATTERN SEQ(A a, B b) WITHIN 5 SECONDS")
        == []
    )
    hover = server.ask("textDocument/hover", **at(1, 14))
    assert hover["contents"]["value"].startswith("`a`: one event of type `A`")
    assert hover["range"]["start"] == {"line": 1, "character": 14}
    assert server.ask("textDocument/hover", **at(9, 9)) is None

    text = "PATTERN SEQ(A a, B b) WHERE b."
    changed(server, STREAM + text)
    items = server.ask("textDocument/completion", **at(1, len(text)))["items"]
    assert [item["label"] for item in items] == ["ts", "x", "k", "te"]
    assert items[1]["detail"] == "INT"
    place = server.ask("textDocument/definition", **at(1, text.index("b.")))
    assert place["range"]["start"] == {"line": 1, "character": text.index("b)")}

    changed(server, STREAM + "PATTERN A a WITHIN 5 MS")
    place = {"line": 1, "character": 22}
    where = {
        "textDocument": DOCUMENT,
        "range": {"start": place, "end": place},
        "context": {"diagnostics": []},
    }
    [action] = server.ask("textDocument/codeAction", **where)
    assert (action["title"], action["kind"]) == ("write MILLISECONDS", "quickfix")
    assert action["edit"]["changes"][URI][0]["newText"] == "MILLISECONDS"
    changed(server, STREAM + text)

    options = {"tabSize": 2, "insertSpaces": True}
    assert server.ask("textDocument/formatting", textDocument=DOCUMENT, options=options) is None
    changed(server, "pattern seq(A a,\r\nB b)")
    [edit] = server.ask("textDocument/formatting", textDocument=DOCUMENT, options=options)
    assert edit["newText"] == "PATTERN SEQ(A a, B b);\n"
    assert edit["range"] == {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 4}}
    [symbol] = server.ask("textDocument/documentSymbol", textDocument=DOCUMENT)
    assert symbol["name"] == "pattern seq(A a, B b)"

    server.notify("textDocument/didClose", textDocument=DOCUMENT)
    assert server.notification("textDocument/publishDiagnostics")["diagnostics"] == []


def test_select_and_match_recognize_are_judged(server: Client) -> None:
    [wrong] = opened(server, STREAM + "SELECT y FROM s WINDOW(TIME 5 MINUTES);")
    assert wrong["code"] == "NEEL2003"
    clause = "MATCH_RECOGNIZE (ORDER BY ts MEASURES U.y AS y PATTERN (U V) DEFINE V AS V.x > U.x)"
    [wrong] = changed(server, STREAM + f"SELECT * FROM s {clause} AS m JOIN t ON 1 = 1;")
    assert wrong["code"] == "NEEL2003"
    [wrong] = changed(server, STREAM + "SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ts PATTERN (U;")
    assert wrong["code"] == "NEEL1001"
    clause = "MATCH_RECOGNIZE (ORDER BY ts MEASURES U.x AS y PATTERN (U V) DEFINE U AS x > V.x)"
    [warned] = changed(server, STREAM + f"SELECT * FROM s {clause};")
    assert (warned["code"], warned["severity"]) == ("NEEL6011", 2)


def test_requests_that_nobody_knows_are_refused(server: Client) -> None:
    assert server.answer("textDocument/dance", textDocument=DOCUMENT)["error"]["code"] == -32601
    server.notify("textDocument/danced")
    assert server.answer("textDocument/hover", where="here")["error"]["code"] == -32602
    assert "error" in server.answer(
        "textDocument/hover", textDocument={"uri": "file:///missing"}, position={}
    )


def test_malformed_messages_do_not_end_it(server: Client) -> None:
    for body in (b"{nonsense", b"[]", b"\xff\xfe", b'{"jsonrpc": "2.0"}', b'{"id": 1}'):
        server.send_raw(body)
    server.input.write(b"Nonsense: 1\r\n\r\n")
    assert changed_after_opening(server) == []


@pytest.mark.parametrize(
    "length",
    [
        b"9" * 30,
        b"9" * 5000,
        b"999999999999",
        b"4294967296",
        b"-1",
        b"-0",
        b"0",
        b"many",
        b"1e3",
        b"0x10",
        b"",
        b"1 2",
    ],
)
def test_an_absurd_length_does_not_end_it(server: Client, length: bytes) -> None:
    body = b'{"jsonrpc": "2.0", "method": "initialized", "params": {}}'
    for message in (b"", body, body + b"\r\n"):
        server.input.write(b"Content-Length: " + length + b"\r\n\r\n" + message)
        assert changed_after_opening(server) == []


def test_headers_of_other_forms(server: Client) -> None:
    body = b'{"jsonrpc": "2.0", "id": "x", "method": "textDocument/dance", "params": {}}'
    server.input.write(b"X" * 200_000 + b"\r\n")
    server.input.write(b"content-length:%d\r\nContent-Type: application/json\r\n\r\n" % len(body) + body)
    server.input.flush()
    while (message := server.next()).get("id") != "x":
        pass
    assert message["error"]["code"] == -32601


def changed_after_opening(server: Client) -> list[dict[str, Any]]:
    opened(server, "")
    return changed(server, "-- still there")


def test_editors_may_count_bytes(tmp_path: Path) -> None:
    capabilities = {"general": {"positionEncodings": ["utf-8", "utf-16"]}}
    (tmp_path / "s.csv").write_text("ts,x\n1,1\n")
    with client(tmp_path, "--stream", "s=s.csv", capabilities=capabilities) as server:
        assert server.greeting["capabilities"]["positionEncoding"] == "utf-8"
        [wrong] = opened(server, "PATTERN s a WHERE '🐍' = a.y WITHIN 5 SECONDS")
        assert wrong["range"]["start"]["character"] == len("PATTERN s a WHERE '🐍' = a.".encode())
        assert server.end() == 0


def test_without_pygls_it_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from neelc.cli import main

    monkeypatch.setitem(sys.modules, "pygls", None)
    assert main(["lsp"]) == 2
    assert "pip install 'neelc[lsp]'" in capsys.readouterr().err
