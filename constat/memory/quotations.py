"""Whose words a text holds: what somebody says themself, and what they paste, quote or report.

In a message of a person only their own words can ask for anything. Everything here errs to one
side: what looks like another's words is another's, and a paste without an end goes on to the end.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MARKER: Final = "[CONTEXT FROM FACTS]"
# Stands in a person's words for what they quoted.
ELISION: Final = "[…]"
# Stands for each of their characters where a text is searched; no blank, and in no word.
HOLE: Final = "\ufffc"
_MOST_REMEMBERED: Final = 512

# -- Compacted text that came back ----------------------------------------------------------------
_PLACE: Final = r"@(?:[\w][\w .-]{0,59}:)?m[0-9]{1,9}(?:\.[0-9]{1,9})?(?:\[[0-9]+:[0-9]+\])?"
_ENDS: Final = re.compile(rf"(?<=[\s\"\\;|]){_PLACE}[\s\"'`,\\]*$")
_PLACES: Final = re.compile(rf"(?<=[\s\"\\;]){_PLACE}(?=[\s\"\\]|$)")
_QUOTE_MARK: Final = r"(?:\"|\\\"|&quot;|&\#34;|“)"
_HEADS: Final = re.compile(
    rf"""^[\s>|*\"'-]*(?:
      (?:task|constraint|preference|pending|done|error|said|quoted|decision)
        (?:\s+(?!{_QUOTE_MARK})\S{{1,60}})?(?:\s+{_QUOTE_MARK}|\s*$)
    | call\s+\S{{1,120}}\s+\S{{1,120}}(?:=|:\s|\|)
    | \S{{1,120}}\s+-(?:>|&gt;)\s+\S{{1,120}}(?:=|:\s|\|)
    | \S{{1,120}}\s+-(?:>|&gt;)\s+{_QUOTE_MARK}
    )""",
    re.VERBOSE,
)
# The headings of summaries that other designs of compaction write (`profiles`): these have no lines
# that can be told from others, so all behind such a heading is theirs.
_SUMMARIES: Final = re.compile(
    r"\[CONVERSATION SUMMARY\]|^[\s>]*#{1,4}\s*"
    r"(?:Session|Conversation|Checkpoint|Context|Completed\s+Work)\s+(?:Summary|Checkpoint)\b",
    re.IGNORECASE,
)

# -- What shows that words are another's ----------------------------------------------------------
_SAYS: Final = (
    r"(?:says?|said|wrote|writes|written|reads?|states?|stated|told|tells|claims?|claimed|asks?"
    r"|asked|demands?|demanded|replie[sd]|answers?|answered|insists?|insisted|warns?|warned"
    r"|posted|sent|texted|emailed|mailed|messaged|wants|wanted|shows?|showed|prints?|printed|returns?|returned|goes|added|adds|mentions"
    r"|mentioned|explains|explained|responded|instructs|instructed|reported|reports|announced"
    r"|schrieb|schreibt|sagte?|meinte|écrit|écrivait|dit|escribió|dice|dijo|scrive|ha scritto)"
)
_NOUNS: Final = (
    r"(?:e-?mails?|mails?|messages?|letters?|logs?|logfile|output|results?|response|documents?"
    r"|docs?|files?|texts?|transcripts?|chats?|threads?|tickets?|comments?|reviews?|articles?"
    r"|pages?|(?:web)?sites?|webpage|readme|paste|quotes?|quotation|errors?|traces?|traceback"
    r"|report|contract|snippet|excerpt|memo|posts?|tweet|sms|invoice|pdf|descriptions?|contents?"
    r"|summary|block|context|reply|answer|feedback|complaint|paragraph|passage|sentence|section"
    r"|conversation|history|dump|json|xml|html|yaml|csv|table|config|code|stack ?trace|data"
    r"|listing|screenshot|ocr|voicemail|newsletter|faq|wiki|terms|clause|policy|prompt"
    r"|nachricht|protokoll|brief|courriel|correo|mensaje)"
)
_SHOWN: Final = (
    r"(?:here(?:['\u2019]s|\s+is|\s+are|\s+comes?)|this\s+is|these\s+are|that\s+is|it\s+is|below"
    r"|following|attached|pasted?|pasting|forward(?:ed|ing)?|fwd?|from|by|got|received|found|saw"
    r"|quot(?:e|ed|ing)|cop(?:y|ied)|see|came|came\s+back|arrived|hier|voici|aquí|aqui)"
)
_WORK_ON: Final = (
    r"(?:translate|summari[sz]e|proof-?read|re-?phrase|correct|re-?write|reword|explain|analy[sz]e"
    r"|classify|paraphrase|shorten|format|extract|reply\s+to|answer|respond\s+to|read|look\s+at"
    r"|what\s+does|what\s+do\s+you\s+think|review|comment\s+on|parse|convert|transcribe|improve"
    r"|edit|critique|tag|label|categori[sz]e)"
)
_FEW_WORDS: Final = r"(?:[\w'\u2019-]+(?:\.[\w-]+)*\s+)"
_WHOSE: Final = r"(?:the|my|our|his|her|their|this|that|your|an?|some|one|its)\s+"
# A person, thing or text that says something; never the one who writes.
_SUBJECT: Final = (
    rf"(?:(?<!\bas\s)\b{_WHOSE}{_FEW_WORDS}{{1,5}}?"
    r"|\b(?:he|she|they|it|you|someone|somebody|everyone)\s+"
    r"|(?-i:\b(?!(?:I|We|Please|And|But|If|When|As|Never|Always|Do|Also|Then|What|How|Not|Only)\b)"
    r"[A-Z][\w'\u2019.-]+)\s+(?:\([^)\n]{0,60}\)\s+)?)"
)
# The same without whom it speaks to, and without a joint of two sentences in it.
_ANOTHER: Final = (
    r"(?:(?<!\bas\s)(?<!\bif\s)\b(?:the|my|our|his|her|their|an?|one|its)\s+"
    r"(?:(?!(?:I|you|we|and|or|but|to|for|that|which|if|when|where)\b)[\w'\u2019-]+\s+){1,4}?"
    r"|\b(?:he|she|they|someone|somebody|everyone)\s+"
    r"|(?-i:\b(?!(?:I|We|You|This|That|It|Please|And|But|If|When|As|Never|Always|Do|Also|Then|What|How|Not|Only)\b)"
    r"[A-Z][\w'\u2019.-]+)\s+)"
)
_ADVERBS: Final = (
    r"(?:(?:just|also|then|now|once|clearly|explicitly|has|have|had|literally|only|even)\s+)*"
)
_MINE: Final = re.compile(
    rf"\b(?:I|we)\s+(?:(?:just|already|also|have|had|did|only|really|'ve|still)\s+)*{_SAYS}\b"
    r"(?!\s+(?:in|on|from|that\s+the|it\s+from))"
    r"|\b(?:rules?|requirements?|constraints?|conditions?|preferences?|wishes|limits?|remember"
    r"|keep\s+in\s+mind|(?:do|observe|respect|follow|consider|mind|meet|satisfy|obey|apply|keep\s+to"
    r"|stick\s+to)\s+(?:all\s+)?(?:of\s+)?(?:the\s+following|these|this)|note\s+that"
    r"|what\s+(?:I|we)\s|(?:I|we)(?:['\u2019]d|\s+would)?\s+(?:want|need|like|wish|prefer)\b"
    r"|my\s+(?:\w+\s+)?(?:instructions?|task|request|goal|question|answer|wish|order))\b",
    re.IGNORECASE,
)
# No colon within a time of the day or an address.
_COLON: Final = ":(?![0-9/])"
_REST: Final = r"\b[^.!?\n:]{0,80}"
# What ends with a colon and has another's words behind it, in alternatives.
_CUE: Final = re.compile(
    "|".join(
        f"(?:{one})[^.!?\\n:]{{0,60}}{_COLON}"
        for one in (
            rf"{_SUBJECT}{_ADVERBS}{_SAYS}\b",
            rf"^\W*{_SUBJECT}[^.!?\n:]{{0,60}}\b{_SAYS}\b",
            rf"\b{_SHOWN}{_REST}\b{_NOUNS}\b",
            rf"\b{_NOUNS}{_REST}\b{_SHOWN}\b",
            r"\b(?:here\s+(?:it\s+is|you\s+(?:go|are)|they\s+are)|see\s+below|pasted?|quote)\b",
            r"\bthe\s+following\b",
            r"\b(?:vendor|boss|bank|landlord|seller)(?:['\u2019]s)?\b",
        )
    )
    + rf"|\b{_WORK_ON}(?:\s+(?:me|us|please|all|of|for|just))*(?:\s+(?:this|these|it|that|below"
    rf"|this\s+(?:out|aloud)|the\s+following|(?:the|my|our|his|her|their)\s+{_FEW_WORDS}{{0,3}}?{_NOUNS}|{_NOUNS}))?"
    rf"(?:\s+{_NOUNS})?(?:\s+(?:below|into\s+\w+|to\s+\w+|for\s+me|please))*\s*{_COLON}"
    r"|^\W*(?!(?:answer|reply|review|comment|quote|post|report|code|format)\b)"
    r"(?:(?:the|my|our|his|her|their|this|that|an?|original|new|full|raw)\s+){0,3}"
    rf"{_FEW_WORDS}{{0,2}}{_NOUNS}(?:\s+(?:from|by|of|to|on|in)\b[^.!?\n:]{{0,60}})?"
    rf"\s*(?:\([^)\n]{{0,60}}\))?\s*(?:{_COLON}|\s[-\u2013\u2014]+\s)",
    re.IGNORECASE | re.MULTILINE,
)
# Without a colon: "the mail says that ...", "according to the page, ...".
_REPORTED: Final = re.compile(
    rf"(?:{_SUBJECT}{_ADVERBS}(?:says?|said|wrote|writes|states|stated|claims?|claimed"
    r"|tells(?=\s+(?:me|us|you|him|her|them)\b)|told|demands?|demanded|insists?|insisted|warns?"
    r"|warned|reads|ordered|instructs|instructed|replied|answered|mentions|mentioned|announced"
    r"|explained|texted|emailed|messaged)\b"
    r"|\b(?:according\s+to|(?-i:Per|per)\s+(?=the|his|her|their))\s*(?!me\b|us\b|my\b|our\b)"
    r"|\b(?:I|we)\s+(?:was|were|am|are|got)\s+(?:told|asked|warned|instructed|ordered)\b|\bquote\s*[,:]"
    r"|\b(?:it|there)\s+(?:says|said|reads|is\s+written)\b"
    # "She wants me to ...", "the vendor would like that ...", "her condition is that ..."
    rf"|{_ANOTHER}{_ADVERBS}(?:wants?|wanted|needs?|needed|would\s+(?:like|love|prefer)|asks?|asked"
    r"|expects?|expected|begs?|begged|urges?|urged|advises?|advised|orders?|requires?|required"
    r"|requests?|requested|reminds?|reminded|forces?|forced|commands?|commanded|invites?|invited"
    r"|encourages?|encouraged|pressures?|pressured|tells?)\s+"
    r"(?:me|us|you|him|her|them|everybody|everyone|people|all|(?:the|my|our|his|their)\s+\w+"
    r"|(?-i:[A-Z])[\w.-]+)\s+(?:(?:always|never|only|not|please)\s+)*to\b"
    rf"|{_ANOTHER}{_ADVERBS}(?:wants?|wanted|asks?|asked|expects?|expected|requests?|requested"
    r"|suggests?|suggested|recommends?|recommended|proposes?|proposed|thinks?|thought|believes?"
    r"|believed|hopes?|wishes|wished|prefers?|preferred|argues?|argued|adds?|added|reports?|reported)\s+that\b"
    r"|\b(?:his|her|their|(?-i:[A-Z])[\w.-]+['\u2019]s)\s+(?:\w+\s+)?(?:conditions?|demands?|orders?|rules?"
    r"|requests?|wish(?:es)?|instructions?|advice|message|words)\s+(?:is|are|was|were)\b"
    r"|\b(?:in|by)\s+(?:his|her|their|(?-i:[A-Z])[\w.-]+['\u2019]s)\s+(?:words?|view|opinion|orders?)\b)"
    rf"(?:[^.!?\n{HOLE}]|[.!?](?=[^\s{HOLE}]))*[.!?]*",
    re.IGNORECASE,
)
_TAKEN: Final = (
    r"(?:copied|copy|pasted?|quot(?:ed?|es|ations?)|taken|excerpts?|excerpted|extracts?|extracted"
    r"|forwarded|snippets?|screenshot|verbatim|text|parts?|straight|lifted|cited|citation|auszug|extrait|extracto)"
)
# A sentence without a colon, with another's words at once behind it: "The following is from ...".
_FOLLOWING: Final = re.compile(
    r"\b(?:the\s+following|what\s+follows|everything\s+below|the\s+rest)\b[^.!?\n:]{0,30}"
    r"\b(?:is|was|are|were|comes?|came|has\s+been|stands?)\b[^.!?\n:]{0,40}"
    r"\b(?:from|by|in|on|copied|pasted|quoted|taken|written|sent|verbatim)\b[^.!?\n:]{0,60}(?:[.!?]+|$)",
    re.IGNORECASE,
)
# A sentence that works on what can only be what follows it, if nothing else shows where that is:
# "Please answer this mail.", "Here is the mail."
_TEXTS: Final = (
    r"(?:e-?mails?|mails?|messages?|letters?|tickets?|posts?|comments?|reviews?|complaints?|tweet|sms|articles?"
    r"|texts?|paragraphs?|passages?|threads?|chats?|transcripts?|quotations?|newsletter|announcement|description)"
)
_MEANT: Final = re.compile(
    rf"\b{_WORK_ON}(?:\s+(?:me|us|please|all|of|for|just|to|what))*\s+(?:this|these)\s+{_FEW_WORDS}{{0,2}}?"
    rf"{_TEXTS}\b[^.!?\n:]{{0,50}}[.!?\u2026]*\s*$"
    r"|\b(?:here(?:['\u2019]s|\s+is|\s+are|\s+comes)|this\s+is)\s+(?:the|my|our|his|her|their|an?|this)\s+"
    rf"{_FEW_WORDS}{{0,3}}?{_TEXTS}\b[^.!?\n:]{{0,50}}[.!\u2026]*\s*$"
    r"|\b(?:reply|respond|react)\s+to\s+this\?\s*$",
    re.IGNORECASE,
)
# A sentence or a line that is a title of what somebody wrote: "Mail from Bob, 3 March."
_TITLED: Final = re.compile(
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
_ABOVE: Final = re.compile(
    "|".join(
        (
            rf"\bthe\s+following\s+{_FEW_WORDS}{{0,2}}?{_NOUNS}\b",
            (
                r"\b(?:below|here)\s+(?:is|are|comes?|follows?)\b[^.!?\n:]{0,60}"
                rf"\b{_NOUNS}\b[^.!?\n:]{{0,60}}\b(?:from|by|I\s+(?:got|received|found|was\s+sent))\b"
            ),
            rf"\b{_NOUNS}\b[^.!?\n:]{{0,40}}\b(?:is|are|stands?|pasted|quoted|copied)\s+below\b",
            rf"\b{_NOUNS}\s+below\s*(?:[.!?,;]|$)",
            rf"\b{_NOUNS}\b[^.!?\n:]{{0,40}}\b(?:follows|as\s+follows)\b",
            (
                r"\b(?:past(?:ed?|ing)|quot(?:ed?|ing)|cop(?:ied|y|ying)|forward(?:ed|ing)?)\b"
                r"[^.!?\n:]{0,60}\bbelow\b"
            ),
            (
                r"\b(?:this|that|it|these)(?:\s+(?:is|was|are|were|comes?|came)|['\u2019]s)\s+"
                rf"(?:(?:an?|{_TAKEN}|directly|all|just|sent)\s+){{0,3}}from\b"
            ),
            (
                rf"\b{_TAKEN}\s+(?:(?:it|this|them|straight|directly)\s+){{0,2}}(?:from|out\s+of)\b"
                rf"[^.!?\n:]{{0,40}}\b{_NOUNS}\b"
            ),
            (
                r"\b(?:got|received|found|copied|pasted|quote|took)\s+(?:this|these|the\s+following)\s+"
                r"(?:\w+\s+){0,3}?(?:from|in|on|by)\b"
            ),
            (
                r"\b(?:here|this|that|below|following)(?:['\u2019]s|\s+is|\s+was|\s+are)?\s+(?:exactly\s+)?what\s+"
                rf"(?!I\b|we\b|you\b)[^.!?\n:]{{1,60}}\b{_SAYS}\b"
            ),
            r"\b(?:sent|gave|mailed|texted|forwarded|wrote|told)\s+(?:me|us)\s+(?:this|these|the\s+following)\b",
            r"\bthis\s+(?:just\s+)?(?:came\s+in|arrived)\b",
            (
                rf"^[\W_]*(?:(?:an?|the)\s+)?(?:{_TAKEN}\s+(?:from|of|by|in|on|out\s+of)|from|source|aus"
                r"|tir\u00e9\s+d[eu])[\s:]+"
                rf"(?:(?:the|my|our|his|her|their|this|that|your|an?|dem|der|du|la|le|el|del)\s+)?"
                rf"(?:[\w.'\u2019#/-]+\s+){{0,3}}?{_NOUNS}"
                r"(?:\s+(?:of|by|from|in|on|about)\s+[^.!?\n:]{1,40}|\s+[#\w-]{1,20})?[\W_]*$"
            ),
        )
    ),
    re.IGNORECASE,
)
_SELF: Final = re.compile(
    rf"\b(?:I|we)\s+(?:(?:just|already|also|have|had|did|only|really|once|still)\s+)*"
    rf"(?:{_SAYS}|repeat|mean|meant)\b[^.!?\n]{{0,40}}$"
    r"|\b(?:my|our)\s+(?:own\s+)?(?:words|rule|wish|condition|request|instruction)s?\b"
    r"[^.!?\n]{0,40}$",
    re.IGNORECASE,
)
_MAIL: Final = re.compile(
    r"^[\s>*_]*(?:(?:From|To|Cc|Bcc|Subject|Sent|Reply-To|Message-ID|Received|MIME-Version|Return-Path"
    r"|Content-Type|Von|Gesendet|Betreff|De|Objet|Asunto|Oggetto)[*_]*:[*_]*\s+\S"
    r"|-{2,}\s*(?:Original|Forwarded|Weitergeleitete|Urspr)"
    r"|Begin\s+forwarded\s+message|On\b.{4,100}\bwrote:|Am\b.{4,100}\bschrieb\b.{0,60}:|Le\b.{4,100}\ba\s+écrit\s*:"
    r"|(?i:date|datum|fecha|data):\s+(?:[^\W\d]{2,9}\.?,\s)?[0-9]{1,2}\.?\s[^\W\d]{3,9}\.?\s[0-9]{4}"
    r"|(?:FW|Fw|fw|FWD|Fwd|fwd|WG|TR|RV):\s+\S"
    # Who sent it, with an address: "Bob Miller <bob@a.example>  10:03".
    r"|(?:(?:From|Von|De|Da)\s)?(?:[^\W\d_][\w.'\u2019-]*[\s,]+){1,4}[<(\[][\w.+-]+@[\w.-]+[>)\]]"
    r"|On\b[^.!?\n]{4,100}\bwrote\s*$|From\s\S+@\S+\s"
    r"|(?:[A-Z][\w.'\u2019-]*\s){1,3}via\s[A-Z]\w+\s*$"
    r")"
)
_REPLY: Final = re.compile(r"^[\s>*_]*(?:RE|Re|AW|Aw|SV|Sv):\s+\S[^.!?\n]{0,80}$")
# Two of these lines at once are the head of a mail, however it is spelt.
_HEADER: Final = re.compile(
    r"^[\s>*_]*(?:from|to|cc|bcc|subject|date|sent|reply-to|message-id|in-reply-to|x-[\w-]{1,30}|received"
    r"|priority|importance|attachments?|von|an|datum|gesendet|betreff|de|\u00e0|objet|envoy\u00e9|para|asunto|fecha"
    r"|enviado|da|oggetto|data|inviato|sender|absender|recipients?|empf\u00e4nger|van|aan|onderwerp|verzonden"
    r"|fr\u00e5n|till|\u00e4mne|skickat|od|do|temat|wys\u0142ano|\u043e\u0442|\u043a\u043e\u043c\u0443|\u0442\u0435\u043c\u0430|\u0434\u0430\u0442\u0430"
    r"|\u5dee\u51fa\u4eba|\u5b9b\u5148|\u4ef6\u540d|\u65e5\u6642|\u53d1\u4ef6\u4eba|\u6536\u4ef6\u4eba|\u4e3b\u9898|\u53d1\u9001\u65f6\u95f4"
    r"|\ubcf4\ub0b8\s?\uc0ac\ub78c|\ubc1b\ub294\s?\uc0ac\ub78c|\uc81c\ubaa9)[*_]*(?:[:\uff1a][*_]*\s*|\t+)\S",
    re.IGNORECASE,
)
_OF_MAIL: Final = re.compile(
    r"^[\s>*_]*(?:cc|bcc|subject|sent|reply-to|message-id|in-reply-to|x-[\w-]{1,30}|received|betreff|gesendet"
    r"|objet|envoy\u00e9|asunto|enviado|oggetto|inviato|sender|absender|onderwerp|verzonden|\u00e4mne|skickat|temat"
    r"|wys\u0142ano|\u0442\u0435\u043c\u0430|\u4ef6\u540d|\u4e3b\u9898|\u5dee\u51fa\u4eba|\u53d1\u4ef6\u4eba|\uc81c\ubaa9)\b|\S@\S",
    re.IGNORECASE,
)
_HELLO: Final = (
    r"(?:Dear|Hi|Hello|Hey|Hallo|Liebe[rs]?|Sehr\s+geehrte[rs]?|Guten\s+(?:Tag|Morgen|Abend)|Bonjour|Cher|Ch\u00e8re"
    r"|Madame|Hola|Buenos\s+d\u00edas|Buongiorno|Gentile|Ciao|Estimad[oa]|Good\s+(?:day|morning|afternoon|evening)"
    r"|Greetings|To\s+whom\s+it\s+may\s+concern)"
)
_BREAK: Final = r"\s*(?:<br\s*/?>\s*)?$"
_GREETING: Final = re.compile(
    rf"^[\s>]*{_HELLO}(?:\s+[\w.'-]+(?:\s+[\w.'-]+){{0,4}}\s*[,:!.-]?|\s*[,:!]){_BREAK}"
    rf"|^[\s>]*(?i:{_HELLO})(?:\s+[\w.'-]+){{1,4}}\s*[,!]{_BREAK}"
    # It goes on in the same line.
    rf"|^[\s>]*(?:Dear|Sehr\s+geehrte[rs]?|Liebe[rs]?|Cher|Ch\u00e8re|Estimad[oa])(?:\s+[\w.'-]+){{1,4}}\s*,\s+\S"
)
# A mail that goes on in the line of what stands before it: "Never do it. Dear Anna, the order ...".
_GREETED: Final = re.compile(
    rf"(?<=[.!?:;\u2026])\s+(?={_HELLO}(?-i:\s+[A-Z][\w.'-]*){{1,3}}\s*[,:!])"
)
_ROLE: Final = re.compile(
    r"^[\s>*_\[(<#-]*(?:system|assistant|user|human|tool|developer|ai|bot|admin|administrator|root"
    r"|moderator|operator|model|claude|chatgpt|gpt|llm)\b[^:\n]{0,30}[\])>*_]*\s*:"
    r"|^\s*\[(?:system|admin|assistant|developer|tool|user|human|inst)\b[^\]\n]{0,60}\]"
    r"|^\s*#{1,6}\s*(?:system|assistant|developer|tool|human|user)\b"
    r"|^\s*[*_]{0,2}(?:observation|thought|action\s+input|final\s+answer|(?:tool|function|command|execution)"
    r"\s+(?:outputs?|results?|response))[*_]{0,2}\s*:"
    r"|^\s*<\|[^|\n]{1,40}\|>|^\s*<<\s*SYS|^\s*\[/?INST\]|^\s*(?:Human|Assistant):",
    re.IGNORECASE,
)
_CLOCK: Final = (
    r"[0-9]{1,2}[:.h][0-9]{2}(?:[:.][0-9]{2})?(?:[\s\u00a0\u202f]?[AaPp]\.?[Mm]\b\.?)?"
    r"(?:\s(?:Uhr|h)\b)?"
)
_DAY: Final = (
    r"(?:(?:[^\W\d]{2,10}\.?,?\s)?(?:[0-9]{1,4}[./-]\s?[0-9]{1,2}[./-]\s?[0-9]{0,4}"
    r"|[0-9]{1,2}\.?\s(?:de\s)?[^\W\d]{3,10}\.?,?(?:\s(?:de\s)?[0-9]{2,4})?"
    r"|[^\W\d]{3,10}\.?\s[0-9]{1,2}(?:st|nd|rd|th)?,?(?:\s[0-9]{4})?)"
    r"|[0-9]{4}\s?[\u5e74\ub144]\s?[0-9]{1,2}\s?[\u6708\uc6d4]\s?[0-9]{1,2}\s?[\u65e5\uc77c]"
    r"|(?i:today|yesterday|(?:mon|tues|wednes|thurs|fri|satur|sun)day|heute|gestern|aujourd['\u2019]hui|hier"
    r"|hoy|ayer|oggi|ieri))"
)
_WHEN: Final = rf"{_DAY}(?:,?\s(?:at|um|\u00e0|a\slas|alle|kl\.?|-|\u2013)\s|[,\s]\s?){_CLOCK}"
_SOMEBODY: Final = r"[~@+]?\s?[^\W\d_][^\n:\uff1a<>|]{0,40}?"
# A line of a chat as programs export it, with who said it and when.
_CHAT: Final = re.compile(
    rf"""^[\s\u200e\u200f>*\u2022-]{{0,8}}(?:
      [\[(]?{_WHEN}[\])]?\s*[-\u2013\u2014:,|]?\s*<?{_SOMEBODY}(?:\s?[:\uff1a]|>\s)
    | [\[(](?:{_WHEN}|{_CLOCK})[\])]\s*[-\u2013\u2014:]?\s*\S
    | {_CLOCK}\s*[-\u2013\u2014|]\s*{_SOMEBODY}\s?[:\uff1a]\s
    | (?:[\[(]?{_CLOCK}[\])]?\s+)?<[@+%&~\ ]?[A-Za-z][\w.|-]{{0,30}}>\s+\S
    | {_CLOCK}\s+(?:-!-|\*)\s\S
    | {_CLOCK}\s+From\s+\S[^\n:]{{0,60}}:
    | From\s+\S[^\n:]{{0,40}}\sto\s+(?i:everyone|all|me|everybody)\b[^\n:]{{0,20}}:
    | {_SOMEBODY},\s\[{_WHEN}\]
    | (?:[0-9]{{1,2}}:)?[0-9]{{1,2}}:[0-9]{{2}}[.,][0-9]{{1,3}}\s+-->
    )""",
    re.VERBOSE,
)
# Who says the lines below, and when: "maria  10:01 AM", "Tom \u2014 Today at 10:02".
_ENTRY: Final = re.compile(
    r"^\s*[@~]?(?P<name>[^\W\d_][\w.'\u2019-]*(?:\s[\w.'\u2019-]+){0,2})(?:\s\(\w+\))?"
    rf"(?:\s*[-\u2013\u2014\u2022|](?P<day>\s*{_WHEN})\s*|(?:\s*[-\u2013\u2014\u2022|,]\s*|\s+)"
    rf"[\[(]?(?:{_WHEN}|{_CLOCK.replace(':.h', ':h')})[\])]?:?\s*)$"
)
_SPEAKER: Final = re.compile(
    rf"^\s*(?:[-*\u2022]\s+)?(?:[\[(]?{_CLOCK}[\])]?\s*[-\u2013\u2014|]?\s*)?(?P<bold>[*_]{{0,3}})"
    r"(?P<name>[^\W\d_][\w.'\u2019-]*(?:\s(?:[A-Z][\w.'\u2019-]*|[0-9]{1,2}\b)){0,2})[*_]{0,3}"
    r"\s*(?:\([^)\n]{1,40}\)|\[[^\]\n]{1,40}\])?[*_]{0,3}\s?[:\uff1a][*_]{0,3}(?:\s+|(?<=\uff1a))(?=\S)"
)
# Labels that are people: what stands behind one is what they say, if it speaks to somebody.
_PEOPLE: Final = """
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
_LABELS: Final = """
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
_PEOPLE_WORDS: Final = frozenset(_PEOPLE.split())
_LABEL_WORDS: Final = frozenset(_LABELS.split())
_NOUN_ENDS: Final = re.compile(
    r"(?:s|tions?|sions?|ments?|ings?|ity|ities|ness|[ae]nce|[ae]ncy|ures?|ship|ism|age|logy|ware|base|line)$"
)
_ADDRESSES: Final = re.compile(
    r"\b(?:you|your|I|we|me|us|my|our|du|dich|dir|Sie|ich|wir|tu|vous|je|nous|usted|yo|debes)\b"
    r"|^(?:(?-i:[A-Z])\S*)(?:\s+\S+){3,}",
    re.IGNORECASE,
)
_GREETS: Final = re.compile(
    r"(?:you|we|I|hi|hello|hey|okay|ok|sure|thanks|du|ihr|ich|wir|tu|vous|je|nous|yo)\b",
    re.IGNORECASE,
)
_LOG: Final = re.compile(
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
_ROW: Final = re.compile(r"^\s*(?:\|.*\|\s*$|\+[-=+]{3,}|[^\n]*\t[^\n]*\t|[│┃├┌└])")
_CSV: Final = re.compile(r"(?!.*,\s)(?:[^,\n]*,){2,}[^,\n]*\Z|(?:[^;\n]*;){2,}[^;\n]*\Z")
_FENCE: Final = re.compile(r"^[\s>]*(?P<fence>`{3,}|~{3,}|\"{3,}|'{3,}|\$\$\$)")
_RULER: Final = re.compile(r"^\s*(?P<mark>[-=*_~#<>+\u2014\u2500.])(?:\s?(?P=mark)){2,}\s*$")
_BEGIN: Final = re.compile(
    r"^\s*(?P<mark>[-=*_~#<>+\u2014]{2,})\s*(?P<name>[^-=*_~#<>+\u2014\n][^\n]{0,80}?)\s*[-=*_~#<>+\u2014:]{2,}\s*$"
    r"|^\s*\W*(?i:BEGIN|START)_[^.!?\n]{0,60}$|^\s*\\begin\{(?:quot|displayquote|verbatim|lstlisting)\w*\*?\}"
    r"|^\s*\W*(?:BEGIN|START)\b[^.!?\n]{0,60}$|^[\s>*_]*Begin\s+forwarded\s+message\b[^\n]{0,20}$"
    r"|^\s*\[(?:begin|start|quote|email|mail|document|page)\b[^\]\n]{0,60}\]"
)
_END: Final = re.compile(
    r"^\s*\W*(?:END|End|end|EOF|/)(?:\b|(?=\w))(?:\s+(?:of|OF|Of)\b)?[^.!?\n]{0,60}$"
    r"|^\s*\[/?(?:end|/quote|/email|/mail|/document|/page)\b[^\]\n]{0,60}\]\s*$"
)
_FRAME_WORDS: Final = re.compile(
    r"\b(?:begin(?:ning|s)?|start|end(?:e|ing|s)?|eof|of|the|here)\b|\b(?:begin|end)(?=\w)"
)
# A line that may seem to say that the block above it is over.
_OVER: Final = re.compile(
    r"^\W*(?:(?:\w+\W+){0,3}(?:ends?|ended|eof|over|closed)(?:\s+here)?"
    r"|(?:the\s+)?end\s+of\b[^\n]{0,40}\b(?:contexts?|blocks?|facts|summary|messages|history|conversation|memory))\W*$",
    re.IGNORECASE,
)
_MARKED: Final = frozenset({"context", "facts"})
_BLOCK_WORDS: Final = frozenset({"compacted", "context", "facts", "from", "block", "summary"})
# A mail program writes it above what it forwards and closes nothing: "-----Original Message-----".
_HEADED: Final = re.compile(r"^[\s>*_]*-{2,}\s*(?:Original|Forwarded|Weitergeleitete|Urspr)")
_SAME: Final = MappingProxyType(
    dict.fromkeys(("mail", "email", "letter", "messages", "mails", "emails"), "message")
)
# What is shown has a shape of its own, and ends with it; a mail may have a table in it.
_SHAPED: Final = re.compile(
    r"\b(?:logs?|logfile|output|results?|response|errors?|traces?|traceback|stack ?trace|dump|json"
    r"|xml|html|yaml|csv|table|config|code|data|listing|snippet|transcripts?|chats?|files?|calls?"
    r"|rows?)\b",
    re.IGNORECASE,
)
# How a letter ends, and who wrote it. A person thanks a program, and rarely sends it regards.
_REGARDS: Final = re.compile(
    r"^[\s>]*(?:(?:(?:with\s+)?(?:best|kind(?:est)?|warm(?:est)?|many)\s+(?:regards|wishes|greetings)|regards|best|sincerely"
    r"|(?:yours\s+)?(?:sincerely|faithfully|truly)(?:\s+yours)?|yours|respectfully|cordially|cheers"
    r"|mit\s+(?:freundlichen|besten)\s+gr\u00fc\u00df?s*en|(?:viele|beste|liebe)\s+gr\u00fc\u00df?s*e|cordialement|bien\s+\u00e0\s+vous"
    r"|salutations|saludos|atentamente|cordiali\s+saluti|distinti\s+saluti)\s*[,.!]?\s*"
    r"(?:(?<=,)\s*[A-Z][\w.'-]*(?:\s[A-Z][\w.'-]*){0,3}\s*)?)$"
    r"|^[\s>]*(?:this\s+(?:e-?mail|message)\b[^.]{0,60}\b(?:confidential|intended)\b|to\s+unsubscribe\b|click[^.]{0,20}\sunsubscribe\b)"
    r"|^[^.!?\n|]{2,60}\|[^.!?\n]{2,80}\|[^.!?\n]*[0-9][0-9 ]{5,}\s*$"
    r"|^--\s*$|^[\s>]*(?:sent\s+from\s+my\s|get\s+outlook\s+for\s|von\s+meinem\s.{2,30}gesendet|envoy\u00e9\s+de(?:puis)?\s+mon)",
    re.IGNORECASE,
)
_TO_PROGRAM: Final = re.compile(
    r"\b(?:claude|chat\s?gpt|gpt|assistant|copilot|gemini|bot|ai|there|all|team|everyone|constat|agent|helper)\b",
    re.IGNORECASE,
)
_AFTERWARDS: Final = re.compile(r"^\s*(?:P\.?\s?)+S\b", re.IGNORECASE)
# What programs write above a page, a ticket or a report. No heading ends it: it could have one.
_SECTION: Final = re.compile(
    r"^\s*(?:[A-Z][A-Z ]{0,20}\s)?(?:ISSUE|REPORT|TICKET|REVIEW|COMMENT|POST|ANSWER|REPLY)"
    r"(?:S|\sTEXT)?:\s*$"
    r"|^\s*#{1,6}\s+(?i:(?:the|my|retrieved|fetched|pasted|forwarded|original|incoming|found|web)"
    r"\s+){0,3}(?i:(?:web\s?)?pages?|articles?|e-?mails?|mails?|letters?|tickets?|transcripts?"
    r"|issues?|bug\sreports?|search\sresults?|(?:tool|function|command)\s(?:outputs?|results?)"
    r"|retrieved\s[\w ]{1,40}|documents?)[:\s]*$"
    r"|^\s*(?i:answer|comment|reply|review|post|response)\s(?:#?[0-9]{1,4}|by\s)[^.!?\n:]{0,60}$"
    r"|^\s*@?[\w.-]+(?:\s[A-Z][\w.-]*)?\s(?:commented|wrote|replied|posted|answered|asked|opened)\b"
    r"[^.!?\n:]{0,60}$"
)
# A mail in other languages: the line above it says who wrote.
_ATTRIBUTED: Final = re.compile(
    r"^[^\n]{2,200}(?:\b(?:schreef|ha\s+scritto|napisała?|escreveu|skrev|kirjoitti|yazd\u0131|a\s+scris|írta"
    r"|napsala?|escribió|escribio|a\s+écrit|schrieb|написала?|пише|пишет)\b|写道|寫道|書きました)"
    r"[^\n]{0,80}[:\uff1a]\s*$",
    re.IGNORECASE,
)
_HERE: Final = re.compile(r"<<-?\s*[\"']?(?P<word>[A-Za-z_]\w{0,30})[\"']?[\s;)]*$")
_DIFF: Final = re.compile(
    r"^(?:diff --git\s|Index:\s\S|@@\s-[0-9]|---\s\S*[/.]\S|commit\s[0-9a-f]{6,40}\b)"
)
_SETTING: Final = re.compile(r"^\s*(?:\[[\w .\"'-]{1,60}\]\s*$|[A-Za-z_][\w.-]{0,40}\s*=\s*\S)")
# Letters that look like others, or like none: each is read as one that has the same meaning.
_WIDE_COLON: Final = 0xFF1A
_LOOKS: Final = MappingProxyType(
    {
        **{code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F) if code != _WIDE_COLON},
        **dict.fromkeys(
            (0xAD, *range(0x200B, 0x2010), *range(0x202A, 0x202F), 0x2060, 0xFEFF), 0x20
        ),
        **dict.fromkeys((0x0B, 0x0C, 0x85, 0x2028, 0x2029), 0x0A),
    }
)
_ALONE: Final = re.compile(r"\r(?!\n)")
_TAG: Final = re.compile(r"<(?P<name>[A-Za-z][\w:.-]{0,40})(?:\s[^<>\n]{0,300})?(?<!/)>")
_QUOTE_TAG: Final = re.compile(
    r"\[(?P<name>quote|email|mail|code|document|page|spoiler)\b[^\]\n]{0,60}\]", re.IGNORECASE
)
_DOCUMENT: Final = re.compile(
    r"<(?P<name>(?:documents?|docs?|contexts?|passages?|search_?results?|results?|pages?|web_?pages?|articles?"
    r"|e?mails?|files?|file_contents?|function_results?|tool_results?|quotes?|transcripts?|blockquote))"
    r"(?:\s[^<>\n]{0,300})?>.*?(?:</(?P=name)>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
# To its last end before another begins: an end in what is quoted is no end of it.
_COMMENT: Final = re.compile(
    r"<!--(?:(?:(?!<!--).)*-->|.*\Z)|/\*(?:(?:(?!/\*).)*\*/|.*\Z)", re.DOTALL
)
_BULLET: Final = re.compile(r"^\s*(?:[-*+\u2022]|[0-9]{1,3}[.)]|[a-z][.)])\s")
_INDENTED: Final = re.compile(r"^(?: {4,}|\t)\s*\S")
_PAIRS: Final = (
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
_MAY_STAND_ALONE: Final = "\u00bb\u2018\u201a\u2039"
_DEMAND: Final = re.compile(
    r"\b(?:must|never|always|only|do\s+not|don['\u2019]t|should|shall|may\s+not|cannot|can['\u2019]t|need\s+to"
    r"|have\s+to|required|ensure|make\s+sure|avoid|forbidden|unless|without)\b",
    re.IGNORECASE,
)
_LEAST_WORDS: Final = 4
_FEW: Final = 3
_THEIRS: Final = re.compile(
    rf"{_SUBJECT}(?:\w+\s+){{0,3}}?{_SAYS}\b"
    rf"|\b(?:from|in|by|of|on)\s+{_WHOSE}{_FEW_WORDS}{{0,3}}?{_NOUNS}\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=_MOST_REMEMBERED)
def quoted(text: str) -> tuple[tuple[int, int], ...]:
    """Return the characters that are another's words, as ranges in their order."""
    scan = _Scan(text)
    scan.lines()
    scan.inline()
    return scan.ranges()


