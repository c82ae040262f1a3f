"""The signs by which one sees that words are another's, as patterns of lines and sentences.

A head, a signature, an entry of a chat, a form, an introduction: each in the languages and the
programs that people paste from. What a sign claims of a text is said in `quotations`.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Final

from constat.patterns import regex

# Stands for each character of another's words where a text is searched; no blank, and in no word.
HOLE: Final = "\ufffc"

# -- Compacted text that came back ----------------------------------------------------------------
PLACE: Final = r"@(?:[\w][\w .-]{0,59}:)?m[0-9]{1,9}(?:\.[0-9]{1,9})?(?:\[[0-9]+:[0-9]+\])?"
ENDS: Final = regex(rf"(?<=[\s\"\\;|]){PLACE}[\s\"'`,\\]*$")
PLACES: Final = regex(rf"(?<=[\s\"\\;]){PLACE}(?=[\s\"\\]|$)")
QUOTE_MARK: Final = r"(?:\"|\\\"|&quot;|&\#34;|“)"
HEADS: Final = regex(
    rf"""^[\s>|*\"'-]*(?:
      (?:task|constraint|preference|pending|done|error|said|quoted|decision)
        (?:\s+(?!{QUOTE_MARK})\S{{1,60}})?(?:\s+{QUOTE_MARK}|\s*$)
    | call\s+\S{{1,120}}\s+\S{{1,120}}(?:=|:\s|\|)
    | \S{{1,120}}\s+-(?:>|&gt;)\s+\S{{1,120}}(?:=|:\s|\|)
    | \S{{1,120}}\s+-(?:>|&gt;)\s+{QUOTE_MARK}
    )""",
    re.VERBOSE,
)
# The headings of summaries that other designs of compaction write (`profiles`): these have no lines
# that can be told from others, so all behind such a heading is theirs.
SUMMARIES: Final = regex(
    r"\[CONVERSATION SUMMARY\]|^[\s>]*#{1,4}\s*"
    r"(?:Session|Conversation|Checkpoint|Context|Completed\s+Work)\s+(?:Summary|Checkpoint)\b",
    re.IGNORECASE,
)

# -- What shows that words are another's ----------------------------------------------------------
SAYS: Final = (
    r"(?:says?|said|wrote|writes|written|reads?|states?|stated|told|tells|claims?|claimed|asks?"
    r"|asked|demands?|demanded|replie[sd]|answers?|answered|insists?|insisted|warns?|warned"
    r"|posted|sent|texted|emailed|mailed|messaged|wants|wanted|shows?|showed|prints?|printed|returns?|returned|goes|added|adds|mentions"
    r"|mentioned|explains|explained|responded|instructs|instructed|reported|reports|announced"
    r"|schrieb|schreibt|sagte?|meinte|écrit|écrivait|dit|escribió|dice|dijo|scrive|ha scritto)"
)
NOUNS: Final = (
    r"(?:e-?mails?|mails?|messages?|letters?|logs?|logfile|output|results?|response|documents?"
    r"|docs?|files?|texts?|transcripts?|chats?|threads?|tickets?|comments?|reviews?|articles?"
    r"|pages?|(?:web)?sites?|webpage|readme|paste|quotes?|quotation|errors?|traces?|traceback"
    r"|report|contract|snippet|excerpt|memo|posts?|tweet|sms|invoice|pdf|descriptions?|contents?"
    r"|summary|block|context|reply|answer|feedback|complaint|paragraph|passage|sentence|section"
    r"|conversation|history|dump|json|xml|html|yaml|csv|table|config|code|stack ?trace|data"
    r"|listing|screenshot|ocr|voicemail|newsletter|faq|wiki|terms|clause|policy|prompt"
    r"|nachricht|protokoll|brief|courriel|correo|mensaje)"
)
SHOWN: Final = (
    r"(?:here(?:['\u2019]s|\s+is|\s+are|\s+comes?)|this\s+is|these\s+are|that\s+is|it\s+is|below"
    r"|following|attached|pasted?|pasting|forward(?:ed|ing)?|fwd?|from|by|got|received|found|saw"
    r"|quot(?:e|ed|ing)|cop(?:y|ied)|see|came|came\s+back|arrived|hier|voici|aquí|aqui)"
)
WORK_ON: Final = (
    r"(?:translate|summari[sz]e|proof-?read|re-?phrase|correct|re-?write|reword|explain|analy[sz]e"
    r"|classify|paraphrase|shorten|format|extract|reply\s+to|answer|respond\s+to|read|look\s+at"
    r"|what\s+does|what\s+do\s+you\s+think|review|comment\s+on|parse|convert|transcribe|improve"
    r"|edit|critique|tag|label|categori[sz]e)"
)
FEW_WORDS: Final = r"(?:[\w'\u2019-]+(?:\.[\w-]+)*\s+)"
WHOSE: Final = r"(?:the|my|our|his|her|their|this|that|your|an?|some|one|its)\s+"
# A person, thing or text that says something; never the one who writes.
SUBJECT: Final = (
    rf"(?:(?<!\bas\s)\b{WHOSE}{FEW_WORDS}{{1,5}}?"
    r"|\b(?:he|she|they|it|you|someone|somebody|everyone)\s+"
    r"|(?-i:\b(?!(?:I|We|Please|And|But|If|When|As|Never|Always|Do|Also|Then|What|How|Not|Only)\b)"
    r"[A-Z][\w'\u2019.-]+)\s+(?:\([^)\n]{0,60}\)\s+)?)(?<!\bI\s)(?<!\bwe\s)"
)
# The same without whom it speaks to, and without a joint of two sentences in it.
ANOTHER: Final = (
    r"(?:(?<!\bas\s)(?<!\bif\s)\b(?:the|my|our|his|her|their|an?|one|its)\s+"
    r"(?:(?!(?:I|you|we|and|or|but|to|for|that|which|if|when|where)\b)[\w'\u2019-]+\s+){1,4}?"
    r"|\b(?:he|she|they|someone|somebody|everyone)\s+"
    r"|(?-i:\b(?!(?:I|We|You|This|That|It|Please|And|But|If|When|As|Never|Always|Do|Also|Then|What|How|Not|Only)\b)"
    r"[A-Z][\w'\u2019.-]+)\s+)"
)
ADVERBS: Final = (
    r"(?:(?:just|also|then|now|once|clearly|explicitly|has|have|had|literally|only|even)\s+)*"
)
MINE: Final = regex(
    rf"\b(?:I|we)\s+(?:(?:just|already|also|have|had|did|only|really|'ve|still)\s+)*{SAYS}\b"
    r"(?!\s+(?:in|on|from|that\s+the|it\s+from))"
    r"|\b(?:rules?|requirements?|constraints?|conditions?|preferences?|wishes|limits?|remember"
    r"|keep\s+in\s+mind|(?:do|observe|respect|follow|consider|mind|meet|satisfy|obey|apply|keep\s+to"
    r"|stick\s+to)\s+(?:all\s+)?(?:of\s+)?(?:the\s+following|these|this)|note\s+that"
    r"|what\s+(?:I|we)\s|(?:I|we)(?:['\u2019]d|\s+would)?\s+(?:want|need|like|wish|prefer)\b"
    r"|my\s+(?:\w+\s+)?(?:instructions?|task|request|goal|question|answer|wish|order))\b",
    re.IGNORECASE,
)
# No colon within a time of the day or an address.
COLON: Final = ":(?![0-9/])"
REST: Final = r"\b[^.!?\n:]{0,80}"
# What ends with a colon and has another's words behind it, in alternatives.
CUE: Final = regex(
    "|".join(
        f"(?:{one})[^.!?\\n:]{{0,60}}{COLON}"
        for one in (
            rf"{SUBJECT}{ADVERBS}{SAYS}\b",
            rf"^\W*{SUBJECT}[^.!?\n:]{{0,60}}\b{SAYS}\b",
            rf"\b{SHOWN}{REST}\b{NOUNS}\b",
            rf"\b{NOUNS}{REST}\b{SHOWN}\b",
            r"\b(?:here\s+(?:it\s+is|you\s+(?:go|are)|they\s+are)|see\s+below|pasted?|quote)\b",
            r"\bthe\s+following\b",
            r"\b(?:vendor|boss|bank|landlord|seller)(?:['\u2019]s)?\b",
        )
    )
    + rf"|\b{WORK_ON}(?:\s+(?:me|us|please|all|of|for|just))*(?:\s+(?:this|these|it|that|below"
    rf"|this\s+(?:out|aloud)|the\s+following|(?:the|my|our|his|her|their)\s+{FEW_WORDS}{{0,3}}?{NOUNS}|{NOUNS}))?"
    rf"(?:\s+{NOUNS})?(?:\s+(?:below|into\s+\w+|to\s+\w+|for\s+me|please))*\s*{COLON}"
    r"|^\W*(?!(?:answer|reply|review|comment|quote|post|report|code|format)\b)"
    r"(?:(?:the|my|our|his|her|their|this|that|an?|original|new|full|raw)\s+){0,3}"
    rf"{FEW_WORDS}{{0,2}}{NOUNS}(?:\s+(?:from|by|of|to|on|in)\b[^.!?\n:]{{0,60}})?"
    rf"\s*(?:\([^)\n]{{0,60}}\))?\s*(?:{COLON}|\s[-\u2013\u2014]+\s)",
    re.IGNORECASE | re.MULTILINE,
)
# Without a colon: "the mail says that ...", "according to the page, ...".
REPORTED: Final = regex(
    rf"(?:{SUBJECT}{ADVERBS}(?:says?|said|wrote|writes|states|stated|claims?|claimed"
    r"|tells(?=\s+(?:me|us|you|him|her|them)\b)|told|demands?|demanded|insists?|insisted|warns?"
    r"|warned|reads|ordered|instructs|instructed|replied|answered|mentions|mentioned|announced"
    r"|explained|texted|emailed|messaged)\b"
    r"|\b(?:according\s+to|(?-i:Per|per)\s+(?=the|his|her|their))\s*(?!me\b|us\b|my\b|our\b)"
    r"|\b(?:I|we)\s+(?:was|were|am|are|got)\s+(?:told|asked|warned|instructed|ordered)\b|\bquote\s*[,:]"
    r"|\b(?:it|there)\s+(?:says|said|reads|is\s+written)\b"
    # "She wants me to ...", "the vendor would like that ...", "her condition is that ..."
    rf"|{ANOTHER}{ADVERBS}(?:wants?|wanted|needs?|needed|would\s+(?:like|love|prefer)|asks?|asked"
    r"|expects?|expected|begs?|begged|urges?|urged|advises?|advised|orders?|requires?|required"
    r"|requests?|requested|reminds?|reminded|forces?|forced|commands?|commanded|invites?|invited"
    r"|encourages?|encouraged|pressures?|pressured|tells?)\s+"
    r"(?:me|us|you|him|her|them|everybody|everyone|people|all|(?:the|my|our|his|their)\s+\w+"
    r"|(?-i:[A-Z])[\w.-]+)\s+(?:(?:always|never|only|not|please)\s+)*to\b"
    rf"|{ANOTHER}{ADVERBS}(?:wants?|wanted|asks?|asked|expects?|expected|requests?|requested"
    r"|suggests?|suggested|recommends?|recommended|proposes?|proposed|thinks?|thought|believes?"
    r"|believed|hopes?|wishes|wished|prefers?|preferred|argues?|argued|adds?|added|reports?|reported)\s+that\b"
    r"|\b(?:his|her|their|(?-i:[A-Z])[\w.-]+['\u2019]s)\s+(?:\w+\s+)?(?:conditions?|demands?|orders?|rules?"
    r"|requests?|wish(?:es)?|instructions?|advice|message|words)\s+(?:is|are|was|were)\b"
    r"|\b(?:in|by)\s+(?:his|her|their|(?-i:[A-Z])[\w.-]+['\u2019]s)\s+(?:words?|view|opinion|orders?)\b)"
    rf"(?:[^.!?\n{HOLE}]|[.!?](?=[^\s{HOLE}]))*[.!?]*",
    re.IGNORECASE,
)
TAKEN: Final = (
    r"(?:copied|copy|pasted?|quot(?:ed?|es|ations?)|taken|excerpts?|excerpted|extracts?|extracted"
    r"|forwarded|snippets?|screenshot|verbatim|text|parts?|straight|lifted|cited|citation|auszug|extrait|extracto)"
)
# A sentence without a colon, with another's words at once behind it: "The following is from ...".
FOLLOWING: Final = regex(
    r"\b(?:the\s+following|what\s+follows|everything\s+below|the\s+rest)\b[^.!?\n:]{0,30}"
    r"\b(?:is|was|are|were|comes?|came|has\s+been|stands?)\b[^.!?\n:]{0,40}"
    r"\b(?:from|by|in|on|copied|pasted|quoted|taken|written|sent|verbatim)\b[^.!?\n:]{0,60}(?:[.!?]+|$)",
    re.IGNORECASE,
)
# A sentence that works on what can only be what follows it, if nothing else shows where that is:
# "Please answer this mail.", "Here is the mail."
TEXTS: Final = (
    r"(?:e-?mails?|mails?|messages?|letters?|tickets?|posts?|comments?|reviews?|complaints?|tweet|sms|articles?"
    r"|texts?|paragraphs?|passages?|threads?|chats?|transcripts?|quotations?|newsletter|announcement|description)"
)
MEANT: Final = regex(
    rf"\b{WORK_ON}(?:\s+(?:me|us|please|all|of|for|just|to|what))*\s+(?:this|these)\s+{FEW_WORDS}{{0,2}}?"
    rf"{TEXTS}\b[^.!?\n:]{{0,50}}[.!?\u2026]*\s*$"
    r"|\b(?:here(?:['\u2019]s|\s+is|\s+are|\s+comes)|this\s+is)\s+(?:the|my|our|his|her|their|an?|this)\s+"
    rf"{FEW_WORDS}{{0,3}}?{TEXTS}\b[^.!?\n:]{{0,50}}[.!\u2026]*\s*$"
    r"|\b(?:reply|respond|react)\s+to\s+this\?\s*$",
    re.IGNORECASE,
)
# The same of somebody's one text, where the line ends and another paragraph begins: "Answer Bob's
# mail.". What is said to a program begins otherwise than what somebody tells.
_STOP: Final = r"(?:[.!?\u2026]+(?=\s|$)|\s*$)"
_THE_ONE: Final = rf"(?:the|his|her|their|(?-i:[A-Z])[\w-]*['\u2019]s)\s+{FEW_WORDS}{{0,2}}?"
_ONE_TEXT: Final = rf"(?!\w+s\b(?<!sms)){TEXTS}\b[^.!?\n:]{{0,50}}"
MEANT_BELOW: Final = regex(
    rf"\b(?:{WORK_ON}|what\s+does|here\s+is|here\s+comes)(?:\s+(?:me|us|please|to|what))*\s+"
    rf"{_THE_ONE}{_ONE_TEXT}{_STOP}"
    r"|\b(?:I|we|there)(?:['\u2019]ve|\s+have|\s+is|['\u2019]s)?\s+(?:just\s+)?(?:(?:got|received|had|have)\s+)?"
    rf"(?:this|an?|the)\s+{FEW_WORDS}{{0,2}}?{_ONE_TEXT}{_STOP}"
    r"|(?<![\w.])(?-i:[A-Z])[\w-]*\s+(?:sent|wrote|mailed|texted)\s+(?:me|us|an?)\b"
    rf"[^.!?\n:]{{0,50}}{_STOP}"
    r"|\b(?:reply|respond|react)\s+to\s+(?:(?-i:[A-Z])[\w-]*|him|her|them)(?:\s+for\s+me)?"
    rf"{_STOP}"
    rf"|\b(?:handle|answer|translate|summari[sz]e|deal\s+with|look\s+at)\s+this(?:\s+one)?{_STOP}"
    r"|\b(?:tell\s+me\s+)?what\s+(?:(?-i:[A-Z])[\w-]*|he|she|they)\s+(?:wants?|says?|means?)"
    rf"(?:\s+here)?{_STOP}"
    r"|\bis\s+(?:this|that)\s+(?:true|right|correct|real|a\s+scam|spam)\?"
    r"|\bwhat\s+(?:should|shall|do|can)\s+(?:I|we)\s+(?:say|answer|reply|do)\?",
    re.IGNORECASE,
)
SPEAKS: Final = regex(
    r"^\W*(?:please|never|always|only|do|don['\u2019]t|if|when|unless|in|for|at|with|without|no|not|and|but|also|first"
    r"|then|make|keep|use|write|be|say|tell|ask|mention|include|avoid|add|start|begin|end|reply|answer|offer|promise"
    r"|give|let|try|check|sign|send|put|stay|remember|note|ensure|limit|leave|thank|apologi[sz]e|refuse|decline|accept"
    r"|explain|translate|summari[sz]e|it\s+(?:must|should|may|has)|they\s+(?:must|should)|you(?:r)?|my|our"
    r"|the\s+(?:answer|reply|response|tone|summary|translation|text|mail|message|letter|result|output|draft)|what"
    r"|how|why|who|where|is|are|can|could|would|should|will|i\s+(?:want|need|would|prefer|like)|we\s+(?:want|need))\b",
    re.IGNORECASE,
)
# A sentence or a line that is a title of what somebody wrote: "Mail from Bob, 3 March."
TITLED: Final = regex(
    r"(?:^[\W_]*|(?<=[.!?]\s))(?i:(?:an?|the|my|our|his|her|their|this|new|another)\s+){0,2}(?:[\w-]+\s+)?"
    r"(?i:e-?mails?|mails?|messages?|letters?|tickets?|posts?|comments?|reviews?|reply|replies|complaint|tweet|sms)"
    r"\s+(?:from|of|by|von|de|da)\s+(?:(?:the|my|our|his|her|their|an?)\s+\w+|[A-Z][\w'\u2019-]*)"
    r"(?:\s[A-Z][\w'\u2019-]*){0,3}(?:[,\s]+\(?[^.!?\n:]{0,12}[0-9][^.!?\n:]{0,20})?(?:[.!?]+(?=\s|$)|[*_\s]*$)"
    # "Bob's mail:", "Bob's mail of today"; "Incoming mail", "E-mail body".
    r"|(?:^[\W_]*|(?<=[.!?]\s))[A-Z][\w-]*['\u2019]s\s+(?i:e-?mail|mail|message|letter|reply|comment|review|post)"
    r"(?:\s+(?:of|from)\s+\w+)?\s*(?::(?=\s|$)|$)"
    r"|^[\W_]*(?i:(?:incoming|attached|forwarded|original|received|pasted)\s+(?:e-?mail|mail|message|letter)"
    r"|(?:e-?mail|mail|message|letter)\s+(?:body|text|content))[\W_]*$"
)
# Sentences and titles with another's words in the lines below: "* From the wiki *".
ABOVE: Final = regex(
    "|".join(
        (
            rf"\bthe\s+following\s+{FEW_WORDS}{{0,2}}?{NOUNS}\b",
            (
                r"\b(?:below|here)\s+(?:is|are|comes?|follows?)\b[^.!?\n:]{0,60}"
                rf"\b{NOUNS}\b[^.!?\n:]{{0,60}}\b(?:from|by|I\s+(?:got|received|found|was\s+sent))\b"
            ),
            rf"\b{NOUNS}\b[^.!?\n:]{{0,40}}\b(?:is|are|stands?|pasted|quoted|copied)\s+below\b",
            rf"\b{NOUNS}\s+below\s*(?:[.!?,;]|$)",
            # Without a colon: what it is about can only stand below.
            (
                rf"\b{WORK_ON}(?:\s+(?:me|us|please|all|of|for))*\s+the\s+following"
                r"(?:\s+(?:please|for\s+(?:me|us)))?[\s.,]*$"
            ),
            rf"\b(?:the|this|his|her|their)\s+{FEW_WORDS}{{0,2}}?{NOUNS}\s+(?:says|said|reads|read|goes)[\s.]*$",
            rf"\b{NOUNS}\b[^.!?\n:]{{0,40}}\b(?:follows|as\s+follows)\b",
            (
                r"\b(?:past(?:ed?|ing)|quot(?:ed?|ing)|cop(?:ied|y|ying)|forward(?:ed|ing)?)\b"
                r"[^.!?\n:]{0,60}\bbelow\b"
            ),
            (
                r"\b(?:this|that|it|these)(?:\s+(?:is|was|are|were|comes?|came)|['\u2019]s)\s+"
                rf"(?:(?:an?|{TAKEN}|directly|all|just|sent)\s+){{0,3}}from\b"
            ),
            (
                rf"\b{TAKEN}\s+(?:(?:it|this|them|straight|directly)\s+){{0,2}}(?:from|out\s+of)\b"
                rf"[^.!?\n:]{{0,40}}\b{NOUNS}\b"
            ),
            (
                r"\b(?:got|received|found|copied|pasted|quote|took)\s+(?:this|these|the\s+following)\s+"
                r"(?:\w+\s+){0,3}?(?:from|in|on|by)\b"
            ),
            (
                r"\b(?:here|this|that|below|following)(?:['\u2019]s|\s+is|\s+was|\s+are)?\s+(?:exactly\s+)?what\s+"
                rf"(?!I\b|we\b|you\b)[^.!?\n:]{{1,60}}\b{SAYS}\b"
            ),
            r"\b(?:sent|gave|mailed|texted|forwarded|wrote|told)\s+(?:me|us)\s+(?:this|these|the\s+following)\b",
            r"\bthis\s+(?:just\s+)?(?:came\s+in|arrived)\b",
            (
                rf"^[\W_]*(?:(?:an?|the)\s+)?(?:{TAKEN}\s+(?:from|of|by|in|on|out\s+of)|from|source|aus"
                r"|tir\u00e9\s+d[eu])[\s:]+"
                rf"(?:(?:the|my|our|his|her|their|this|that|your|an?|dem|der|du|la|le|el|del)\s+)?"
                rf"(?:[\w.'\u2019#/-]+\s+){{0,3}}?{NOUNS}"
                r"(?:\s+(?:of|by|from|in|on|about)\s+[^.!?\n:]{1,40}|\s+[#\w-]{1,20})?[\W_]*$"
            ),
        )
    ),
    re.IGNORECASE,
)
SELF: Final = regex(
    rf"\b(?:I|we)\s+(?:(?:just|already|also|have|had|did|only|really|once|still)\s+)*"
    rf"(?:{SAYS}|repeat|mean|meant)\b[^.!?\n]{{0,40}}$"
    r"|\b(?:my|our)\s+(?:own\s+)?(?:words|rule|wish|condition|request|instruction)s?\b"
    r"[^.!?\n]{0,40}$",
    re.IGNORECASE,
)
MAIL: Final = regex(
    r"^[\s>*_]*(?:(?:From|To|Cc|Bcc|Subject|Sent|Reply-To|Message-ID|Received|MIME-Version|Return-Path"
    r"|Content-[A-Z][\w-]{2,30}|Von|Gesendet|Betreff|De|Objet|Asunto|Oggetto)[*_]*:[*_]*\s+\S"
    r"|-{2,}\s*(?:Original|Forwarded|Weitergeleitete|Urspr)"
    r"|Begin\s+forwarded\s+message|Anfang\s+der\s+weitergeleiteten|D\u00e9but\s+du\s+message|Inizio\s+messaggio"
    r"|Inicio\s+del\s+mensaje|Begin\s+doorgestuurd|On\b.{4,100}\bwrote:|Am\b.{4,100}\bschrieb\b.{0,60}:|Le\b.{4,100}\ba\s+écrit\s*:"
    r"|(?i:date|datum|fecha|data):\s+(?:[^\W\d]{2,9}\.?,\s)?[0-9]{1,2}\.?\s[^\W\d]{3,9}\.?\s[0-9]{4}"
    r"|(?:FW|Fw|fw|FWD|Fwd|fwd|WG|TR|RV):\s+\S"
    # Who sent it, with an address: "Bob Miller <bob@a.example>  10:03".
    r"|(?:(?:From|Von|De|Da)\s)?(?:[^\W\d_][\w.'\u2019-]*[\s,]+){1,4}[<(\[][\w.+-]+@[\w.-]+[>)\]]"
    r"|On\b[^.!?\n]{4,100}\bwrote\s*$|From\s\S+@\S+\s"
    r"|(?:[A-Z][\w.'\u2019-]*\s){1,3}via\s[A-Z]\w+\s*$"
    r")"
)
REPLY: Final = regex(r"^[\s>*_]*(?:RE|Re|AW|Aw|SV|Sv):\s+\S[^.!?\n]{0,80}$")
# Two of these lines at once are the head of a mail, however it is spelt.
_HEAD_WORDS: Final = """
from to cc bcc subject date sent reply-to message-id in-reply-to received priority importance
attachment attachments sender recipient recipients von an datum gesendet betreff absender empfänger
de à objet envoyé para asunto fecha enviado da oggetto data inviato assunto van aan onderwerp
verzonden från fra till til ämne emne skickat od do temat wysłano от кому тема дата kimden kime konu
odesílatel komu předmět lähettäjä vastaanottaja aihe feladó címzett
tárgy từ đến chủ_đề από προς θέμα
من إلى الموضوع מאת אל נושא 差出人 宛先 件名 日時 发件人 收件人 主题 发送时间
보낸_사람 받는_사람 제목
"""
# Words that stand in no form but the head of a mail.
_MAIL_WORDS: Final = """
cc bcc subject sent reply-to message-id in-reply-to received betreff gesendet objet envoyé asunto
enviado oggetto inviato assunto sender absender onderwerp verzonden ämne emne skickat temat wysłano
тема kimden konu odesílatel předmět lähettäjä aihe feladó tárgy từ chủ_đề από θέμα من الموضوع מאת
נושא 件名 主题 差出人 发件人 제목
"""


def _any_of(words: str) -> str:
    return "|".join([*words.replace("_", r"\s?").split(), r"x-[\w-]{1,30}"])


HEADER: Final = regex(
    rf"^[\s>*_]*(?:{_any_of(_HEAD_WORDS)})[*_]*(?:[:\uff1a][*_]*\s*|\t+)\S", re.IGNORECASE
)
OF_MAIL: Final = regex(rf"^[\s>*_]*(?:{_any_of(_MAIL_WORDS)})\b|\S@\S", re.IGNORECASE)
# A line of a form, and one that says whose form it is: a ticket, an invitation.
FORM: Final = regex(r"^[\s>*_-]*[^\W\d_][\w /-]{0,24}[*_]*[:\uff1a][*_]*\s+\S")
FILED: Final = regex(
    r"^[\s>*_-]*(?:reporter|requester|organi[sz]er|submitter|(?:reported|requested|submitted|organi[sz]ed"
    r"|created|opened|raised|filed|sent)\s+by|melder|ersteller|organisator|organizzatore|organizador)[*_]*\s*[:\uff1a]"
    r"|^[\s>*_-]*[A-Z][A-Z0-9]{1,9}-[0-9]{1,7}\b",
    re.IGNORECASE,
)
HELLO: Final = (
    r"(?:Dear|Hi|Hello|Hey|Hallo|Liebe[rs]?|Sehr\s+geehrte[rs]?|Guten\s+(?:Tag|Morgen|Abend)|Bonjour|Cher|Ch\u00e8re"
    r"|Madame|Hola|Buenos\s+d\u00edas|Buongiorno|Gentile|Ciao|Estimad[oa]|Good\s+(?:day|morning|afternoon|evening)"
    r"|Greetings|To\s+whom\s+it\s+may\s+concern)"
)
BREAK: Final = r"\s*(?:<br\s*/?>\s*)?$"
GREETING: Final = regex(
    rf"^[\s>]*{HELLO}(?:\s+[\w.'-]+(?:\s+[\w.'-]+){{0,4}}\s*[,:!.-]?|\s*[,:!]){BREAK}"
    rf"|^[\s>]*(?i:{HELLO})(?:\s+[\w.'-]+){{1,4}}\s*[,!]{BREAK}"
    # It goes on in the same line.
    rf"|^[\s>]*(?:Dear|Sehr\s+geehrte[rs]?|Liebe[rs]?|Cher|Ch\u00e8re|Estimad[oa])(?:\s+[\w.'-]+){{1,4}}\s*,\s+\S"
)
# A mail that goes on in the line of what stands before it: "Never do it. Dear Anna, the order ...".
GREETED: Final = regex(rf"(?<=[.!?:;\u2026])\s+(?={HELLO}(?-i:\s+[A-Z][\w.'-]*){{1,3}}\s*[,:!])")
ROLE: Final = regex(
    r"^[\s>*_\[(<#-]*(?:system|assistant|user|human|tool|developer|ai|bot|admin|administrator|root"
    r"|moderator|operator|model|claude|chatgpt|gpt|llm)\b[^:\n]{0,30}[\])>*_]*\s*:"
    r"|^\s*\[(?:system|admin|assistant|developer|tool|user|human|inst)\b[^\]\n]{0,60}\]"
    r"|^\s*#{1,6}\s*(?:system|assistant|developer|tool|human|user)\b"
    r"|^\s*[*_]{0,2}(?:observation|thought|action\s+input|final\s+answer|(?:tool|function|command|execution)"
    r"\s+(?:outputs?|results?|response))[*_]{0,2}\s*:"
    r"|^\s*<\|[^|\n]{1,40}\|>|^\s*<<\s*SYS|^\s*\[/?INST\]|^\s*(?:Human|Assistant):",
    re.IGNORECASE,
)
CLOCK: Final = (
    r"[0-9]{1,2}[:.h][0-9]{2}(?:[:.][0-9]{2})?(?:[\s\u00a0\u202f]?[AaPp]\.?[Mm]\b\.?)?"
    r"(?:\s(?:Uhr|h)\b)?"
)
DAY: Final = (
    r"(?:(?:[^\W\d]{2,10}\.?,?\s)?(?:[0-9]{1,4}[./-]\s?[0-9]{1,2}[./-]\s?[0-9]{0,4}"
    r"|[0-9]{1,2}\.?\s(?:de\s)?[^\W\d]{3,10}\.?,?(?:\s(?:de\s)?[0-9]{2,4})?"
    r"|[^\W\d]{3,10}\.?\s[0-9]{1,2}(?:st|nd|rd|th)?,?(?:\s[0-9]{4})?)"
    r"|[0-9]{4}\s?[\u5e74\ub144]\s?[0-9]{1,2}\s?[\u6708\uc6d4]\s?[0-9]{1,2}\s?[\u65e5\uc77c]"
    r"|(?i:today|yesterday|(?:mon|tues|wednes|thurs|fri|satur|sun)day|heute|gestern|aujourd['\u2019]hui|hier"
    r"|hoy|ayer|oggi|ieri))"
)
WHEN: Final = rf"{DAY}(?:,?\s(?:at|um|\u00e0|a\slas|alle|kl\.?|-|\u2013)\s|[,\s]\s?){CLOCK}"
SOMEBODY: Final = r"[~@+]?\s?[^\W\d_][^\n:\uff1a<>|]{0,40}?"
# A line of a chat as programs export it, with who said it and when.
CHAT: Final = regex(
    rf"""^[\s\u200e\u200f>*\u2022-]{{0,8}}(?:
      [\[(]?{WHEN}[\])]?\s*[-\u2013\u2014:,|]?\s*<?{SOMEBODY}(?:\s?[:\uff1a]|>\s)
    | [\[(](?:{WHEN}|{CLOCK})[\])]\s*[-\u2013\u2014:]?\s*\S
    | {CLOCK}\s*[-\u2013\u2014|]\s*{SOMEBODY}\s?[:\uff1a]\s
    | (?:[\[(]?{CLOCK}[\])]?\s+)?<[@+%&~\ ]?[A-Za-z][\w.|-]{{0,30}}>\s+\S
    | {CLOCK}\s+(?:-!-|\*)\s\S
    | {CLOCK}\s+From\s+\S[^\n:]{{0,60}}:
    | From\s+\S[^\n:]{{0,40}}\sto\s+(?i:everyone|all|me|everybody)\b[^\n:]{{0,20}}:
    | {SOMEBODY},\s\[{WHEN}\]
    | \[[^\]\n]{{1,40}}\]\s?\[[^\]\n]{{0,12}}?{CLOCK}[^\]\n]{{0,12}}\]
    | (?:[0-9]{{1,2}}:)?[0-9]{{1,2}}:[0-9]{{2}}[.,][0-9]{{1,3}}\s+-->
    )""",
    re.VERBOSE,
)
# Who says the lines below, and when: "maria  10:01 AM", "Tom \u2014 Today at 10:02".
ENTRY: Final = regex(
    r"^\s*(?:\#[0-9]{1,5}\s)?[@~]?(?P<name>[^\W\d_][\w.'\u2019-]*(?:\s[\w.'\u2019-]+){0,2})(?:\s\(\w+\))?"
    rf"(?:\s*[-\u2013\u2014\u2022|](?P<day>\s*{WHEN})\s*|(?:\s*[-\u2013\u2014\u2022|,]\s*|\s+)"
    rf"[\[(]?(?:{WHEN}|{CLOCK.replace(':.h', ':h')})[\])]?:?\s*)$"
)
# A line that is a moment alone stands below the name of who says what follows.
MOMENT: Final = regex(rf"^\s*[\[(]?(?:{WHEN}|{CLOCK})[\])]?\s*$")
NAMED: Final = regex(
    r"^\s*[@~]?(?P<name>[^\W\d_a-z][\w'\u2019-]*(?:\s[^\W\d_a-z][\w'\u2019-]*){0,3})\s*$"
)
SPEAKER: Final = regex(
    rf"^\s*(?:[-*\u2022]\s+)?(?:[\[(]?{CLOCK}[\])]?\s*[-\u2013\u2014|]?\s*)?(?P<bold>[*_]{{0,3}})@?"
    r"(?P<name>[^\W\d_][\w.'\u2019-]*(?:\s(?:[A-Z][\w.'\u2019-]*|[0-9]{1,2}\b)){0,2})[*_]{0,3}"
    r"\s*(?:\([^)\n]{1,40}\)|\[[^\]\n]{1,40}\])?[*_]{0,3}\s?[:\uff1a][*_]{0,3}(?:\s+|(?<=\uff1a))(?=\S)"
)
# Labels that are people: what stands behind one is what they say, if it speaks to somebody.
PEOPLE: Final = """
adam ahmed aisha alan albert alex alexander ali alice alicia amanda amelia amy ana anders andrea
andreas andrew angela anita ann anna anne anthony antonio aria arthur ashley barbara ben benjamin
bernd bill bob brad brian bruce carl carla carlos carol caroline catherine charles charlie
charlotte chen chloe chris christian christina christine christopher claire clara claudia craig
cynthia dan daniel daniela dave david deborah dennis diana diane diego dieter dmitri donald donna
doris dorothy doug ed eddie edward elena elizabeth ella ellen emily emma eric erik erin ethan eva
eve evelyn fatima felix fiona frank fred gabriel gary george gerald gina giulia giovanni grace
greg guy hannah hans harold harry heather heidi helen helga henry hugo ian igor ines ingrid irene
isaac isabel ivan jack jacob jake james jan jane janet jason javier jean jeff jen jennifer jens
jeremy jerry jesse jessica jim joan joe joel johan john jon jonas jonathan jorge jose joseph josh
joshua juan judy julia julie jun juergen jürgen karen karl kate katherine kathy katie keith kelly
ken kenji kevin kim klaus kyle larry laura lauren lars lee lena leo liam linda lisa lou louis
louise lucas lucia lucy luis luke lukas lynn mallory marc marcel marco marcus margaret maria marie
mario mark markus martha martin mary mateo matt matthew max megan melissa mei mia michael michelle
miguel mike mila mohamed mohammed monica monika moritz nadia nancy natalie nathan nick nicolas
nina noah nora olaf oleg oliver olivia omar oscar otto pablo pamela pat patricia patrick paul
paula pedro peggy peter petra phil philip pierre priya rachel rainer raj ralph ray rebecca richard
rob robert robin roger ron rosa rose ruth ryan sabine sally sam samantha samir samuel sandra sara
sarah scott sean sergei sergio sharon sheila simon sofia sophia sophie stefan stella stephanie
stephen steve steven sue susan susanne sven sybil tanya ted teresa terry theo theresa thomas tim
timothy tina todd tom tomas tony trent trudy ulrich ursula uta ute valentina vera veronica victor
victoria vincent wanda walter wei wendy werner will william wolfgang yuki yusuf yves zoe mr mrs ms
dr prof herr frau sir madam monsieur madame señor señora agent attorney auditor boss brother buyer
caller candidate ceo cfo chef client coach colleague counsel cto customer dad daughter dentist
director doctor employee employer expert father friend guest guide host husband interviewee
interviewer judge landlord landlady lawyer manager mama mom mother mum neighbour neighbor nurse
officer owner papa partner patient person plumber professor recruiter reporter representative
reviewer salesman seller sister speaker stranger student supplier support teacher technician
tenant trainer vendor visitor wife witness arzt chef chefin kunde kundin kollege kollegin mieter
vermieter client cliente patron médecin jefe
"""
# Labels of what people write themselves.
LABELS: Final = """
answer api app approach area assumption audience author background backend budget bug case caveat
check code color colour comment commit concern condition config context cost country criterion
data database date deadline default deliverable dependency design destination detail docs domain
edge environment example exception expected extra feature file final finally first focus folder
format frontend fyi general goal hint idea important info input intent item job kind language last
lastly layout length level limit location main maximum memory method minimum mode motto must name
nb next note once only option order output overview path plan platform policy ps price priority
problem process product project prompt purpose query question reason reminder repo report request
result role rule schedule schema scope seat second security setup size source speed stack stage
start state status step stop style subject summary table tag target task team tech test theme then
third time tip title todo tone tool topic type ui update usage use user ux version warning wish
"""
PEOPLE_WORDS: Final = frozenset(PEOPLE.split())
LABEL_WORDS: Final = frozenset(LABELS.split())
NOUN_ENDS: Final = regex(
    r"(?:s|tions?|sions?|ments?|ings?|ity|ities|ness|[ae]nce|[ae]ncy|ures?|ship|ism|age|logy|ware|base|line)$"
)
ADDRESSES: Final = regex(
    r"\b(?:you|your|I|we|me|us|my|our|du|dich|dir|Sie|ich|wir|tu|vous|je|nous|usted|yo|debes)\b"
    r"|^(?:(?-i:[A-Z])\S*)(?:\s+\S+){3,}",
    re.IGNORECASE,
)
GREETS: Final = regex(
    r"(?:you|we|I|hi|hello|hey|okay|ok|sure|thanks|du|ihr|ich|wir|tu|vous|je|nous|yo)\b",
    re.IGNORECASE,
)
LOG: Final = regex(
    r"""^\s*(?:
      [\[(]?[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T\ ,]+[0-9]{2}:[0-9]{2}
    | [\[(][0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?(?:\s?[ap]m)?[\])]\s*\S
    | [0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?\s
    | [0-9]{1,2}:[0-9]{2}\s+[<(]?[A-Z][\w\ .-]{0,30}:\s
    | [A-Z][a-z]{2}\s+[0-9]{1,2}\s[0-9]{2}:[0-9]{2}:[0-9]{2}
    | \[?(?:DEBUG|INFO|WARN|WARNING|ERROR|FATAL|TRACE|CRITICAL|NOTICE)\]?(?:[:\s\[|-]|$)
    | (?:fatal|panic|FATAL|npm\ ERR!):?\s\S
    | Traceback\ \(most | File\ "[^"]+",\ line | at\ [\w.$<>]+\(
    | [\w.]*(?:Error|Exception|Warning):\s
    | [\w./\\-]{1,120}\.\w{1,5}:[0-9]{1,7}(?::[0-9]{1,5})?:
    | [0-9]{1,3}(?:\.[0-9]{1,3}){3}\s | \$\ \S | >>>\ | In\ \[[0-9]+\]: | Out\[[0-9]+\]:
    | [\w.-]+@[\w.-]+[:~$#]
    )""",
    re.VERBOSE,
)
# Where a review stands: a file and a line, alone.
IN_CODE: Final = regex(
    r"^\s*[\w./\\-]{1,120}\.\w{1,5}(?:(?::|#L|\s\(?[Ll]ines?\s)[0-9]{1,7}\)?)?\s*:?\s*$"
)
AT_LINE: Final = regex(r"^\s*[Ll]ines?\s[0-9]{1,7}(?:\s?[-\u2013]\s?[0-9]{1,7})?\s*:\s\S")
# The source of a mail: quoted-printable, or lines that HTML breaks.
SOURCE: Final = regex(
    r"=(?:20|0A|0D|09|3D)[ \t\r]*$|=[C-F][0-9A-F]=[89AB][0-9A-F]|[a-z]=[ \t\r]*$"
    r"|<br\s*/?>\s*$|&nbsp;"
)
ELEMENTS: Final = frozenset(
    (
        *("a", "b", "body", "center", "div", "em", "font", "h1", "h2", "h3", "h4", "head", "html"),
        *("i", "li", "ol", "p", "pre", "span", "strong", "table", "td", "th", "tr", "u", "ul"),
    )
)
ROW: Final = regex(r"^\s*(?:\|.*\|\s*$|\+[-=+]{3,}|[^\n]*\t[^\n]*\t|[│┃├┌└])")
CSV: Final = regex(r"(?!.*,\s)(?:[^,\n]*,){2,}[^,\n]*\Z|(?:[^;\n]*;){2,}[^;\n]*\Z")
FENCE: Final = regex(r"^[\s>]*(?P<fence>`{3,}|~{3,}|\"{3,}|'{3,}|\$\$\$)")
RULER: Final = regex(r"^\s*(?P<mark>[-=*_~#<>+\u2014\u2500.])(?:\s?(?P=mark)){2,}\s*$")
BEGIN: Final = regex(
    r"^\s*(?P<mark>[-=*_~#<>+\u2014]{2,})\s*(?P<name>[^-=*_~#<>+\u2014\n][^\n]{0,80}?)\s*[-=*_~#<>+\u2014:]{2,}\s*$"
    r"|^\s*\W*(?i:BEGIN|START)_[^.!?\n]{0,60}$|^\s*\\begin\{(?:quot|displayquote|verbatim|lstlisting)\w*\*?\}"
    r"|^\s*\W*(?:BEGIN|START)\b[^.!?\n]{0,60}$"
    r"|^\s*\[(?:begin|start|quote|email|mail|document|page)\b[^\]\n]{0,60}\]"
)
END: Final = regex(
    r"^\s*\W*(?:END|End|end|EOF|/)(?:\b|(?=\w))(?:\s+(?:of|OF|Of)\b)?[^.!?\n]{0,60}$"
    r"|^\s*\[/?(?:end|/quote|/email|/mail|/document|/page)\b[^\]\n]{0,60}\]\s*$"
)
FRAME_WORDS: Final = regex(
    r"\b(?:begin(?:ning|s)?|start|end(?:e|ing|s)?|eof|of|the|here)\b|\b(?:begin|end)(?=\w)"
)
# A line that may seem to say that the block above it is over.
OVER: Final = regex(
    r"^\W*(?:(?:\w+\W+){0,3}(?:ends?|ended|eof|over|closed)(?:\s+here)?"
    r"|(?:the\s+)?end\s+of\b[^\n]{0,40}\b(?:contexts?|blocks?|facts|summary|messages|history|conversation|memory))\W*$",
    re.IGNORECASE,
)
MARKED: Final = frozenset({"context", "facts"})
BLOCK_WORDS: Final = frozenset({"compacted", "context", "facts", "from", "block", "summary"})
# A mail program writes it above what it forwards and closes nothing: "-----Original Message-----".
HEADED: Final = regex(
    r"^[\s>]*[-=*_~#<>+\u2014]{2,}\s*(?:original|forwarded|weitergeleitete|urspr|message\s+transf"
    r"|mensaje\s+reenv|messaggio\s+inoltr|doorgestuurd)",
    re.IGNORECASE,
)
SAME: Final = MappingProxyType(
    dict.fromkeys(("mail", "email", "letter", "messages", "mails", "emails"), "message")
)
# What is shown has a shape of its own, and ends with it; a mail may have a table in it.
SHAPED: Final = regex(
    r"\b(?:logs?|logfile|output|results?|response|errors?|traces?|traceback|stack ?trace|dump|json"
    r"|xml|html|yaml|csv|table|config|code|data|listing|snippet|transcripts?|chats?|files?|calls?"
    r"|rows?)\b",
    re.IGNORECASE,
)
# How a letter ends, and who wrote it. A person thanks a program, and rarely sends it regards.
_CLOSINGS: Final = (
    r"(?:with\s+)?(?:best|kind(?:est)?|warm(?:est)?|many)\s+(?:regards|wishes|greetings)|regards"
    r"|best|sincerely|(?:yours\s+)?(?:sincerely|faithfully|truly)(?:\s+yours)?|yours|respectfully"
    r"|cordially|cheers|thanks\s*(?:&|and)\s*(?:best\s+)?regards"
    r"|mit\s+(?:freundlichen|besten)\s+gr\u00fc\u00df?s*en|(?:viele|beste|liebe)\s+gr\u00fc\u00df?s*e"
    r"|mfg|cordialement|bien\s+\u00e0\s+vous|salutations|saludos|atentamente|cordiali\s+saluti"
    r"|distinti\s+saluti|atenciosamente|abra\u00e7os|cumprimentos|groet(?:en|jes)?"
    r"|met\s+vriendelijke\s+groet(?:en)?|m\.?v\.?h\.?|hilsen|med\s+v(?:\u00e4nliga|enlig)\s+\w+"
    r"|pozdrawiam|z\s+powa\u017caniem|s\s+pozdravem|\u0441\s+\u0443\u0432\u0430\u0436\u0435\u043d\u0438\u0435\u043c|(?:yst\u00e4v\u00e4llisin\s+)?terveisin"
    r"|\u00fcdv\u00f6zlettel|sayg\u0131lar\u0131mla|敬具|此致|よろしくお願い(?:いた)?します"
)
_FOOTERS: Final = (
    r"this\s+(?:e-?mail|message)\b[^.]{0,60}\b(?:confidential|intended)\b"
    r"|diese\s+(?:e-?mail|nachricht)\b[^.]{0,60}\bvertraulich"
    r"|ce\s+(?:message|courriel)\b[^.]{0,60}\bconfidentiel"
    r"|you\s+(?:are\s+receiving|received)\s+this\s+(?:e-?mail|message|because)"
    r"|reply\s+to\s+this\s+e-?mail\b|to\s+unsubscribe\b|click[^.]{0,20}\sunsubscribe\b"
    r"|sent\s+from\s+my\s|get\s+outlook\s+for\s|von\s+meinem\s.{2,30}gesendet"
    r"|envoy\u00e9\s+de(?:puis)?\s+mon"
)
REGARDS: Final = regex(
    rf"^[\s>]*(?:(?:{_CLOSINGS})\s*[,.!]?\s*"
    r"(?:(?<=,)\s*[A-Z][\w.'-]*(?:\s[A-Z][\w.'-]*){0,3}\s*)?)$"
    rf"|^[\s>]*(?:{_FOOTERS})"
    r"|^[^.!?\n|]{2,60}\|[^.!?\n]{2,80}\|[^.!?\n]*[0-9][0-9 ]{5,}\s*$"
    r"|^(?:--|\u2014)\s*$|^\s*\u2014\s?(?-i:[A-Z])[\w.'-]+(?:\s(?-i:[A-Z])[\w.'-]+)?(?:,[^.!?\n]{2,60})?\s*$"
    r"|^\s*(?-i:VG|LG|MfG|BG|BR|KR|Mvh),?\s+[^\W\d_]\w+\s*$",
    re.IGNORECASE,
)
# Somebody's card below a letter: a name, what they are, and where they are reached.
CARD_NAME: Final = regex(r"^[\s>]*[^\W\d_a-z][\w.'\u2019-]*(?:\s[^\W\d_][\w.'\u2019-]*){1,3}\s*$")
REACHED: Final = regex(
    r"[\w.+-]+@[\w-]+\.\w|\bhttps?://|\bwww\."
    r"|(?:\+|\b00|\b0|\b[TMP]:?\s|\b(?:tel|phone|mobile|fax)\W{1,3})\(?[0-9][0-9 ()/.-]{6,}",
    re.IGNORECASE,
)
FIRM: Final = regex(
    r"\b(?:Ltd|Inc|GmbH|LLC|LLP|PLC|Corp|AG|SARL|SpA|BV|Oy|KG|CEO|CFO|CTO|COO|Head\sof|Director"
    r"|Manager|Officer|President|Chief|(?:Sales|Support|Customer)\s(?:Team|Care|Service))\b"
)
LEAST_SENTENCE: Final = 70
LEAST_OF_CARD: Final = 3
MOST_OF_CARD: Final = 7
TO_PROGRAM: Final = regex(
    r"\b(?:claude|chat\s?gpt|gpt|assistant|copilot|gemini|bot|ai|there|all|team|everyone|constat|agent|helper)\b",
    re.IGNORECASE,
)
AFTERWARDS: Final = regex(r"^\s*(?:P\.?\s?)+S\b", re.IGNORECASE)
# What programs write above a page, a ticket or a report. No heading ends it: it could have one.
SECTION: Final = regex(
    r"^\s*(?:[A-Z][A-Z ]{0,20}\s)?(?:ISSUE|REPORT|TICKET|REVIEW|COMMENT|POST|ANSWER|REPLY)"
    r"(?:S|\sTEXT)?:\s*$"
    r"|^\s*#{1,6}\s+(?i:(?:the|my|retrieved|fetched|pasted|forwarded|original|incoming|found|web)"
    r"\s+){0,3}(?i:(?:web\s?)?pages?|articles?|e-?mails?|mails?|letters?|tickets?|transcripts?"
    r"|issues?|bug\sreports?|search\sresults?|(?:tool|function|command)\s(?:outputs?|results?)"
    r"|retrieved\s[\w ]{1,40}|documents?)[:\s]*$"
    r"|^\s*(?i:answer|comment|reply|review|post|response)\s(?:#?[0-9]{1,4}|by\s)[^.!?\n:]{0,60}$"
)
_WHO: Final = (
    r"^\s*(?!(?i:I|we|you|yes|no|ok|okay|please|it|this|that|not|never|always|only|just|have|has)\b)"
    r"@?[\w.-]+(?:\s[A-Z][\w.-]*){0,2}\s"
)
_NO_SENTENCE: Final = r"(?:[^.!?\n:]|(?<=[0-9]):(?=[0-9]))"
_AGO: Final = (
    r"(?:[0-9]{1,3}|an?|one|two|three)\s"
    r"(?:sec(?:ond)?|min(?:ute)?|h(?:ou)?r|day|week|month|year)s?\sago"
)
# What a program writes above what somebody did or said there: "eve commented 3 days ago".
ACTIVITY: Final = regex(
    rf"{_WHO}(?:commented|wrote|replied|posted|answered|asked|opened|reviewed"
    r"|(?:reported|submitted|shared|created)\s(?:this|an?|the|on|[0-9])|(?:requested|suggested)\schanges|(?:added|left)\san?\s(?:comment|note|review"
    rf"|reply)|started\san?\s(?:review|discussion|thread|conversation))\b{_NO_SENTENCE}{{0,80}}$"
    rf"|{_WHO}(?:added|mentioned|assigned|moved|changed|marked|closed|reopened|merged|pushed"
    r"|referenced|linked|labell?ed|approved|edited|updated)\s(?:(?:this|in|to|the|an?|these)\s){0,2}"
    r"(?:card|commit|status|label|assignee|description|issue|ticket|task|(?:pull|merge)\srequest"
    rf"|attachment|branch|changes|title)\b{_NO_SENTENCE}{{0,60}}$"
    r"|^\s*(?i:created|opened|reported|posted|written|submitted|filed|raised|assigned|sent"
    rf"|organi[sz]ed|reviewed)\sby\b{_NO_SENTENCE}{{0,60}}$"
    r"|^\s*(?i:asked|answered|edited|posted|commented|updated|created|opened|modified|replied)\s"
    rf"{_NO_SENTENCE}{{0,30}}?(?:{WHEN}|{_AGO}){_NO_SENTENCE}{{0,20}}$"
    rf"|^\s*@?[^\W\d_]{_NO_SENTENCE}{{0,60}}\s\(?{_AGO}\)?(?:\s\(?edited\)?)?\s*$"
    r"|^[^.!?\n:]{2,60}\s(?:is\sinviting|has\sinvited|invites|invited)\syou\s(?:to|for)\b"
    r"|^\s*Patch\sSet\s[0-9]{1,4}:"
    r"|^\s*(?:Microsoft\sTeams|Zoom|Google\sMeet|Webex)\s[Mm]eeting\s*$"
    r"|^\s*[^\W\d_a-z][\w.'\u2019 ]{0,40}\s(?:\u2192|->)\s[^\W\d_a-z][\w.'\u2019 ]{0,40}$"
    r"|^\s*@(?!(?i:claude|chatgpt|gpt|copilot|gemini|bot|ai|assistant|constat|all|here)\b)"
    r"[a-z][\w.-]{1,38}[,:]?\s+[A-Z]"
)
# A mail in other languages: the line above it says who wrote.
ATTRIBUTED: Final = regex(
    r"^[^\n]{2,200}(?:\b(?:schreef|ha\s+scritto|napisała?|escreveu|skrev|kirjoitti|yazd\u0131|a\s+scris|írta"
    r"|napsala?|escribió|escribio|a\s+écrit|schrieb|написала?|пише|пишет)\b|写道|寫道|書きました)"
    r"[^\n]{0,80}[:\uff1a]\s*$"
    # Whatever the language is: an address, and a colon at the end.
    r"|^[^\n]{2,200}[<(\[][\w.+-]+@[\w.-]+[>)\]][^\n]{0,80}[:\uff1a]\s*$",
    re.IGNORECASE,
)
HERE: Final = regex(r"<<-?\s*[\"']?(?P<word>[A-Za-z_]\w{0,30})[\"']?[\s;)]*$")
DIFF: Final = regex(
    r"^(?:diff --git\s|Index:\s\S|@@\s-[0-9]|---\s\S*[/.]\S|commit\s[0-9a-f]{6,40}\b)"
)
SETTING: Final = regex(r"^\s*(?:\[[\w .\"'-]{1,60}\]\s*$|[A-Za-z_][\w.-]{0,40}\s*=\s*\S)")
# Letters that look like others, or like none: each is read as one that has the same meaning.
WIDE_COLON: Final = 0xFF1A
LOOKS: Final = MappingProxyType(
    {
        **{code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F) if code != WIDE_COLON},
        **dict.fromkeys(
            (0xAD, *range(0x200B, 0x2010), *range(0x202A, 0x202F), 0x2060, 0xFEFF), 0x20
        ),
        **dict.fromkeys((0x0B, 0x0C, 0x85, 0x2028, 0x2029), 0x0A),
    }
)
ALONE: Final = regex(r"\r(?!\n)")
TAG: Final = regex(r"<(?P<name>[A-Za-z][\w:.-]{0,40})(?:\s[^<>\n]{0,300})?(?<!/)>")
QUOTE_TAG: Final = regex(
    r"\[(?P<name>quote|email|mail|code|document|page|spoiler)\b[^\]\n]{0,60}\]", re.IGNORECASE
)
DOCUMENT: Final = regex(
    r"<(?P<name>(?:documents?|docs?|contexts?|passages?|search_?results?|results?|pages?|web_?pages?|articles?"
    r"|e?mails?|files?|file_contents?|function_results?|tool_results?|quotes?|transcripts?|blockquote))"
    r"(?:\s[^<>\n]{0,300})?>.*?(?:</(?P=name)>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
# To its last end before another begins: an end in what is quoted is no end of it.
COMMENT: Final = regex(r"<!--(?:(?:(?!<!--).)*-->|.*\Z)|/\*(?:(?:(?!/\*).)*\*/|.*\Z)", re.DOTALL)
BULLET: Final = regex(r"^\s*(?:[-*+\u2022]|[0-9]{1,3}[.)]|[a-z][.)])\s")
INDENTED: Final = regex(r"^(?: {4,}|\t)\s*\S")
PAIRS: Final = (
    ("\u201e", "\u201c\u201d\u201f"),
    ("\u201a", "\u2018\u2019"),
    ("\u201c", "\u201d\u201c"),
    ("\u2018", "\u2019"),
    ("\u00ab", "\u00bb"),
    ("\u00bb", "\u00ab"),
    ("\u2039", "\u203a"),
    ("\u300c", "\u300d"),
    ("\u300e", "\u300f"),
)
# One of these that is not closed is an apostrophe, or no mark of a quotation.
MAY_STAND_ALONE: Final = "\u00bb\u2018\u201a\u2039"
DEMAND: Final = regex(
    r"\b(?:must|never|always|only|do\s+not|don['\u2019]t|should|shall|may\s+not|cannot|can['\u2019]t|need\s+to"
    r"|have\s+to|required|ensure|make\s+sure|avoid|forbidden|unless|without)\b",
    re.IGNORECASE,
)
LEAST_WORDS: Final = 4
FEW: Final = 3
THEIRS: Final = regex(
    rf"{SUBJECT}(?:\w+\s+){{0,3}}?{SAYS}\b"
    rf"|\b(?:from|in|by|of|on)\s+{WHOSE}{FEW_WORDS}{{0,3}}?{NOUNS}\b",
    re.IGNORECASE,
)
