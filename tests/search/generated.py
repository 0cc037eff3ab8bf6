"""A store of any size with rows of every kind, made up and the same each time.

English comes from the docstrings of the standard library, the other languages from the sentences
of ``written.py`` among words put together from their own letters. Row ``n`` depends on ``n`` alone,
so a store that is there already can be made longer. Three words are planted in a known share of
rows (``COMMON`` …), and every ``PLANT_EVERY``-th row is an observation that answers an exact word
and a question no other row answers.
"""

from __future__ import annotations

import ast
import json
import random
import sys
import sysconfig
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import written

from cmem.store import codec, documents
from cmem.store.connection import transaction

T0 = 1_750_000_000_000
STEP_MS = 30_000
COMMON, MEDIUM, SCARCE, COMMON_HAN = "kvcommon", "kvmedium", "kvscarce", "共通标记"
PLANT_EVERY = 499
PER_TURN, PER_SESSION, PROJECTS = 8, 80, 300
BATCH = 1000
MODULES = "argparse ast asyncio/events calendar codecs collections/__init__ configparser csv "
MODULES += "datetime decimal difflib doctest email/message enum fractions ftplib functools "
MODULES += "heapq http/client imaplib inspect ipaddress logging/__init__ mailbox optparse os "
MODULES += "pathlib pdb pickle platform random shutil smtplib socket statistics string "
MODULES += "subprocess tarfile tempfile textwrap threading tkinter/__init__ turtle typing "
MODULES += "unittest/case unittest/mock urllib/parse urllib/request uuid weakref zipfile"

_LETTERS = {
    "zh": "的一是在有个上中大到说国和地出道时年得就那要下以生会自着去之过家学对可里后小么心多天而能好都然没日于起还发成事只作当想看文无开手十用主行方又如前所本见经头面公同三已老从动两长知民样现分将外但身些与高意进把法此实回二理美点月明其种声全工己话儿者向情部正名定女问力机给等几很业最间新什打便位因重被走电四第门相次东政海口使教西再平真听世气信北少关并内加化由却代军产入先山五太水万市眼体别处总才场师书比住员九笑性通目华报立马命张活难神数件安表原车白应路期叫死常提感金何更反合放做系计或司利受光王果亲界及今京务制解各任至清物台象记边共风战干接它许八特觉望直服毛林题建南度统色字请交爱让认算论百吃义科怎元社术结六功指思非流每青管夫连远资队跟带花快条院变联言权往展该领传近留红治决周保达办运武半候七必城父强步完革深区即求品士转量空甚众技轻程告江语英基派满式李息写呢识极令黄德收脸钱党倒未持取设始版双历越史商千片容研像找友孩站广改议形委早房音火际则首单据导影失拿网香似斯专石若兵弟谁校读志飞观争究包组造落视济喜离虽坏兴切",
    "ja": "あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろわアイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワ接続設定変更確認処理実行結果画面項目記録時間開始終了",
    "ko": "가각간갈감강개거건검게겨경계고공과관교구국군그기나내너노다단달당대도동되라로리마만매면명모무문물미민바반발방배번변보복부분비사산상새생서선설성세소수시신실아안양어언업에여역연영예오와요용우운원위유음의이인일임입자작장재전정제조종주중지진차처천체초최출치타통트파판평표품하학한해행현호화환회",
    "th": "กขคงจชซดตถทธนบปผพฟภมยรลวศสหอาิีุู",
    "vi": "abcdeghiklmnopqrstuvxyàáảãạăâđèéẻẽẹêìíòóôơùúưý",
}
_LATIN = "abcdefghijklmnopqrstuvwxyz"
SCRIPTS = ("en", "zh", "ja", "ko", "th", "vi")
_SHARES = (56, 18, 9, 9, 3, 5)


class Plant(NamedTuple):
    """``word`` is in that row only; ``question`` has two words that few other rows hold."""

    row: int
    language: str
    word: str
    question: str


def word(chance: random.Random, language: str) -> str:
    """A word of about eight letters, or four signs, that nobody else is likely to make."""
    letters = _LETTERS.get(language, _LATIN)
    length = 4 if language in ("zh", "ja", "ko") else chance.randint(7, 10)
    return "".join(chance.choices(letters, k=length))


def rare(number: int, language: str) -> str:
    """One of the words that are in about forty rows each."""
    return word(random.Random(f"rare {number} {language}"), language)