def compacted(text: str) -> tuple[tuple[int, int], ...]:
    """Return the characters of compacted text that came back, as ranges of whole lines."""
    scan = _Scan(text)
    scan.blocks()
    return scan.ranges()


def announces(text: str) -> bool:
    """Tell whether another's words are to come behind a text: "Here is the page:"."""
    return _Scan(text).announces()


def pages(text: str) -> tuple[tuple[int, int], ...]:
    """Return the characters that are compacted text, or a document between tags."""
    scan = _Scan(text)
    scan.blocks()
    scan.documents()
    return scan.ranges()


def own(text: str) -> str:
    """Return somebody's own words, with a mark for what they quote; empty without any."""
    parts, at = [], 0
    for start, end in quoted(text):
        parts.append(text[at:start])
        said = text[start:end]
        lead = len(said) - len(said.lstrip())
        parts.append(f"{said[:lead]}{ELISION}{said[len(said.rstrip()) :]}")
        at = end
    parts.append(text[at:])
    found = "".join(parts)
    if announces(text):
        # What is announced is not there: nothing that comes to stand behind it is that.
        found = f"{found.rstrip()} {ELISION}"
    return found.strip() if found.replace(ELISION, "").strip(" \t\r\n.:;,!?\"'-") else ""


def blanked(text: str, ranges: tuple[tuple[int, int], ...], fill: str = " ") -> str:
    """Return a text of the same length with blanks at some places; lines stay lines."""
    parts, at = [], 0
    for start, end in ranges:
        parts += [text[at:start], re.sub(r"[^\n]", fill, text[start:end])]
        at = end
    return "".join([*parts, text[at:]])


