"""The words rules go by, in the languages people write to agents in.

Each pattern is a hint, never a proof: a wrong hint costs a type or a duplicate line, not a
false statement, because what is stored is always the user's or the agent's own sentence.
"""

from __future__ import annotations

import re

_COURTESIES = (
    r"(?:done|ok(?:ay)?|sure|great|perfect|excellent|awesome|understood|noted|got it|alright|yes|"
    r"yep|no|absolutely|certainly|of course|all set|all done|finished|completed?|committed|pushed|"
    r"hello|hi|thanks?|thank you|continue|go on|go ahead|proceed|fertig|erledigt|alles klar|klar|"
    r"gerne|verstanden|natürlich|selbstverständlich|ja|weiter|xong|được|vâng|dạ|tuyệt vời|"
    r"hoàn thành|tiếp tục|có|完成了?|好的?|好了|明白了?|没问题|当然|继续|可以|是的?|はい|"
    r"完了(?:しました)?|了解(?:しました|です)?|承知(?:しました|いたしました)?|できました|もちろん|"
    r"かしこまりました|続けて|네|예|완료|알겠습니다|수정했습니다|완료했습니다|계속|готово|хорошо|конечно|"
    r"понял|отлично|сделано|да|продолжай|listo|hecho|claro|perfecto|sí|voilà|terminé|parfait|"
    r"d['’]accord|bien sûr|c['’]est fait|oui|continue[rz]?|fatto|perfetto|certo|va bene|continua|"
    r"feito|pront(?:o|inho)|perfeito|gotowe|zrobione|jasne|oczywiście|tamam(?:dır)?|elbette|"
    r"klaar|prima|selesai|baik|تم|حسنا|بالتأكيد|ठीक है|हो गया|समझ गया|ज़रूर|"
    r"เรียบร้อย(?:แล้ว)?|เสร็จแล้ว|ได้(?:ครับ|ค่ะ)|зроблено|звісно)"
)
FILLER = re.compile(_COURTESIES + r"[\s.!,。！，、]*", re.I)
OPENER = re.compile(
    r"(?!(?:no|hi|yes)\b)"
    + _COURTESIES
    + r"(?:\s{0,3}[!,:;.…—–-]{1,3}(?=\s|$)\s*|[！，。、：]\s*)",
    re.I,
)
COURTESY = re.compile(
    r"(?:(?:great|good|excellent) (?:question|catch|point|idea)|you['’]?re (?:very )?(?:welcome|"
    r"(?:absolutely )?right)|(?:i['’]m )?(?:happy|glad) to|let me\b|feel free|(?:i )?hope (?:this|that)|"
    r"i(?:['’]ll| will) (?:help|now|start|take|look|go|begin|be|wait)\b|here(?:['’]s| is| are) "
    r"(?:a|an|the|what|my|your)\b|in summary|(?:a )?(?:quick |short )?summary\b|to summari[sz]e|all (?:done|set)\b|"
    r"i(?:['’]ve| have) (?:completed|finished)|the (?:task|work|job) (?:is|has been)|"
    r"everything (?:works|is (?:done|set|ready|working|in place))|sounds good|no problem[.!,]|"
    r"(?:is there )?anything else|if you (?:have any|need any|want me|['’]d like)|"
    r"falls (?:du|sie)|wenn (?:du|sie) (?:fragen|noch)|si (?:tu as|vous avez|tienes|necesitas)|nếu (?:bạn|cần)|"
    r"as requested|bonne question|voici\b|n['’]hésite|avec plaisir|"
    r"gute frage|kein problem[.!,]|hier (?:ist|sind) (?:eine|die|meine)\b|lass mich|sag (?:mir )?"
    r"bescheid|melde dich|buena pregunta|por supuesto|aquí (?:está|tienes)|tôi (?:đã hoàn thành|sẽ)|"
    r"đây là (?:tóm tắt|kết quả)|hãy cho tôi biết|câu hỏi hay|好问题|以下是|如果(?:您|你)?(?:还)?(?:有|需要)|"
    r"希望(?:这|对)|(?:迁移|任务|修改|工作|全部)?已(?:经)?(?:全部)?完成|让我|我来|我会|(?:调查|检查)?结果如下|"
    r"总结如下|(?:調査)?結果は(?:以下|次)|以下の(?:通り|とおり|ように)|何か(?:あれば|ご)|お気軽|ご(?:質問|不明)|"
    r"좋은 질문|다음과 같|필요하시면|도움이|отличный вопрос|вот (?:что|итог|краткое)|если (?:нужно|что)|"
    r"дайте знать|давайте)",
    re.I,
)
FIX = re.compile(
    r"\b(?:fix(?:e[sd]|ing)?|bugs?|broken|crash\w*|regression|repair\w*|debug\w*|hotfix|"
    r"fails?|failing|flaky|stürzt|abst[uü]rz\w*|fehlschl\w*|plante|échou\w*|falla\w*|behoben|beheb\w*|fehler\w*|repar\w*|korrigier\w*|corrig\w*|corrij\w*|"
    r"arregl\w*|soluciona\w*|erreur\w*|sửa)\b|lỗi|修复|修正|修好|改好|报错|出错|错误|故障|崩溃|失败|"
    r"バグ|直し|直して|不具合|エラー|クラッシュ|失敗|버그|오류|실패|고쳐|исправ\w*|ошибк\w*|баг|пада(?:ет|ла|л|ют)|упал\w*|"
    r"\b(?:sistema(?:re|rlo|rla|to|ta)|corretto|risolt\w*|conserta\w*|popraw\w*|napraw\w*|düzelt\w*|"
    r"виправ\w*|perbaiki\w*)|أصلح|إصلاح|ठीक कर|แก้ไข",
    re.I,
)
REFACTOR = re.compile(
    r"\b(?:refactor\w*|renam\w*|split (?:up|into|out|the)|move .{1,60} (?:in)?to|clean(?:ed)?[ -]?up|simplif\w*|restructur\w*|reorgani[sz]\w*|"
    r"extract(?:ed|ing)? (?:the |a |into )|dedupli\w*|umbenenn\w*|umbenannt|refaktor\w*|"
    r"vereinfach\w*|refactoris\w*|renomm\w*|refactoriz\w*|tái cấu trúc|đổi tên|tách|aufteil\w*|aufgeteilt)\b|"
    r"重构|重命名|整理代码|拆分|リファクタ\w*|名前を変更|分割|리팩터|리팩토링|분리|рефактор\w*|переимен\w*|"
    r"разбей|разбит\w*|раздел[иё]\w*",
    re.I,
)
FEATURE = re.compile(
    r"\b(?:add(?:s|ed|ing)?|implement\w*|creat(?:e[sd]?|ing)|support\w*|introduc\w*|(?:build|built) (?:an?|the|me|us)\b|"
    r"hinzugefügt|hinzu|füge|ergänz\w*|implementier\w*|erstell\w*|ajout\w*|créé\w*|añad\w*|"
    r"agreg\w*|thêm|tạo)\b|添加|新增|增加|实现|支持|创建|追加|実装|作成|추가|구현|добав\w*|реализ\w*|"
    r"\b(?:aggiun(?:gi|to|ta)\w*|adicion\w*|dod(?:aj|ał)\w*|ekle(?!m)\w*|додай\w*|додав\w*|toevoeg\w*|"
    r"toegevoegd|tambahkan)|أضف|जोड़|เพิ่ม",
    re.I,
)
SECURITY = re.compile(
    r"\bCVE-\d{4}-\d{4,}\b|\bvulnerabilit\w*|\bSQL injection\b|\bXSS\b|\bCSRF\b|\bRCE\b|"
    r"\bSicherheitslücke\w*|漏洞|脆弱性|lỗ hổng|취약점|уязвим\w*",
    re.I,
)
CONTRAST = re.compile(
    r"\b(?:instead of|rather than|not|over|statt|anstatt|sondern|plutôt que|au lieu de|"
    r"en (?:vez|lugar) de)\b|thay vì|而不是|代替|ではなく|の代わり|대신|말고|вместо",
    re.I,
)
_INSTEAD = (
    r"\b(?:use|using|prefer|keep|choose|pick|go|take|want|do|put|make|write|stick|switch|store|"
    r"let['’]s)\b[^.?!\n]{0,100}\b(?:instead|rather than)\b"
)
DECISION = re.compile(
    r"\b(?:don['’]?t|do not)\s+(?!know|understand|see|think|remember|get|have|worry|want to know|"
    r"recall|believe|like what|find|seem|work)\w+|"
    r"(?:^|[,;:.—–-]\s|\band |\bbut |\bplease )(?:never|always|avoid|only use|use only)\b|"
    r"(?:^|[,;.] )no (?:new|more|extra|external|third[- ]party|behaviou?r|breaking|mocks?|api)\b|"
    r"\bmust (?:not|never|always|stay|remain)\b|" + _INSTEAD + r"|\bwe prefer\b|"
    r"\bI prefer\b|\blet['’]?s (?:use|go with|keep|stick|not)\b|\bwe(?:['’]ll| will)? (?:use|go with|"
    r"keep|stick with|decided)\b|\bstick (?:to|with)\b|\buse \S+(?: \S+){0,4},? (?:not|for (?:all|"
    r"every|this project|new))\b|\bfrom now on\b|\bno longer\b|\bdecided\b|\bdecision\b|"
    r"^remember\b|\bremember that\b|"
    r"\b(?:statt|anstatt|niemals|sondern|ab jetzt|künftig|grundsätzlich|merk dir|lieber|"
    r"bitte (?:nicht|kein\w*)|auf keinen fall|(?:nicht|nichts) (?:anfassen|ändern|verwenden|benutzen|löschen))\b|"
    r"(?:^|[,;:.] |\bbitte )(?:nie|immer)\b|\bverwende\w* .*(?:nicht|kein)|\bkeine? .{1,40} verwenden|"
    r"\b(?:plutôt que|au lieu de|désormais|n['’](?:utilis|ajout|enlèv|effac|install)\w+|"
    r"ne .{1,30} jamais|ne (?:touche|change|modifie|supprime|mets|fais|casse)\w* (?:pas|rien|plus)|"
    r"toujours utiliser)\b|"
    r"\b(?:en vez de|en lugar de|nunca|siempre|a partir de ahora|no (?:uses|toques|cambies|borres))\b|"
    r"đừng|không được|không dùng|hãy dùng|thay vì|bắt buộc|từ nay|phải luôn|luôn luôn|"
    r"不要|别(?=[用再把改动碰删])|請用|请用|请使用|改用|必须|必須|禁止|以后|统一用|统一使用|不许|不准|"
    r"优先|而不是|决定|決定|采用|採用|记住|記住|"
    r"しないで|使わない|ではなく|の代わりに|必ず|今後は|覚えて|方針|を使って|にすること|"
    r"하지 ?마|말고|대신|반드시|앞으로|항상|"
    r"(?:^|[.,;!—–-]\s+)не \w+(?:й|йте|и|ите|ь|ьте)\b(?! бы)|"
    r"вместо|всегда|никогда|теперь всегда|запомни|"
    r"\bnon (?:usare|toccare|cambiare|modificare|aggiungere|cancellare|mettere)\b|\b(?:invece di|"
    r"d['’]ora in poi|mai più)\b|\bnão (?:us|mex|mud|alter|adicion|toque|apag|coloqu)\w*|"
    r"\b(?:em vez de|a partir de agora|sempre us\w+)\b|"
    r"\bnie \w+(?:aj|uj|ij|yj|ań|suń)(?:cie)?\b|\b(?:nigdy|zawsze|zamiast|od teraz)\b|"
    r"\b(?:asla|her zaman|bundan sonra|\w+[ae] dokunma|\w*(?:kullan|değiştir|ekle|sil)m[ae](?:yın|yin)?)\b|"
    r"\b(?:nooit|voortaan|in plaats van|niet (?:gebruiken|wijzigen|aanraken))\b|"
    r"\b(?:jangan|mulai sekarang)\b|\b(?:завжди|ніколи|замість|відтепер)\b|"
    r"(?<!\w)لا ت\w{3}|(?<!\w)(?:دائما|أبدا|بدلا من)|(?<!\S)मत (?=\S)|कभी नहीं|हमेशा|के बजाय|"
    r"ห้าม|อย่า|แทนที่จะ|ต่อไปนี้",
    re.I,
)
CAUSE = re.compile(
    r"\b(?:because|caused? by|root cause|the cause|reason|due to|turns? out|so that|which means|"
    r"instead of|rather than|note that|careful|beware|requires?|depends on|only works?|must|"
    r"never|weil|ursache|grund|wegen|deshalb|achtung|à cause|parce que|porque|debido)\b|"
    r"因为|原因|由于|导致|所以|注意|必须|なぜなら|原因|ため|ので|注意|必ず|"
    r"때문|원인|주의|vì|do đó|nguyên nhân|bởi|lưu ý|потому|причин\w*|из-за|"
    r"\b(?:perché|poiché|a causa|ponieważ|przyczyn\w*|çünkü|nedeni|yüzünden|omdat|karena)\b|"
    r"لأن|السبب|بسبب|क्योंकि|कारण|เพราะ|เนื่องจาก",
    re.I,
)
NEXT = re.compile(
    r"\b(?:next steps?|next,|to ?do|remaining|remains|still (?:need|fail|miss|open|to)\w*|not yet|"
    r"follow[- ]?up|left to do|you (?:may|might|should|could|still)|would you like|shall I|"
    r"should I|nächste\w* schritt\w*|als nächstes|noch (?:offen|zu)|offen bleibt|fehlt noch|"
    r"reste à|prochaine étape|pendiente|siguiente paso|falta)\b|"
    r"下一步|接下来|待办|尚未|还需要|还没|剩下|剩余|次は|次のステップ|残り|未対応|まだ|"
    r"다음 단계|다음으로|남은|아직|bước tiếp theo|tiếp theo|còn lại|chưa|следующ\w* шаг|осталось|"
    r"\b(?:resta da|rimane da|manca ancora|pozostał[oay]|zostało|kalan iş|henüz|nog te|belum)\b|"
    r"متبقي|लंबित|बाकी है|ยังไม่|залишилось",
    re.I,
)
QUESTION = re.compile(r"[?？]\s*$")


def decisions(sentences: list[str]) -> list[str]:
    """The sentences that state a choice, a rule or a refusal; questions state none."""
    return [one for one in sentences if DECISION.search(one) and not QUESTION.search(one)]
