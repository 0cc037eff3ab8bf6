from __future__ import annotations

import gzip
import importlib.util
import json
import sys
from pathlib import Path

import apsw
import exported
import pytest
import store_rows
import support
from exported import NOW, T0, bring_in, counts, export, full, store, told

from cmem import libraries, packed
from cmem.errors import CmemError
from cmem.importers import jsonl
from cmem.store import erase, forget
from cmem.store.dump import Chosen

TABLES = ("observations", "session_summaries", "user_prompts", "tool_uses", "turns", "sessions")


def table(conn: apsw.Connection, name: str) -> list[dict[str, object]]:
    cursor = conn.execute(f"SELECT * FROM {name} ORDER BY id")
    return [dict(zip([one[0] for one in cursor.description], row, strict=True)) for row in cursor]


def line(**record: object) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"


SESSION = {
    "record": "session",
    "uid": "u1",
    "host": "claude-code",
    "content_session_id": "c1",
    "project": "k",
    "project_key_source": "path",
    "cwd": "/p",
    "started_at": T0,
    "last_event_at": T0,
}
PROJECT = {"record": "project", "key": "k", "key_source": "path", "name": "k", "root": "/p"}
PROJECT |= {"created_at": T0, "aliases": []}
TURN = {"record": "turn", "session": "u1", "number": 1, "kind": "user", "opened_at": T0}
TURN |= {"last_event_at": T0, "closed_at": T0, "closed_by": "stop", "outcome": "stop"}
PROMPT = {"record": "prompt", "uid": "p1", "session": "u1", "turn": 1, "prompt_number": 1}
PROMPT |= {"kind": "user", "native_prompt_hash": "h1", "created_at": T0, "prompt_text": "hello"}
SMALL = line(**PROJECT) + line(**SESSION) + line(**TURN)


def test_export_of_an_import_is_the_same_to_the_byte(tmp_path: Path) -> None:
    source, target = full(tmp_path / "a"), store(tmp_path / "b")
    data = export(source)
    brought = bring_in(target, data)
    assert (brought.bad, brought.total("known"), brought.total("forgotten")) == (0, 0, 0)
    assert export(target) == data
    assert target.pragma("integrity_check") == "ok"
    assert target.pragma("foreign_key_check") is None


def test_import_gives_the_rows_back_but_for_their_numbers(tmp_path: Path) -> None:
    source, target = full(tmp_path / "a"), store(tmp_path / "b")
    bring_in(target, export(source))
    local = ("id", "session_id", "project_id", "turn_id", "superseded_by")
    for name in TABLES[:4]:
        visible = [one for one in table(source, name) if one["hidden_at"] is None]
        found = {one["uid"]: one for one in table(target, name)}
        assert len(found) == len(visible) > 0
        for one in visible:
            mine = {key: value for key, value in one.items() if key not in local}
            other = {key: value for key, value in found[one["uid"]].items() if key not in local}
            assert other == mine
    files = "SELECT o.uid, f.path, f.role FROM observation_files f JOIN observations o"
    files += " ON o.id = f.observation_id WHERE o.hidden_at IS NULL ORDER BY 1, 2"
    assert target.execute(files).fetchall() == source.execute(files).fetchall()
    replaced = "SELECT o.uid, n.uid FROM observations o JOIN observations n"
    replaced += " ON n.id = o.superseded_by WHERE o.hidden_at IS NULL ORDER BY 1"
    assert target.execute(replaced).fetchall() == source.execute(replaced).fetchall()


def test_every_imported_row_is_in_the_index(tmp_path: Path) -> None:
    source, target = full(tmp_path / "a"), store(tmp_path / "b")
    bring_in(target, export(source))
    query = "SELECT kind, count(*) FROM documents GROUP BY 1"
    indexed = dict(target.execute(query).fetchall())
    rows = {
        kind: target.execute(f"SELECT count(*) FROM {name} {only}").fetchall()[0][0]
        for kind, name, only in (
            ("O", "observations", ""),
            ("S", "session_summaries", ""),
            ("P", "user_prompts", "WHERE prompt_text <> ''"),
            ("T", "tool_uses", ""),
        )
    }
    assert indexed == rows
    target.execute("INSERT INTO documents_fts(documents_fts, rank) VALUES('integrity-check', 1)")