class _Scan:
    """One text, with a mark for each character that is another's."""

    def __init__(self, text: str) -> None:
        text = _ALONE.sub("\n", text.translate(_LOOKS))
        self._text = text
        self._marks = bytearray(len(text))
        starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self._starts = [*starts, len(text)]
        self._lines = [text[one:end] for one, end in zip(starts, self._starts[1:], strict=True)]
        # Where the message begins: behind a block that a program joined to it.
        self._first = 0

    def ranges(self) -> tuple[tuple[int, int], ...]:
        """Give what is marked."""
        return tuple(one.span() for one in re.finditer(rb"\x01+", bytes(self._marks)))

    def blocks(self) -> None:
        """Mark compacted text: all from its first to its last line, and what is joined to it."""
        found = [at for at, line in enumerate(self._lines) if _is_of_block(line)]
        if found:
            # No block has a line that closes it: who wrote one wrote what is behind it, too.
            end = self._paragraph_end(found[-1])
            behind = next((line for line in self._lines[end:] if line.strip()), "")
            if any(map(_closes_block, self._lines[found[0] :])) or _OVER.match(behind):
                end = len(self._lines)
            self._mark_lines(found[0], end)
            if not any(line.strip() for line in self._lines[: found[0]]):
                self._first = end
        summary = next((at for at, line in enumerate(self._lines) if _SUMMARIES.search(line)), None)
        if summary is not None:
            self._mark_lines(summary, len(self._lines))

    def lines(self) -> None:
        """Mark what lines show: fences, mails, logs, tables, transcripts, what is introduced."""
        self.blocks()
        self._clusters()
        self._tags()
        self._letters()
        at = 0
        while at < len(self._lines):
            at = max(at + 1, self._line(at))

    def inline(self) -> None:
        """Mark what stands between quotation marks, and what is reported."""
        rest = blanked(self._text, self.ranges())
        for start, end in _quotations(rest):
            if self._is_foreign(rest, start, end):
                self._mark(start, end)
        rest = blanked(self._text, self.ranges(), HOLE)
        for found in _REPORTED.finditer(rest):
            self._mark(*found.span())

    def announces(self) -> bool:
        """Tell whether the last line introduces what is not there."""
        self.lines()
        last = next((n for n in reversed(range(len(self._lines))) if self._lines[n].strip()), None)
        if last is None or self._is_marked(last):
            return False
        line = self._lines[last]
        return any(not line[colon:].strip() for colon in _cues(line)) or bool(_SECTION.match(line))

    def documents(self) -> None:
        """Mark elements that are named as what a program found and put there."""
        for found in _DOCUMENT.finditer(self._text):
            self._mark(*found.span())

    def _line(self, at: int) -> int:
        """Mark what begins in a line; gives the line to go on with."""
        if self._is_marked(at):
            return at + 1
        line = self._lines[at]
        for rule in (self._enclosed, self._mail, self._arrow, self._indent):
            end = rule(at, line)
            if end > at:
                self._mark_lines(at, end)
                return end
        return self._introduced(at, line)

    def _enclosed(self, at: int, line: str) -> int:
        """Say where something ends that begins and ends with lines of their own."""
        if fence := _FENCE.match(line):
            mark = fence["fence"]
            if mark in line[fence.end() :]:
                return at
            return self._closed(at, lambda one: one.strip().strip(">").strip().startswith(mark))
        if here := _HERE.search(line):
            word = here["word"]
            return self._after(at, lambda one: one.strip() == word, _HERE.search)
        if _BEGIN.match(line):
            return at + 1 if _END.match(line) else self._until_end(at)
        if ruler := _RULER.match(line):
            mark = ruler["mark"]
            above = self._lines[at - 1] if at else ""
            if (
                above.strip()
                and mark in "-="
                and not any(True for _ in _cues(above))
                and len(above) < len(line) + 40
            ):
                return at  # what underlines a heading quotes nothing
            return self._closed(
                at, lambda one: bool((r := _RULER.match(one)) and r["mark"] == mark)
            )
        return at

    def _mail(self, at: int, line: str) -> int:
        """Say where a mail or a transcript ends: nobody knows, so at the end."""
        if any(one.match(line) for one in (_MAIL, _ROLE, _SECTION, _ATTRIBUTED, _DIFF)):
            return self._until_end(at)
        following = self._lines[at + 1] if at + 1 < len(self._lines) else ""
        head = _HEADER.match(line) and _HEADER.match(following)
        if head and any(map(_OF_MAIL.search, (line, following))):
            return self._until_end(at)
        behind = any(one.strip() for one in self._lines[at + 1 :])
        if behind and _REPLY.match(line) and not _DEMAND.search(line):
            return self._until_end(at)
        before = any(one.strip() for one in self._lines[self._first : at])
        if before and (_GREETING.match(line) or _calls(line)):
            return self._until_end(at)
        return at

    def _letters(self) -> None:
        """Mark letters that end with regards, although nobody says where they begin.

        One that begins a message and is not for a program is over with its signature. Any other
        one began at the latest behind the first paragraph: what a message begins with is its own.
        """
        found = [at for at, line in enumerate(self._lines) if _REGARDS.match(line)]
        lines = enumerate(self._lines)
        first = next((at for at, line in lines if at >= self._first and line.strip()), None)
        if not found or first is None:
            return
        end = self._paragraph_end(found[-1])
        behind = next((line for line in self._lines[end:] if line.strip()), None)
        if _GREETING.match(self._lines[first]):
            if behind is not None and not _AFTERWARDS.match(behind):
                addressed = len(self._lines[first].split()) > 1
                if addressed and not _TO_PROGRAM.search(self._lines[first]):
                    self._mark_lines(first, end)
            return
        start = self._paragraph_end(first)
        if start < found[-1] and any(line.strip() for line in self._lines[start : found[-1]]):
            self._mark_lines(start, self._until_end(found[-1]))

    def _arrow(self, at: int, line: str) -> int:
        """Say where lines with marks of a quotation end: a paragraph goes on without them."""
        if re.match(r"\s{0,8}(?:[A-Za-z]{0,4}>|&gt;|\u00bb|\|\s)(?!=)", line):
            return self._paragraph_end(at)
        return at

    def _indent(self, at: int, line: str) -> int:
        above = next((one for one in reversed(self._lines[:at]) if one.strip()), "")
        if not _INDENTED.match(line) or _BULLET.match(above) or _BULLET.match(line):
            return at
        end = at + 1
        while end < len(self._lines) and (
            _INDENTED.match(self._lines[end]) or not self._lines[end].strip()
        ):
            end += 1
        return end

    def _introduced(self, at: int, line: str) -> int:
        """Mark what a line introduces: what is enclosed behind it, or all up to the end."""
        shown = blanked(line, tuple(_quotations(line)))
        for colon in _cues(shown):
            rest = line[colon:]
            if rest.strip():
                if not _opens(rest):
                    self._mark(self._starts[at] + colon, self._starts[at + 1])
                    end = self._until_end(at)
                    self._mark_lines(at + 1, end)
                    return end
                continue
            after = next(
                (n for n in range(at + 1, len(self._lines)) if self._lines[n].strip()), None
            )
            if after is None or _opens(self._lines[after]):
                return at + 1
            if self._is_marked(after) and _SHAPED.search(shown[:colon]):
                return at + 1
            end = self._until_end(after)
            self._mark_lines(after, end)
            return end
        if (said := _MEANT.search(shown)) and not _MINE.search(said.group()):
            return self._meant(at + 1)
        return at + 1

    def _meant(self, at: int) -> int:
        """Mark what a sentence can only have meant, where nothing is shown to be another's."""
        if any(
            self._is_marked(n) or _opens(line) or _BULLET.match(line)
            for n, line in enumerate(self._lines)
            if n >= at and line.strip()
        ):
            return at
        self._mark_lines(at, len(self._lines))
        return len(self._lines)

    def _clusters(self) -> None:
        """Mark logs, tables and transcripts, from the first to the last line of each sort."""
        for is_one, least in (
            (_LOG.match, 1),
            (_ROW.match, 1),
            (_json_line, 1),
            (_SETTING.match, 2),
        ):
            found = [at for at, line in enumerate(self._lines) if is_one(line)]
            if len(found) >= least:
                self._mark_lines(found[0], self._paragraph_end(found[-1]))
        self._csv()
        self._chats()

    def _chats(self) -> None:
        """Mark what has its speakers before it, from the first of them to its end."""
        lines = self._lines
        chats = [
            at
            for at, line in enumerate(lines)
            if ((found := _CHAT.match(line)) and not _closes_tag(found.group(), self._text))
        ]
        chats = sorted([*chats, *self._entries()])
        if chats:
            self._mark_lines(chats[0], self._until_end(chats[-1]))
        spoken = [(at, one) for at, line in enumerate(lines) if (one := _SPEAKER.match(line))]
        many = [(at, one["name"].casefold()) for at, one in spoken if _may_be_one_of_many(one)]
        names = [name for _, name in many]
        if len(names) >= _FEW and len(set(names)) < len(names):
            self._mark_lines(many[0][0], len(lines))
        for at, one in spoken:
            said = one.string[one.end() :].lstrip()
            if _is_person(one["name"]) and _ADDRESSES.search(said):
                self._mark_lines(at, self._until_end(at))
            elif _may_speak(one["name"]) and _GREETS.match(said):
                self._mark_lines(at, self._paragraph_end(at))

    def _entries(self) -> list[int]:
        """Find lines that name who says the lines below: one of somebody, two of anybody."""
        lines = [*self._lines, ""]
        found = [(at, one) for at, line in enumerate(lines) if (one := _ENTRY.match(line))]
        above = [
            (at, one)
            for at, one in found
            if lines[at + 1].strip() and not _ENTRY.match(lines[at + 1])
        ]
        named = any(one["day"] or _is_person(one["name"]) for _, one in above)
        times = Counter(one["name"] for _, one in above)
        return [at for at, _ in above] if named or any(n > 1 for n in times.values()) else []

    def _csv(self) -> None:
        at = 0
        while at < len(self._lines):
            end, counts = at, (-1, -1)
            while end < len(self._lines):
                line = self._lines[end].rstrip("\r\n")
                each = (line.count(","), line.count(";"))
                if not _CSV.match(line) or counts not in {(-1, -1), each}:
                    break
                counts, end = each, end + 1
            if end - at > 1:
                self._mark_lines(at, self._paragraph_end(end - 1))
            at = max(at + 1, end)

    def _tags(self) -> None:
        """Mark elements with all that is in them; one that begins a line may lack its end."""
        text = self._text
        for found in _COMMENT.finditer(text):
            self._mark(*found.span())
        for pattern, close in ((_TAG, "</{}>"), (_QUOTE_TAG, "[/{}]")):
            for found in pattern.finditer(text):
                if self._marks[found.start()]:
                    continue
                end = text.lower().rfind(close.format(found["name"].lower()))
                if end > found.start():
                    self._mark(found.start(), end + len(close.format(found["name"])))
                elif not text[text.rfind("\n", 0, found.start()) + 1 : found.start()].strip():
                    line_end = text.find("\n", found.end())
                    if not text[found.end() : None if line_end < 0 else line_end].strip():
                        self._mark(found.start(), len(text))

    def _is_foreign(self, rest: str, start: int, end: int) -> bool:
        """Tell whether what stands between quotation marks is more than a name."""
        said = rest[start:end]
        if _SELF.search(rest[max(0, start - 120) : start]):
            return False
        return len(said.split()) >= _LEAST_WORDS or bool(_DEMAND.search(said))

    def _until_end(self, at: int) -> int:
        """Return where a paste ends: where a frame around it does, or at the end of the text.

        A line alone that says "end of mail" ends nothing: it may be one of the mail.
        """
        return next((end for start, end in self._frames() if start <= at < end), len(self._lines))

    def _frames(self) -> Iterator[tuple[int, int]]:
        """Yield what stands between a line that begins it and the last one that ends the same."""
        at = 0
        while at < len(self._lines):
            line = self._lines[at]
            if not _BEGIN.match(line) or _END.match(line) or _HEADED.match(line):
                at += 1
                continue
            named = _frame_words(line)
            ends = [
                n
                for n in range(at + 1, len(self._lines))
                if _END.match(self._lines[n]) and _frame_words(self._lines[n]) <= named
            ]
            end = ends[-1] + 1 if ends else len(self._lines)
            if any(_REGARDS.match(one) for one in self._lines[end:]):
                end = len(self._lines)  # it goes on behind what seems to end it
            yield at, end
            at = end

    def _closed(self, at: int, closes: Callable[[str], bool]) -> int:
        """Say where something ends whose first line looks like its last one.

        Where one of these lines is left over, it may stand in what is quoted: then the last one
        ends it.
        """
        found = [n for n in range(at + 1, len(self._lines)) if closes(self._lines[n])]
        if not found:
            return len(self._lines)
        return (found[0] if len(found) % 2 else found[-1]) + 1

    def _after(self, at: int, closes: Callable[[str], bool], opens: Callable[[str], object]) -> int:
        """Say where something ends: with the last closing line before another one opens."""
        last = len(self._lines)
        for n in range(at + 1, len(self._lines)):
            if opens(self._lines[n]):
                break
            if closes(self._lines[n]):
                last = n + 1
        return last

    def _paragraph_end(self, at: int) -> int:
        end = at + 1
        while end < len(self._lines) and self._lines[end].strip():
            end += 1
        return end

    def _is_marked(self, at: int) -> bool:
        line = self._lines[at]
        first = self._starts[at] + len(line) - len(line.lstrip())
        return first < len(self._marks) and bool(self._marks[first])

    def _mark_lines(self, start: int, end: int) -> None:
        self._mark(self._starts[start], self._starts[min(end, len(self._lines))])

    def _mark(self, start: int, end: int) -> None:
        self._marks[start:end] = b"\x01" * (end - start)