def plant(row: int) -> Plant:
    chance = random.Random(f"plant {row}")
    language = SCRIPTS[(row // PLANT_EVERY) % len(SCRIPTS)]
    two = [rare(chance.randrange(_rare_words(row)), language) for _ in range(2)]
    asked = {
        "zh": "为什么{}和{}会出现问题？",
        "ja": "{}と{}の問題はどうなりましたか",
        "ko": "왜 {} 그리고 {} 문제가 있었나요",
        "th": "ทำไม {} กับ {} จึงมีปัญหา",
        "vi": "vì sao {} và {} có vấn đề vậy",
    }.get(language, "how did we solve the problem with {} and {} again?")
    return Plant(row, language, word(chance, language) + word(chance, language), asked.format(*two))


def _rare_words(row: int) -> int:
    # Known when the row is made, whatever the store grows to later.
    return max(50, row // 200)


@cache
def english() -> tuple[str, ...]:
    folder = Path(sysconfig.get_paths()["stdlib"])
    found: dict[str, None] = {}
    for name in MODULES.split():
        tree = ast.parse((folder / f"{name}.py").read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = " ".join((ast.get_docstring(node) or "").split())
                found |= dict.fromkeys(one for one in text.split(". ") if 20 < len(one) < 300)
    return tuple(found)


@cache
def sentences(language: str) -> tuple[str, ...]:
    told = [one for one in written.memories() if one.language == language]
    return tuple(text for one in told for text in (one.title, one.narrative))


def prose(chance: random.Random, language: str, count: int) -> str:
    """``count`` sentences, the ones that are not English with words of their own among them."""
    if language == "en":
        return ". ".join(chance.choices(english(), k=count)) + "."
    found = chance.choices(sentences(language) or ("",), k=count)
    gap = "" if language in ("zh", "ja", "th") else " "
    return gap.join(
        one + gap + gap.join(word(chance, language) for _ in range(3)) + "。 " for one in found
    )


def text(row: int) -> tuple[str, str, str]:
    """Language, title and body of a row."""
    chance = random.Random(row)
    language = chance.choices(SCRIPTS, _SHARES)[0]
    planted = plant(row) if row % PLANT_EVERY == 0 else None
    if planted:
        language = planted.language
    body = prose(chance, language, chance.randint(2, 5))
    title = prose(chance, language, 1)[:90]
    marks = [mark for mark, share in _marks() if chance.random() < share]
    marks += [rare(chance.randrange(_rare_words(row)), language)]
    marks += [f"src/{word(chance, 'en')}.py", f"handle{word(chance, 'en').title()}"]
    if planted:
        again = random.Random(f"plant {row}")
        two = [rare(again.randrange(_rare_words(row)), language) for _ in range(2)]
        body = f"{planted.word} {body} {two[0]}, {two[1]}"
    return language, title, f"{body} {' '.join(marks)}"


def indexed(row: int) -> str:
    """All of a row's text that the index is made of."""
    _, title, body = text(row)
    return " ".join([title, body, *(_facts(body) if kind(row) == "O" else [])])


def _facts(body: str) -> list[str]:
    return body.split(". ")[:2]


def _marks() -> tuple[tuple[str, float], ...]:
    return ((COMMON, 0.3), (MEDIUM, 0.03), (SCARCE, 0.001), (COMMON_HAN, 0.3))


def kind(row: int) -> str:
    return "O" if row % PLANT_EVERY == 0 else "OPTTOTTSOPTTOTTOPTTO"[row % 20]


def grow(conn: apsw.Connection, rows: int, until: float, clock: Any) -> int:
    """Add rows up to ``rows`` documents or the moment ``until``; return how many there are."""
    done = int(conn.execute("SELECT coalesce(max(id), 0) FROM documents").fetchall()[0][0])
    conn.pragma("synchronous", 0)
    while done < rows and clock() < until:
        with transaction(conn):
            last = min(done + BATCH, rows)
            for row in range(done + 1, last + 1):
                _add(conn, row)
            conn.execute(
                "INSERT INTO documents_fts(rowid, title, body, meta, x, k)"
                " SELECT id, title, body, meta, x, k FROM documents_text WHERE id BETWEEN ? AND ?",
                (done + 1, last),
            ).fetchall()
        done = last
    return done


def add_one(conn: apsw.Connection, row: int) -> None:
    """One more row and its terms, in a transaction of its own, as ``compress`` writes it."""
    with transaction(conn):
        _add(conn, row)
        documents._index(conn, row)


def _add(conn: apsw.Connection, row: int) -> None:
    at = T0 + row * STEP_MS
    session, turn = (row - 1) // PER_SESSION + 1, (row - 1) // PER_TURN + 1
    project = min(int(random.Random(f"project {session}").paretovariate(0.7)), PROJECTS)
    if (row - 1) % PER_SESSION == 0:
        _parents(conn, session, project, at)
    if (row - 1) % PER_TURN == 0:
        _insert(conn, "turns", id=turn, session_id=session, number=turn, kind="user",
                opened_at=at, last_event_at=at, closed_at=at, closed_by="stop", outcome="stop")  # fmt: skip
    _, title, body = text(row)
    table, values = _ROWS[kind(row)](row, title, body)
    values |= {"id": row, "uid": f"g{row}", "session_id": session, "turn_id": turn}
    values |= {"prompt_number": turn, "created_at": at}
    if kind(row) in "OS":
        values |= {"project_id": project}
    _insert(conn, table, **values)
    _insert(conn, "documents", id=row, kind=kind(row), ref=row, created_at=at)


def _parents(conn: apsw.Connection, session: int, project: int, at: int) -> None:
    conn.execute(
        "INSERT OR IGNORE INTO projects(id, key, key_source, name, root, created_at)"
        " VALUES(?1, 'path:g' || ?1, 'path', 'project' || ?1, '/g/' || ?1, ?2)",
        (project, T0),
    ).fetchall()
    _insert(conn, "sessions", id=session, uid=f"g{session}", host="claude-code",
            content_session_id=f"g{session}", project_id=project, project_key_source="path",
            cwd="/g", started_at=at, last_event_at=at)  # fmt: skip


def _observation(row: int, title: str, body: str) -> tuple[str, dict[str, Any]]:
    return "observations", {
        "host": "claude-code", "taint": "local", "type": ("bugfix", "feature", "decision")[row % 3],
        "evidence_tokens": 100, "discovery_tokens": 0, "read_tokens": len(body) // 4,
        "last_reinforced": T0, "reinforcement_dates": "[]", "content_hash": f"g{row}",
        "title_norm_key": f"g{row}", "generated_by_model": "extract", "prompt_version": "g/1",
        "title": title, "subtitle": "", "concepts": '["how-it-works"]', "files_read": "[]",
        "files_modified": "[]", "facts": json.dumps(_facts(body), ensure_ascii=False), "narrative": body,
    }  # fmt: skip


def _summary(row: int, title: str, body: str) -> tuple[str, dict[str, Any]]:
    return "session_summaries", {
        "taint": "local", "evidence_tokens": 100, "discovery_tokens": 0,
        "read_tokens": len(body) // 4, "generated_by_model": "extract", "prompt_version": "g/1",
        "request": title, "investigated": "", "learned": body, "completed": "", "next_steps": "",
        "notes": "", "files_read": "[]", "files_edited": "[]",
    }  # fmt: skip


def _prompt(row: int, title: str, body: str) -> tuple[str, dict[str, Any]]:
    return "user_prompts", {
        "kind": "user", "native_prompt_hash": f"g{row}", "prompt_text": f"{title}\n{body}",
    }  # fmt: skip


def _tool(row: int, title: str, body: str) -> tuple[str, dict[str, Any]]:
    return "tool_uses", {
        "tool_use_id": f"g{row}", "tool_name": "Bash", "outcome": "ok", "evidence_tokens": 10,
        "tool_input": codec.pack(json.dumps({"command": title}, ensure_ascii=False)),
        "tool_response": codec.pack(json.dumps({"stdout": body}, ensure_ascii=False)),
    }  # fmt: skip


_ROWS = {"O": _observation, "S": _summary, "P": _prompt, "T": _tool}


def _insert(conn: apsw.Connection, table: str, **values: Any) -> None:
    marks = ", ".join("?" * len(values))
    sql = f"INSERT OR IGNORE INTO {table}({', '.join(values)}) VALUES({marks})"
    conn.execute(sql, tuple(values.values())).fetchall()


if __name__ == "__main__":
    sys.stdout.write("\n".join(" | ".join(text(row)) for row in range(1, 20)) + "\n")