def test_second_import_adds_nothing(tmp_path: Path) -> None:
    source, target = full(tmp_path / "a"), store(tmp_path / "b")
    data = export(source)
    first = bring_in(target, data)
    again = bring_in(target, data)
    assert counts(again, "new") == {}
    assert counts(again, "known") == counts(first, "new")
    assert export(target) == data


def test_dry_run_tells_what_an_import_does_and_writes_nothing(tmp_path: Path) -> None:
    source, target = full(tmp_path / "a"), store(tmp_path / "b")
    data = export(source)
    before = export(target)
    look = bring_in(target, data, dry=True)
    assert export(target) == before
    assert look.counts == bring_in(target, data).counts
    assert bring_in(target, data, dry=True).counts == bring_in(target, data).counts


def test_store_of_an_older_cmem_is_exported_and_looked_at(tmp_path: Path) -> None:
    source, target = full(tmp_path / "a"), store(tmp_path / "b")
    data = export(source)
    for conn in (source, target):
        conn.execute("DROP TABLE work_state_entries")
    rest = [line for line in data.split(b"\n") if not line.startswith(b'{"record":"work_state"')]
    assert export(source) == b"\n".join(rest)
    look = bring_in(target, data, dry=True)
    assert (look.bad, counts(look, "new")["work_state"]) == (0, 3)


def test_import_overwrites_nothing(tmp_path: Path) -> None:
    source, target = full(tmp_path / "a"), store(tmp_path / "b")
    data = export(source)
    bring_in(target, data)
    target.execute("UPDATE observations SET pinned = 1, title = 'mine' WHERE id = 2")
    before = table(target, "observations")
    bring_in(target, data)
    assert table(target, "observations") == before


def test_open_turn_is_completed_by_a_later_export_and_observed_where_it_is(tmp_path: Path) -> None:
    source, target = full(tmp_path / "a"), store(tmp_path / "b")
    first = export(source)
    assert [one["closed_by"] for one in told(first, "turn") if one["number"] == 5] == ["export"] * 3
    bring_in(target, first)
    source.execute(
        """UPDATE turns SET closed_at = ?, last_event_at = ?, closed_by = 'stop',
        outcome = 'stop', assistant_message = 'now done' WHERE closed_at IS NULL""",
        (T0 + 9, T0 + 9),
    )
    second = export(source)
    bring_in(target, second)
    assert export(target) == second
    assert target.execute("SELECT count(*) FROM work_units").fetchall() == [(0,)]


def test_what_was_forgotten_there_is_hidden_here_and_can_be_brought_back(tmp_path: Path) -> None:
    source, target = full(tmp_path / "a"), store(tmp_path / "b")
    bring_in(target, export(source))
    gone = forget.plan(source, [("O", 2)])
    assert gone.total
    erase.purge(source, gone, now=T0 + 7)
    bring_in(target, export(source))
    hidden = "SELECT uid FROM observations WHERE hidden_at IS NOT NULL"
    assert ("observation-2",) in target.execute(hidden).fetchall()
    assert "observation-2" not in export(target).decode()
    (ref,) = target.execute("SELECT id FROM observations WHERE uid = 'observation-2'").fetchall()[0]
    assert forget.unhide(target, [("O", ref)])
    bring_in(target, export(source))
    assert target.execute(hidden).fetchall() == []


def test_what_was_forgotten_here_does_not_come_back(tmp_path: Path) -> None:
    source, target = full(tmp_path / "a"), store(tmp_path / "b")
    data = export(source)
    bring_in(target, data)
    (ref,) = target.execute("SELECT id FROM user_prompts WHERE uid = 'prompt-1'").fetchall()[0]
    erase.purge(target, forget.plan(target, [("P", ref)]), now=T0 + 8)
    before = export(target)
    again = bring_in(target, data)
    assert counts(again, "forgotten") == {
        "prompt": 1,
        "tool_use": 1,
        "observation": 1,
        "summary": 1,
    }
    assert export(target) == before
    assert "done 1" not in [one["assistant_message"] for one in told(before, "turn")][:1]


def test_what_was_forgotten_there_stays_away_from_an_older_export(tmp_path: Path) -> None:
    source, target = full(tmp_path / "a"), store(tmp_path / "b")
    older = export(source)
    erase.purge(source, forget.plan(source, [("N", 1)]), now=T0 + 8)
    newer = export(source)
    bring_in(target, newer)
    assert counts(bring_in(target, older), "forgotten")["session"] == 1
    assert export(target) == newer