def _is_of_block(line: str) -> bool:
    if MARKER.casefold() in line.casefold() or _HEADS.match(line):
        return True
    if _closes_block(line) and _frame_words(line) >= _MARKED:
        return True
    return "@" in line and bool(_ENDS.search(line) or len(_PLACES.findall(line)) > 1)


def _closes_block(line: str) -> bool:
    words = _frame_words(line) if _END.match(line) else frozenset()
    return bool(words) and words <= _BLOCK_WORDS


def _frame_words(line: str) -> frozenset[str]:
    """Return what a line that begins or ends something calls it."""
    words = re.sub(r"[\W_]+", " ", line.casefold())
    found = _FRAME_WORDS.sub(" ", words.replace("e mail", "mail")).split()
    return frozenset(_SAME.get(one, one) for one in found)


def _json_line(line: str) -> bool:
    return bool(
        re.match(
            r"\s*(?:[\[{]\s*(?:$|[\"'{\[\]}\d-])|[}\]][,;]?\s*$|\"[^\"\n]{1,80}\"\s*:\s)", line
        )
    )


def _is_person(name: str) -> bool:
    """Tell whether a label names somebody: a first name, a title, or what somebody is."""
    return name.replace(".", " ").split()[0].casefold() in _PEOPLE_WORDS


