"""Tricky queries over a small store in many scripts: exactly these rows, no more, no less."""

from __future__ import annotations

import pytest
import store_rows as make
from hypothesis import given
from hypothesis import strategies as st

from cmem.search import query as queries
from cmem.search.run import Filters, search
from cmem.store import connection

# What the observations O1, O2 … say: (title, narrative).
TEXTS = (
    ("Fixed the timeout in auth.ts", "The token refresh waited for ever."),
    ("Login rate limit", "auth service answers 429; see auth-service.ts"),
    ("C++ templates in the parser", "Moved from macros to templates."),
    ("Rewrote the codec in C", "Plain C, no runtime."),
    ("C# bindings", "P/Invoke layer for Windows."),
    ("Added getUserById", "Looks the row up by key."),
    ("Encoding bug", "Files were read as latin1 although they are utf-8."),
    ("Checksums", "sha256 of each file in foo_bar.py and __init__.py"),
    ("Secrets", "The key lives in .env and is never committed."),
    ("Environment", "Python virtual env created by make."),
    ("Commit hook", "Use git commit --no-verify to skip it."),
    ("claude-mem import", "Reads the old database."),
    ("修改了项目配置", "数据库连接池太小，需要调整。"),
    ("payload优先使用LLM", "解析失败时再用规则。"),
    ("设置缓存的过期时间", "默认一小时"),
    ("設定を変更した", "データベースの接続を直した。がぎぐ"),
    ("テストが失敗する", "原因はタイムゾーン"),
    ("설정을 바꿨다", "데이터베이스 연결 오류를 고쳤다"),
    ("การตั้งค่าระบบ", "แก้ไขฐานข้อมูล"),
    ("ការកំណត់ប្រព័ន្ធ", "ខ្មែរ"),
    ("Sửa lỗi đăng nhập", "Tiếng Việt có dấu"),
    ("Исправлен ёлочный счётчик", "Ошибка в подсчёте"),
    ("Ρύθμιση διακομιστή", "Άλλαξε η θύρα"),
    ("إصلاح تسجيل الدخول", "خطأ في قاعدة البيانات"),
    ("תיקון הכניסה", "שגיאה במסד הנתונים"),
    ("हिन्दी में त्रुटि", "डेटाबेस कनेक्शन"),
    ("خطای می‌خواهم", "پایگاه داده"),
    ("Café déjà vu", "naïve façade, Straße in Łódź"),
    ("Release 🎉 shipped", "Team 👨‍👩‍👧 was happy 👍🏽"),
    ("Deploy failed ❌", "rollback → done"),
    ("XMLHttpRequest polyfill", "parseJSON2 was slow"),
    ("Phrase order", "the quick brown fox jumps"),
    ("Word order", "the fox is brown and quick"),
    ("Do NOT restart", "x AND y OR z NEAR w"),
    ("SQL injection", "'; DROP TABLE users; -- was tried"),
    ("Percent", "100% of LIKE '%_x' patterns"),
    ("Path", "See src/server/routes/login.py line 12"),
    ("Version v1.2.3 released", "Fixes issue #42"),
    ("Mixed 修复bug和feature", "full width ＡＰＩ２ name"),
    ("Nul", "before\ufffdafter"),
)