def test_secrets_are_cut_on_the_way_in(tmp_path: Path) -> None:
    secret = "ghp_" + "a8Zk3" * 8
    observation = {
        "record": "observation",
        "uid": "o1",
        "session": "u1",
        "turn": 1,
        "project": "k",
        "host": "claude-code",
        "prompt_number": 1,
        "created_at": T0,
        "taint": "no such word",
        "type": "bugfix",
        "evidence_tokens": 1,
        "discovery_tokens": 1,
        "read_tokens": 1,
        "last_reinforced": T0,
        "reinforcement_dates": [],
        "content_hash": "of the secret",
        "title_norm_key": secret,
        "generated_by_model": "m",
        "prompt_version": "1",
        "title": f"token {secret}",
        "subtitle": "",
        "concepts": [],
        "files_read": [],
        "files_modified": [],
        "facts": [f"it is {secret}"],
        "narrative": "n",
        "metadata": {},
    }
    target = store(tmp_path / "b")
    data = SMALL + line(**PROMPT | {"prompt_text": f"use {secret}"}) + line(**observation)
    assert bring_in(target, data).bad == 0
    told_back = export(target).decode()
    assert secret not in told_back
    assert told_back.count("[REDACTED:") >= 3
    (row,) = table(target, "observations")
    assert row["content_hash"] != "of the secret"
    assert (row["title_norm_key"], row["taint"]) == ("token redacted github", "external")


BROKEN = (
    (b"{not json\n", "not JSON"),
    (b"\xff\xfe{\x00}\x00\n", "not UTF-8"),
    (b'"text"\n', "no object"),
    (b"[]\n", "no object"),
    (line(record="dragon"), "unknown record 'dragon'"),
    (line(type="prompt"), "unknown record 'None'"),
    (line(**PROMPT | {"prompt_text": 5}), "prompt_text is no text"),
    (line(**{k: v for k, v in PROMPT.items() if k != "uid"}), "uid is missing"),
    (line(**PROMPT | {"created_at": "now"}), "created_at is no whole number"),
    (line(**PROMPT | {"created_at": 2**64}), "created_at is no whole number"),
    (line(**PROMPT | {"created_at": True}), "created_at is no whole number"),
    (line(**PROMPT | {"turn": 7}), "its turn 7 is not there"),
    (line(**PROMPT | {"session": "nobody"}), "its session is not there"),
    (line(**SESSION | {"uid": "u2", "content_session_id": "c2", "project": "x"}),
     "its project is not there"),
    (line(record="tombstone", kind="X", hash="0" * 64, at=1), "no kind and hash of a forgotten row"),
    (line(record="tombstone", kind="O", hash="0", at=1), "no kind and hash of a forgotten row"),
    (line(**PROJECT | {"key": "other", "aliases": [1]}), "an alias is no [kind, alias, time]"),
    (b"[" * 100_000 + b"\n", "not JSON"),
)  # fmt: skip


@pytest.mark.parametrize(("bad", "reason"), BROKEN)
def test_broken_line_is_named_and_the_rest_comes_in(
    tmp_path: Path, bad: bytes, reason: str
) -> None:
    target = store(tmp_path / "b")
    brought = bring_in(target, SMALL + bad + line(**PROMPT))
    assert [tuple(one) for one in brought.troubles] == [(4, reason)]
    assert counts(brought, "new") == {"project": 1, "session": 1, "turn": 1, "prompt": 1}


def test_file_of_a_newer_cmem_is_not_read(tmp_path: Path) -> None:
    head = line(record="cmem-export", format=99)
    data = tmp_path / "x.jsonl"
    data.write_bytes(head + SMALL + line(**PROMPT))
    said = "format 99 is of a newer cmem; this one knows 1, so nothing of it is read"
    assert run(tmp_path / "b", "import", str(data)) == (
        1,
        "Nothing new.\nCould not be read: 1.\n",
        f"cmem: {data}:1: {said}\n",
    )
    brought = bring_in(store(tmp_path / "c"), SMALL + head + line(**PROMPT))
    assert [tuple(one) for one in brought.troubles] == [(4, said)]
    assert counts(brought, "new") == {"project": 1, "session": 1, "turn": 1}