def _calls(line: str) -> bool:
    """Tell whether a line is somebody's name with a comma: "Anna,"."""
    name = line.strip()
    return (
        name.endswith(",") and name[:-1].isalpha() and name[0].isupper() and _is_person(name[:-1])
    )


def _is_label(name: str) -> bool:
    """Tell whether a label names a part of what somebody writes, in small letters."""
    return any(one in _LABEL_WORDS or bool(_NOUN_ENDS.search(one)) for one in name.split()) and (
        not _is_person(name)
    )


def _may_be_one_of_many(found: re.Match[str]) -> bool:
    """Tell whether a line may be one of a transcript: lists have bold labels, or small ones."""
    name = found["name"]
    if found["bold"]:
        return _is_person(name)
    if name[0] in string.ascii_uppercase:
        return True
    return not found.string[0].isspace() and not _is_label(name.casefold())


def _may_speak(name: str) -> bool:
    """Tell whether a label may be a name that nobody knows: one word, and no common noun."""
    return name[:1].isupper() and len(name.split()) == 1 and not _is_label(name.casefold())


def _closes_tag(head: str, text: str) -> bool:
    """Tell whether a name in brackets is a tag, which ends further on."""
    named = re.search(r"<\W?([A-Za-z][\w.-]*)>", head)
    return named is not None and f"</{named[1].casefold()}>" in text.casefold()


