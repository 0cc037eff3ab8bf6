"""Memories and questions in six languages, written for measuring search.

A memory says what was wrong with a part of a program and what was done about it; a question asks
for it as somebody would a month later: with the part's name and other words for the trouble,
among the small words of its language. ``PARTS`` and ``TROUBLES`` stand in one order in all
languages. Parts at even places are for tuning (*dev*); nothing is to be tuned on those at odd
places (*test*), which share the troubles and the ways of asking.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Language(NamedTuple):
    """``troubles``: as told (title, narrative) and as asked. ``{}`` is the part."""

    parts: tuple[str, ...]
    troubles: tuple[tuple[str, str, str], ...]
    asked: tuple[str, ...]


class Memory(NamedTuple):
    key: str
    language: str
    title: str
    narrative: str


class Question(NamedTuple):
    text: str
    language: str
    key: str
    part: str  # dev | test


LANGUAGES: dict[str, Language] = {
    "en": Language(
        (
            "connection pool",
            "login page",
            "invoice export",
            "image thumbnails",
            "search index",
            "mail queue",
            "token refresh",
            "nightly backup",
            "shopping cart",
            "audit log",
        ),
        (
            (
                "{} ran out of memory",
                "Every request kept a copy of the whole answer; it streams now.",
                "running out of memory",
            ),
            (
                "{} timed out under load",
                "The limit was five seconds and is thirty, with three retries.",
                "timing out when there is load",
            ),
            (
                "{} lost rows after a restart",
                "Nothing was written before the answer; it is committed first now.",
                "losing rows when we restart",
            ),
            (
                "{} showed dates a day early",
                "Midnight was taken in the local zone; it is converted to UTC at the border.",
                "off by a day in its dates",
            ),
            (
                "{} rejected names with accents",
                "The pattern allowed ASCII only; letters of every script pass now.",
                "rejecting accented names",
            ),
            (
                "{} was slow for large customers",
                "A query ran for each row; one join does it in forty milliseconds.",
                "so slow for the large customers",
            ),
        ),
        ("why was the {} {}?", "what did we do about the {} {}"),
    ),
    "zh": Language(
        (
            "数据库连接池",
            "登录页面",
            "发票导出",
            "图片缩略图",
            "搜索索引",
            "邮件队列",
            "令牌刷新",
            "夜间备份",
            "购物车",
            "审计日志",
        ),
        (
            ("{}内存耗尽", "每个请求都保留整个响应的副本，现在改为流式处理。", "为什么会耗尽内存"),
            (
                "{}在高负载下超时",
                "超时上限从五秒改为三十秒，并重试三次。",
                "负载高的时候超时怎么办",
            ),
            ("{}重启后丢失记录", "响应之前没有写入，现在先提交再响应。", "重启以后记录丢失了吗"),
            (
                "{}的日期早了一天",
                "午夜按本地时区计算，现在统一转换为协调世界时。",
                "日期为什么早一天",
            ),
            (
                "{}拒绝带重音的姓名",
                "正则只允许英文字母，现在允许所有文字。",
                "为什么不接受带重音的姓名",
            ),
            (
                "{}对大客户很慢",
                "每一行都执行一次查询，合并为一次联接后只要四十毫秒。",
                "大客户用起来慢是什么原因",
            ),
        ),
        ("{}{}", "请问之前的{}{}"),
    ),
    "ja": Language(
        (
            "接続プール",
            "ログイン画面",
            "請求書の出力",
            "画像のサムネイル",
            "検索インデックス",
            "メールキュー",
            "トークン更新",
            "夜間バックアップ",
            "買い物かご",
            "監査ログ",
        ),
        (
            (
                "{}がメモリ不足になった",
                "応答全体の複製を保持していたため、逐次処理に変えた。",
                "メモリ不足の原因は何でしたか",
            ),
            (
                "{}が高負荷でタイムアウトした",
                "上限を五秒から三十秒に延ばし、三回まで再試行する。",
                "タイムアウトは負荷が高いときですか",
            ),
            (
                "{}で再起動後に行が消えた",
                "応答の前に書き込んでいなかったので、先にコミットする。",
                "再起動すると行が消えるのはなぜ",
            ),
            (
                "{}の日付が一日早い",
                "真夜中を現地時間で計算していた。境界で協定世界時に変換する。",
                "日付が一日ずれる理由",
            ),
            (
                "{}が濁点のある名前を拒否した",
                "英字だけを許す正規表現だった。全ての文字を許可する。",
                "濁点のある名前を受け付けない",
            ),
            (
                "{}が大口顧客で遅い",
                "行ごとに問い合わせていた。結合一回で四十ミリ秒になった。",
                "大口顧客のとき遅いのはどうして",
            ),
        ),
        ("{}の{}", "前に直した{}、{}"),
    ),
    "ko": Language(
        (
            "연결 풀",
            "로그인 화면",
            "청구서 내보내기",
            "이미지 미리보기",
            "검색 색인",
            "메일 대기열",
            "토큰 갱신",
            "야간 백업",
            "장바구니",
            "감사 로그",
        ),
        (
            (
                "{} 메모리 부족",
                "요청마다 응답 전체의 사본을 들고 있어서 스트리밍으로 바꿨다.",
                "메모리가 부족한 이유가 뭐였지",
            ),
            (
                "{} 부하가 높을 때 시간 초과",
                "제한을 오 초에서 삼십 초로 늘리고 세 번 재시도한다.",
                "부하가 높으면 시간이 초과되나요",
            ),
            (
                "{} 재시작 후 행이 사라짐",
                "응답 전에 쓰지 않았다. 이제 먼저 커밋한다.",
                "재시작하면 행이 왜 사라지나요",
            ),
            (
                "{} 날짜가 하루 빠름",
                "자정을 현지 시간대로 계산했다. 경계에서 협정 세계시로 바꾼다.",
                "날짜가 하루 빠른 문제",
            ),
            (
                "{} 악센트 있는 이름 거부",
                "정규식이 영문자만 허용했다. 모든 문자를 허용한다.",
                "악센트가 있는 이름을 왜 거부하죠",
            ),
            (
                "{} 큰 고객에게 느림",
                "행마다 질의했다. 조인 한 번으로 사십 밀리초가 되었다.",
                "큰 고객한테 느린 까닭은",
            ),
        ),
        ("{} {}", "지난번 {}에서 {}"),
    ),
    "vi": Language(
        (
            "bể kết nối",
            "trang đăng nhập",
            "xuất hóa đơn",
            "ảnh thu nhỏ",
            "chỉ mục tìm kiếm",
            "hàng đợi thư",
            "làm mới mã thông báo",
            "sao lưu ban đêm",
            "giỏ hàng",
            "nhật ký kiểm toán",
        ),
        (
            (
                "{} hết bộ nhớ",
                "Mỗi yêu cầu giữ bản sao của toàn bộ phản hồi, nay truyền theo luồng.",
                "vì sao bị hết bộ nhớ",
            ),
            (
                "{} quá thời gian khi tải cao",
                "Giới hạn tăng từ năm lên ba mươi giây và thử lại ba lần.",
                "có quá thời gian lúc tải cao không",
            ),
            (
                "{} mất bản ghi sau khi khởi động lại",
                "Chưa ghi trước khi trả lời, nay xác nhận giao dịch trước.",
                "tại sao mất bản ghi khi khởi động lại",
            ),
            (
                "{} hiện ngày sớm một hôm",
                "Nửa đêm tính theo múi giờ địa phương, nay đổi sang giờ quốc tế.",
                "sao ngày lại sớm một hôm",
            ),
            (
                "{} từ chối tên có dấu",
                "Mẫu chỉ cho phép chữ cái tiếng Anh, nay nhận mọi hệ chữ.",
                "không nhận tên có dấu",
            ),
            (
                "{} chậm với khách hàng lớn",
                "Mỗi dòng chạy một truy vấn, gộp thành một phép nối còn bốn mươi mili giây.",
                "chậm với khách hàng lớn là do đâu",
            ),
        ),
        ("{} {}?", "lần trước {} {}"),
    ),
}
_NAMES = (
    "PoolManager",
    "LoginForm",
    "invoice_export",
    "ThumbnailWorker",
    "search-index",
    "mail_queue",
    "refreshToken",
    "backup.timer",
    "CartStore",
    "audit.log",
)
LANGUAGES["mixed"] = Language(
    _NAMES,
    tuple(
        LANGUAGES[language].troubles[place]
        for place, language in enumerate(("zh", "ko", "ja", "zh", "ja", "ko"))
    ),
    ("{} {}", "{} - {}"),
)


def memories() -> Iterator[Memory]:
    """Every part with every trouble in every language."""
    for language, told in LANGUAGES.items():
        for part, name in enumerate(told.parts):
            for trouble, (title, narrative, _) in enumerate(told.troubles):
                key = f"{language}-{part}-{trouble}"
                text = " ".join(title.format(f"{name} " if language == "mixed" else name).split())
                yield Memory(key, language, text[:1].upper() + text[1:], narrative)


def questions() -> Iterator[Question]:
    """Two for each memory: a question, in one of two ways of asking by turns, and the few words
    somebody in haste types: the end of the part's name and the beginning of the question."""
    for language, told in LANGUAGES.items():
        for part, name in enumerate(told.parts):
            for trouble, (_, _, asked) in enumerate(told.troubles):
                form = told.asked[(part + trouble) % len(told.asked)]
                key = f"{language}-{part}-{trouble}"
                split = ("dev", "test")[part % 2]
                yield Question(form.format(name, asked), language, key, split)
                yield Question(_hasty(name, asked, language), language, key, split)


def _hasty(name: str, asked: str, language: str) -> str:
    if language == "mixed":
        return f"{name[:-1].lower()} {asked[:4]}"
    if " " in asked:
        return f"{name.rsplit(maxsplit=1)[-1]} {' '.join(asked.split()[:2])}"
    return f"{name[-2:]} {asked[:4]}"