QUERIES = {
    # names and signs
    'auth.ts "timeout': "O1",
    "auth.ts": "O1",
    "timeout auth.ts": "O1",
    "auth-service.ts": "O2",
    "C++": "O3",
    "c++ templates": "O3",
    "C#": "O5",
    "getUserById": "O6",
    "user": "O6 O35",
    "get_user_by_id": "O6",
    "get-user-by-id": "O6",
    "utf-8": "O7",
    "utf8": "O7",
    "UTF_8": "O7",
    "latin": "O7",
    "sha-256": "O8",
    "sha256": "O8",
    "foo_bar": "O8",
    "foo-bar.py": "O8",
    "__init__.py": "O8",
    ".env": "O9",
    "--no-verify": "O11",
    "claude-mem": "O12",
    "claude mem": "O12",
    "XMLHttpRequest": "O31",
    "http request": "O31",
    "parsejson2": "O31",
    "routes/login.py": "O37",
    "src/server/routes/login.py": "O37",
    "v1.2.3": "O38",
    "#42": "O38",
    "P/Invoke": "O5",
    # case, accents, word forms
    "TIMEOUT": "O1",
    "timeouts": "O1",
    "cafe deja": "O28",
    "CAFÉ": "O28",
    "strasse": "O28",
    "lodz": "O28",
    "facade naive": "O28",
    "api2": "O39",
    # phrases and signs of query languages
    '"quick brown"': "O32",
    '"brown and quick"': "O33",
    "quick brown fox": "O32 O33",
    '"quick fox"': "",
    "quick -jumps": "O33",
    '-"brown and" quick': "O32",
    "NOT": "O34",
    "NOT restart": "O34",
    "NEAR(x y)": "O34",
    "x AND y": "O34",
    "fo*": "",
    "title:Login": "O2 O37",
    "drop table users;": "O35",
    "'; DROP TABLE users; --": "O35",
    "100%": "O36",
    "%": "",
    "***": "",
    '"': "",
    '""': "",
    "(quick": "O32 O33",
    "timeout)": "O1",
    "^timeout": "O1",
    "-timeout": "O1",
    "{timeout}": "O1",
    "nul\0before": "O40",
    "\ud800timeout": "O1",
    "zebra": "",
    # no-space scripts
    "项目": "O13",
    "项": "O13",
    "配置": "O13",
    "项目配置": "O13",
    "数据库": "O13",
    "置": "O13 O15",
    "池太": "O13",
    "payload": "O14",
    "llm": "O14",
    "payload优先": "O14",
    "使用LLM": "O14",
    "用": "O14",
    "过期时间": "O15",
    "缓存 一小时": "O15",
    "設定": "O16",
    "変更": "O16",
    "データベース": "O16",
    "が": "O16 O17",
    "テスト": "O17",
    "ﾃｽﾄ": "O17",
    "タイムゾーン": "O17",
    "설정": "O18",
    "연결 오류": "O18",
    "오": "O18",
    "ตั้งค่า": "O19",
    "ระบบ": "O19",
    "ฐาน": "O19",
    "ប្រព័ន្ធ": "O20",
    "ខ្មែរ": "O20",
    "bug和": "O39",
    "修复bug": "O39",
    # other scripts
    "sửa lỗi": "O21",
    "dang nhap": "O21",
    "елочный счетчик": "O22",
    "ОШИБКА": "O22",
    "ρυθμιση": "O23",
    "ΘΎΡΑ": "O23",
    "تسجيل الدخول": "O24",
    "במסד": "O25",
    "हिन्दी": "O26",
    "डेटाबेस": "O26",
    "میخواهم": "O27",
    # emoji
    "🎉": "O29",
    "👨‍👩‍👧": "O29",
    "👩": "O29",
    "👍": "O29",
    "❌": "O30",
    "failed ❌": "O30",
    # words as nobody wrote them: pieces and slips
    "reposit": "",
    "timeou": "O1",
    "imeout": "O1",
    "tmieout": "O1",
    "polyfil": "O31",
    "templatse": "O3",
    "checksmus": "O8",
    "ошибкк": "O22",
    "đăng nhậpp": "O21",
    '"tmieout"': "",
    # names of filters are text to the search itself
    "foo:bar": "O8",
    "http://auth.ts": "O1 O2 O31",
    "C:\\src\\server": "O3 O4 O5 O37",
    "token=refresh": "O1",
    "a" * 10_000: "",
    "timeout " + "zebra" * 2000: "O1",
    "\0": "",
    "\udc00": "",
    "\u200b\u200btimeout\u200b": "O1",
    "\u202etimeout": "O1",
    "timeout\r\n\tauth.ts": "O1",
    '" OR 1=1 --': "O7 O38",
    "documents_fts MATCH 'timeout'": "O1",
    "k : p_1_": "O5 O7 O38",
    "p_1_": "O5 O7 O38",
    "NEAR(timeout, 5)": "O1 O34",
    "timeout*": "O1",
    "^": "",
    "\\": "",
}

# Questions no row holds as a whole: rows with the rarest of their words, the best one first.
QUESTIONS = {
    "why did the token refresh hang": "O1",
    "数据库配置怎么修改": "O13",
    "データベースに接続できない": "O16",
    "데이터베이스가 안 돼요": "O18",
    "how do I skip the commit hook please": "O11",
    "resolve xmlhttprequest polyfills": "O31",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    home = tmp_path_factory.mktemp("store")
    home.chmod(0o700)
    conn = make.open_store(home)
    turn = make.turn(conn, make.session(conn, make.project(conn)))
    for title, narrative in TEXTS:
        make.observation(conn, turn, title, narrative)
    conn.close()
    reader = connection.open_reader(str(home))
    yield reader
    reader.close()


def ids(store, text):
    result = search(store, text=text, filters=Filters(), limit=20, now=make.T0)
    return result.steps, [hit.id for hit in result.hits]


@pytest.mark.parametrize(("text", "expected"), QUERIES.items(), ids=map(ascii, QUERIES))
def test_query_finds_exactly(store, text, expected):
    assert sorted(ids(store, text)[1]) == sorted(expected.split())


@pytest.mark.parametrize(("text", "best"), QUESTIONS.items(), ids=map(ascii, QUESTIONS))
def test_question_finds_by_its_rarest_words(store, text, best):
    steps, found = ids(store, text)
    assert (steps, found[0]) == (["any word"], best)


@given(text=st.text(max_size=60))
def test_any_string_is_a_query(store, text):
    search(store, text=text, filters=Filters(), limit=5, now=make.T0)


@given(text=st.text(alphabet=st.sampled_from("ab\"'*:-()^NEAR AND OR{}.+#\0 项🎉é")))
def test_signs_of_query_languages_are_text(store, text):
    search(store, text=text, filters=Filters(), limit=5, now=make.T0)


LARGE = {
    "characters": "x" * 100_000,
    "words": " ".join(f"w{number}" for number in range(10_000)),
    "han": "项目配置数据库" * 2000,
    "quotes": '"' * 10_000,
    "minuses": "-a " * 5000,
}


@pytest.mark.parametrize("text", LARGE.values(), ids=LARGE)
def test_large_query_is_bounded(store, text):
    query = queries.parse(text)
    assert len(query.units) <= queries.UNITS_MAX
    assert len(queries.match_all(query)) < 20_000 if query.units else True
    search(store, text=text, filters=Filters(), limit=5, now=make.T0)


def test_pasted_long_text_is_found_by_its_beginning(home):
    conn = make.open_store(home)
    turn = make.turn(conn, make.session(conn, make.project(conn)))
    text = "连接池太小需要调整否则请求会排队" * 20
    ref = make.prompt(conn, turn, text)
    assert ids(conn, text)[1] == [f"P{ref}"]