@pytest.mark.parametrize("vain", [b"\n", b"x\n"])
def test_file_that_does_not_end_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vain: bytes
) -> None:
    monkeypatch.setattr("cmem.importers.jsonl.MOST_IN_VAIN", 100)
    brought = bring_in(store(tmp_path / "b"), SMALL + vain * 99 + line(**PROMPT) + vain * 300)
    last = brought.troubles[-1]
    assert counts(brought, "new")["prompt"] == 1
    assert brought.bad == 1 + (199 if vain == b"x\n" else 0)
    if brought.bad == 1:
        assert tuple(last) == (203, "no record in 100 lines; the rest is not read")


def test_odd_but_sound_lines_are_read(tmp_path: Path) -> None:
    target = store(tmp_path / "b")
    odd = '{"prompt_text":"a\u2028b\\u0000\\ud800 c",' + json.dumps(PROMPT | {"uid": "p2"})[1:]
    odd = odd.replace(', "prompt_text": "hello"', "").replace('"h1"', '"h2"')
    data = b"\xef\xbb\xbf" + SMALL + b"\n  \n" + odd.encode() + b"\r\n" + line(**PROMPT).rstrip()
    brought = bring_in(target, data)
    assert (brought.bad, counts(brought, "new")["prompt"]) == (0, 2)
    texts = [one["prompt_text"] for one in table(target, "user_prompts")]
    assert texts == ["a\u2028b\ufffd? c", "hello"]


def test_cut_file_keeps_what_was_whole(tmp_path: Path) -> None:
    target = store(tmp_path / "b")
    brought = bring_in(target, SMALL + line(**PROMPT)[:40])
    assert [tuple(one) for one in brought.troubles] == [(4, "not JSON; the file is cut off here")]
    assert counts(brought, "new") == {"project": 1, "session": 1, "turn": 1}


def test_line_without_end_is_skipped_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl, "MAX_LINE", 1024 * 1024)
    target = store(tmp_path / "b")
    long = line(**PROMPT | {"prompt_text": "x" * 5_000_000})
    brought = bring_in(target, SMALL + long + line(**PROMPT))
    assert [tuple(one) for one in brought.troubles] == [(4, "longer than 1 MiB")]
    assert counts(brought, "new")["prompt"] == 1


def test_time_of_a_wrong_clock_is_brought_back(tmp_path: Path) -> None:
    target = store(tmp_path / "b")
    bring_in(target, SMALL + line(**PROMPT | {"created_at": NOW * 2}))
    assert [one["created_at"] for one in table(target, "user_prompts")] == [NOW + store_rows.DAY]


def test_the_same_repository_of_two_machines_is_one_project(tmp_path: Path) -> None:
    target = store(tmp_path / "b")
    mine = store_rows.project(target, "shop", key="example.org/shop")
    alias = {"kind": "remote", "alias": "example.org/shop", "created_at": T0}
    store_rows.insert(target, "project_aliases", project_id=mine, **alias)
    aliases = [["path", "/q", T0], ["remote", "example.org/shop", T0]]
    data = line(**PROJECT | {"aliases": aliases}) + line(**SESSION)
    bring_in(target, data)
    assert target.execute("SELECT id, name FROM projects").fetchall() == [(mine, "shop")]
    assert target.execute("SELECT project_id FROM sessions").fetchall() == [(mine,)]
    assert bring_in(target, data).total("new") == 0


def test_session_of_two_machines_is_one_with_the_turns_of_both(tmp_path: Path) -> None:
    target = store(tmp_path / "b")
    bring_in(target, SMALL)
    later = {"last_event_at": T0 + 50, "prompt_counter": 2, "status": "completed"}
    data = SMALL.replace(b'"u1"', b'"other"') + line(
        **SESSION | later | {"uid": "other", "completed_at": T0 + 50}
    )
    bring_in(target, data + line(**TURN | {"session": "other", "number": 2}))
    (row,) = table(target, "sessions")
    moved = ("uid", "last_event_at", "prompt_counter", "status", "completed_at")
    assert [row[name] for name in moved] == ["u1", T0 + 50, 2, "completed", T0 + 50]
    assert [one["number"] for one in table(target, "turns")] == [1, 2]


# --- the command -----------------------------------------------------------------------------


