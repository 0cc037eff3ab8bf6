"""The terms of a text that could name a memory, as the index knows them. HOT; pure.

Everyday words are left out, names of code count double, and a sign of a script without spaces
counts half: its neighbour is in the same gram. Plain ASCII, as most prompts are, needs no import.
"""

MOST = 24
LOOKED_AT = 4_000
SHORTEST = 3
NAME, WORD, PAIR, TRIPLE = 2.0, 1.0, 0.5, 0.34

_NOT_WORD = {code: " " for code in range(128) if not chr(code).isalnum()}
_TYPED = str.maketrans({
    "\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": " ", "\u2014": " ",
    "\u2026": " ", "\u00a0": " ",
})  # fmt: skip
_EDGES = "`'\"()[]{}<>,;:!?.*#|=&%$"
_ENDINGS = ("s", "t", "re", "ve", "ll", "d", "m")
# What says nothing of a matter: words of every sentence, and of every wish to an agent.
_EVERYDAY = """
    a about above across actually add added adding after again against ago ahead all almost alone
    along already also although always am among an and another any anybody anymore anyone anything
    anyway apart apply are around as ask asked at away back bad based be became because become been
    before began begin being below best better between big bit both bring broke broken build built
    but by call called came can cannot change changed changes check checked clean cleanup clear
    close code come comes coming commit compare complete complex consider could correct create
    created currently date day days decide decided delete describe did different directly do does
    doing done down draft draw drop during each easier easy edit either else end ends enough etc
    even ever every everybody everyone everything exactly example explain extend far fast few file
    files final finally find fine first five fix fixed fixes fixing follow following for found four
    from full function functions further gave generate get gets getting give given gives go goes
    going gone good got great had hand handle happen happens hard has have having he help her here
    hers him his hour hours how however i if implement improve in including inside instead into is
    it its itself just keep kept kind knew know known large larger last later latest least left less
    let lets like likely line lines list little long longer look looked looking looks lot made main
    maintain make makes making many mark matter may maybe me mean means measure method might mine
    minute minutes month months more most move moved much must my name named names near need needed
    needs neither never new newer next night no nobody none nor not nothing now number of off often
    ok okay old older on once one ones only open or other others otherwise our ours out over own
    part parts people per perhaps person place plan please plus point possible pretty previous
    probably problem program project proper properly provide pull push put puts question quick
    quickly quite raise ran rather read reads ready real really reason refactor remember remove
    removed rename replace report result return returned review rewrite right run running runs said
    same saw say says second see seem seems seen send sent set sets several shall she short should
    show shown shows simple simply since single sit small so some somebody somehow someone something
    sometimes soon sort speaks start started starts state stay step still stop stopped stops such
    support sure suspect take taken takes taking task tell test tested testing tests than thank
    thanks that the their theirs them then there these they thing things think this those though
    thought three through thus time times to today together tomorrow too took tried tries try trying
    turn turned two type under until up update updated upon us use used useful user users uses using
    usual usually value values version very via wait want wanted wants was way ways we week weeks
    well went were what whatever when where whether which while who whole whom whose why will wish
    aren couldn didn doesn don hadn hasn haven isn shouldn wasn weren wouldn
    with within without won wonder word words work worked working works worse would write writing
    written wrong year years yes yesterday yet you your yours
    als am an auch auf aus bei bitte das dass dem den der des die doch ein eine einem einen einer
    er es für hat hier ich ihr im in ist ja kann man mein mich mir mit nach nicht noch nur oder
    schon sein sich sie sind so über um und uns vom von vor war warum was weil wenn wer werden wie
    wieder wir wird wo zu zum zur nehme lass bleibt steht
    au aux avec ce ces cette comme dans de des du elle en est et il je la le les leur ma mais me
    mon ne nous on ou où par pas plus pour pourquoi quand que quel quelle qui sa sans se son sur
    tu un une va vous
    al como con cuando del donde el ella ese esta este esto hay las los mi muy no para pero por
    porque que qué se si sin su un una y ya
    bị bởi các cái cho chưa có của cùng cũng đã đang đây đến để đi đó được hãy hay khi không là
    lại làm lên mà mình một này nên ở ra rồi sao sẽ tại thì tôi trong từ và vào vì với viết xin
"""
EVERYDAY = frozenset(_EVERYDAY.split())
_COMMON_GRAMS = """
    什么 么时 时候 怎么 为什 是不 不是 一下 帮我 我看 看看 我们 你们 可以 不能 能不 没有 这个 那个
    哪个 因为 所以 如果 现在 已经 还是 就是 不对 请继 继续 使用 问题 原因 今天 解释 说明
    して てい いる ます です ださ くだ さい てく した ない ある する れる ての のは には では とは
    った って なっ どう うな せん ませ たい ほし しい なぜ はど こと もの から まで よう 이거 해요
    하나 나요 세요 해주 주세 어디 디서 했어 어요 는지 그리 에서 으로 하게
"""
_EVERYDAY_GRAMS = frozenset(_COMMON_GRAMS.split())