def _cues(line: str) -> Iterator[int]:
    """Yield the places behind the colons that introduce another's words."""
    for found in _CUE.finditer(line):
        said = found.group()
        if _THEIRS.search(said) or not _MINE.search(line[: found.end()]):
            yield found.end()
    for found in _FOLLOWING.finditer(line):
        if not _MINE.search(found.group()):
            yield found.end()
    for found in _TITLED.finditer(line):
        yield found.end()
    if greeted := _GREETED.search(line):
        yield greeted.end()
    if (above := _ABOVE.search(line)) and not _MINE.search(above.group()):
        yield len(line)


def _opens(text: str) -> bool:
    """Tell whether a text begins with a mark that will be closed."""
    return bool(
        _FENCE.match(text)
        or _RULER.match(text)
        or _BEGIN.match(text)
        or re.match(
            r"\s*(?:>|&gt;|[\"\u201c\u201e\u00ab\u2039\u300c\u2018]|<[A-Za-z]|\[quote|\[\u2026\])",
            text,
        )
    )


def _quotations(text: str) -> Iterator[tuple[int, int]]:
    """Yield what stands between quotation marks, with the marks; one in another is part of it."""
    yield from _straight(text)
    closed: set[int] = set()
    for opening, closings in _PAIRS:
        at = 0
        while (start := text.find(opening, at)) >= 0:
            at = start + 1
            if start in closed:
                continue
            ends = [one.start() for one in re.finditer(f"[{closings}]", text) if one.start() >= at]
            end = next((one for one in ends if not _begins(text, one)), -1)
            if end >= 0:
                closed.add(end)
                at = end + 1
                yield start, at
            elif opening not in _MAY_STAND_ALONE:
                yield start, len(text)
    for found in re.finditer(
        r"``[^`]{2,2000}?''|`[^`\n]+`|(?<![\w'])'(?=\S)[^'\n]{2,400}(?:(?<=\w)'(?=\w)[^'\n]{1,400}){0,20}(?<=\S)'(?!\w)",
        text,
    ):
        yield found.span()


def _begins(text: str, at: int) -> bool:
    """Tell whether a mark stands before a word: it closes nothing."""
    return text[at - 1 : at].isspace() and text[at + 1 : at + 2].isalnum()


def _straight(text: str) -> Iterator[tuple[int, int]]:
    """Yield what stands between straight marks, which open before a word and close behind one."""
    depth = start = 0
    for found in re.finditer('"', text):
        at = found.start()
        before, after = text[at - 1 : at], text[at + 1 : at + 2]
        opens = (not before or not (before.isalnum() or before in ".,;!?)")) and after.strip() != ""
        if depth and (not opens or before == ""):
            depth -= 1
            if not depth:
                yield start, at + 1
        elif opens:
            start, depth = (start if depth else at), depth + 1
    if depth:
        yield start, len(text)