def run(home: Path, *words: str, **more: str) -> tuple[int, str, str]:
    stdin = more.pop("stdin", "")
    done = support.run_cmem(*words, stdin=stdin.encode(), CMEM_HOME=str(home), **more)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_import_command_tells_what_came_in_and_names_bad_lines(tmp_path: Path) -> None:
    file = tmp_path / "a b.jsonl"
    file.write_bytes(SMALL + b"oops\n" + line(**PROMPT))
    home = tmp_path / "b"
    new = "1 project, 1 session, 1 turn, 1 prompt.\nCould not be read: 1.\n"
    bad = f"cmem: {file}:4: not JSON\n"
    assert run(home, "import", str(file), "--dry-run") == (0, "Would import " + new, bad)
    assert not (home / "memory.db").exists()
    assert run(home, "import", str(file)) == (0, "Imported " + new, bad)
    again = "Nothing new.\nKnown already: 4.\nCould not be read: 1.\n"
    assert run(home, "import", "file", str(file)) == (0, again, bad)
    look = "Nothing new.\nKnown already: 4.\nCould not be read: 1.\n"
    assert run(home, "import", "--dry-run", str(file)) == (0, look, bad)
    assert "P1" in run(home, "search", "hello", "--all")[1]
    assert "hello" in run(home, "get", "P1")[1]


def test_nothing_readable_is_a_failure(tmp_path: Path) -> None:
    code, out, err = run(tmp_path / "b", "import", "-", "--json", stdin="oops\n")
    document = json.loads(out)
    assert (code, err) == (1, "cmem: standard input:1: not JSON\n")
    assert (document["unreadable"], document["errors"]) == (1, [{"place": 1, "reason": "not JSON"}])
    empty = run(tmp_path / "b", "import", "-")
    assert empty == (1, "", "cmem: standard input is empty; `cmem export` writes such a file\n")
    missing = run(tmp_path / "b", "import", str(tmp_path / "no"))
    said = f"cmem: could not read {tmp_path}/no: no such file or directory\n"
    assert missing == (1, "", said)


def test_compressed_export_is_the_same_each_time_and_comes_in_again(tmp_path: Path) -> None:
    full(tmp_path / "a").close()
    files = [tmp_path / name for name in ("1.jsonl.gz", "2.jsonl.gz", "plain.jsonl")]
    for file in files:
        assert run(tmp_path / "a", "export", str(file))[0] == 0
        assert file.stat().st_mode & 0o777 == 0o600
    assert files[0].read_bytes() == files[1].read_bytes()
    assert gzip.decompress(files[0].read_bytes()) == files[2].read_bytes()
    assert run(tmp_path / "b", "import", str(files[0]))[0] == 0
    assert run(tmp_path / "b", "export", "-")[1].encode() == files[2].read_bytes()
    files[1].write_bytes(files[0].read_bytes()[:-200])
    code, _, err = run(tmp_path / "c", "import", str(files[1]))
    assert code == 0
    assert err.endswith(": the compressed file is cut off or damaged from here on\n")


def test_zstd_is_read_and_written_or_asked_for(tmp_path: Path) -> None:
    full(tmp_path / "a").close()
    file = tmp_path / "x.jsonl.zst"
    code, _, err = run(tmp_path / "a", "export", str(file))
    if sys.version_info >= (3, 14) or importlib.util.find_spec("zstandard"):
        assert (code, run(tmp_path / "b", "import", str(file))[0]) == (0, 0)
        assert run(tmp_path / "b", "export", "-") == run(tmp_path / "a", "export", "-")
        return
    way = libraries.install("zstandard")
    asked = f"this Python has no zstd; install it with `{way}`, or use .gz"
    assert (code, err) == (1, f"cmem: {asked}\n")
    assert list(tmp_path.glob("x.*")) == []
    file.write_bytes(packed.ZSTD + b"rest")
    assert run(tmp_path / "b", "import", str(file)) == (1, "", f"cmem: {asked}\n")


def test_damage_of_zstd_has_a_name() -> None:
    class ZstdError(Exception):
        pass

    assert packed.damage(ZstdError()).startswith("the compressed file is cut off")
    assert packed.damage(CmemError("other")) == ""


@pytest.mark.parametrize("nth", [1, 2, 3])
def test_killed_import_is_completed_by_repeating_it(tmp_path: Path, nth: int) -> None:
    sys.path.insert(0, str(support.ROOT / "scripts"))
    import random

    import bench_export

    file = tmp_path / "x.jsonl"
    bench_export.write(file, 300, random.Random(nth))
    point = f"imported_slice@{nth}=kill"
    code, _, _ = run(tmp_path / "b", "import", str(file), CMEM_TEST="1", CMEM_FAILPOINT=point)
    assert code == -9
    part = run(tmp_path / "b", "export", "-")[1]
    assert 8 < part.count("\n") < file.read_bytes().count(b"\n")
    assert run(tmp_path / "b", "import", str(file))[0] == 0
    whole = run(tmp_path / "b", "export", "-")[1].split("\n")[:-1]
    given = file.read_text(encoding="utf-8").split("\n")[:-1]
    assert [json.loads(one) for one in whole] == [json.loads(one) for one in given]