def of_text(text: str) -> "list[tuple[str, float]]":
    """(expression for the index, how much it counts) of each term, names first, at most
    ``MOST``."""
    names: dict[str, float] = {}
    words: dict[str, float] = {}
    for chunk in text[:LOOKED_AT].translate(_TYPED).split():
        if "://" in chunk:
            continue
        bare = chunk.strip(_EDGES)
        if not bare.isascii():
            _add_runs(words, bare)
            continue
        name = unplaced(bare.rpartition("/")[2].strip(_EDGES))
        pieces = _pieces(name)
        if _is_name(name, pieces):
            names.setdefault(quoted(" ".join(pieces)), NAME)
            continue
        for piece in _pieces(bare):
            _add_word(words, piece)
    found = [*names.items(), *words.items()]
    return found[:MOST]


def quoted(terms: str) -> str:
    """Terms one after the other, as one phrase of the index."""
    return '"' + terms.replace('"', '""') + '"'


def plain(text: str) -> str:
    """The text as words: in small letters, without other signs."""
    return text.lower().translate(_NOT_WORD)


def unplaced(name: str) -> str:
    """A file's name without the line it is named at."""
    head, mark, tail = name.partition(":")
    return head if mark and tail.replace(":", "").isdigit() else name


def _pieces(name: str) -> list[str]:
    head, mark, tail = name.partition("'")
    if mark and tail.lower() in _ENDINGS:
        name = head
    return name.lower().translate(_NOT_WORD).split()


def _is_name(name: str, pieces: list[str]) -> bool:
    """Whether it is a name of code: ``a_b``, ``a.py``, ``aB``."""
    if len(name) < 4 or not pieces or not name[-1].isalnum() or "@" in name:
        return False
    if "_" in name.strip("_"):
        return True
    head, dot, tail = name.partition(".")
    if dot and head and tail and (tail[:1].isalpha() or head[:1].isalpha()):
        return True
    inner = name[1:]
    return name.isalnum() and not inner.islower() and not inner.isupper() and name[0].isalpha()


def _add_word(found: dict[str, float], word: str) -> None:
    if word.isdigit() or len(word) < SHORTEST or word in EVERYDAY:
        return
    # The index has stems; of two forms of a word one is enough.
    if not any(quoted(form) in found for form in (word, word + "s", word.removesuffix("s"))):
        found[quoted(word)] = WORD


def _add_runs(found: dict[str, float], text: str) -> None:
    from cmem.store import segment

    for run, gram in segment.runs(text):
        if not gram:
            _add_word(found, run)
            continue
        for at in range(len(run) - gram + 1):
            piece = run[at : at + gram]
            if piece not in _EVERYDAY_GRAMS:
                found.setdefault(quoted(piece), PAIR if gram == 2 else TRIPLE)