def test_part_of_a_memory_is_complete_in_itself(tmp_path: Path) -> None:
    source = full(tmp_path / "a")
    old = export(source, Chosen(projects=(2,)))
    assert [one["key"] for one in told(old, "project")] == ["path:old shop", "path:shop"]
    assert [one["content_session_id"] for one in told(old, "session")] == ["s1"]
    assert told(old, "tombstone") == []
    target = store(tmp_path / "b")
    assert bring_in(target, old).bad == 0
    assert export(target, Chosen(projects=(1, 2))) == old
    source.execute("UPDATE sessions SET last_event_at = ? WHERE id = 2", (T0 + 1000,))
    late = export(source, Chosen(since=T0 + 1000))
    assert [one["content_session_id"] for one in told(late, "session")] == ["s1"]


def test_redacted_export_holds_memories_and_no_evidence(tmp_path: Path) -> None:
    source = full(tmp_path / "a")
    secret = "ghp_" + "a8Zk3" * 8
    words = f"/home/ana/x.py has {secret}"
    query = "UPDATE observations SET generated_by_model = 'm', narrative = ?"
    source.execute(query, (words,))
    data = export(source, redacted=True)
    text = data.decode()
    for gone in (secret, "zähle", "make", "done 1", "/home/ana", "/p/shop"):
        assert gone not in text
    assert {one["narrative"] for one in told(data, "observation")} == {
        "~/x.py has [REDACTED:github]"
    }
    assert told(data, "tombstone") == []
    target = store(tmp_path / "b")
    assert bring_in(target, data).bad == 0
    assert export(target, redacted=True) == data


def test_hidden_rows_are_not_told(tmp_path: Path) -> None:
    source = full(tmp_path / "a")
    before = exported.export(source)
    forget.hide(source, forget.plan(source, [("P", 1)]), now=T0 + 9)
    after = export(source)
    assert '"prompt-1"' in before.decode()
    assert '"prompt-1"' not in after.decode()
    assert "done 1" not in str(next(iter(told(after, "turn"))))
    assert told(after, "session")[0]["title"] == ""


def test_secrets_in_names_and_folders_are_cut_too(tmp_path: Path) -> None:
    secret = "ghp_" + "b7Yq2" * 8
    target = store(tmp_path / "b")
    words = {"cwd": f"/p/{secret}", "branch": secret, "model": secret}
    data = line(**PROJECT | {"name": secret, "root": f"/x/{secret}"})
    data += line(**SESSION | {"cwd": f"/p/{secret}", "model": secret, "title": secret})
    data += line(**TURN | {"branch": secret, "assistant_message": secret, "error": secret})
    data += line(**PROMPT | words)
    brought = bring_in(target, data)
    assert brought.bad == 0
    assert brought.total("new") == 4
    assert secret not in export(target).decode()
    target.close()
    for path in (tmp_path / "b").iterdir():
        assert secret.encode() not in path.read_bytes()


def test_folders_that_are_other_repositories_here_stay_theirs(tmp_path: Path) -> None:
    mine, same = tmp_path / "mine", tmp_path / "same"
    for folder, remote in ((mine, "git@example.org:me/mine"), (same, "git@example.org:team/shop")):
        (folder / ".git").mkdir(parents=True)
        (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (folder / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {remote}\n')
    aliases = [["remote", "example.org/team/shop", T0]]
    aliases += [["path", str(mine), T0], ["path", str(same), T0], ["path", "/nowhere/shop", T0]]
    data = line(**PROJECT | {"key": "example.org/team/shop", "aliases": sorted(aliases)})

    def folders(conn: apsw.Connection) -> list[str]:
        query = "SELECT alias FROM project_aliases WHERE kind = 'path' ORDER BY alias"
        return [str(alias) for (alias,) in conn.execute(query)]

    empty = store(tmp_path / "a")
    bring_in(empty, data)
    assert folders(empty) == sorted(["/nowhere/shop", str(same)])
    knowing = store(tmp_path / "b")
    ref = store_rows.project(knowing, "shop", key="example.org/team/shop")
    bring_in(knowing, data)
    assert folders(knowing) == [str(same)]
    assert ref == 1
