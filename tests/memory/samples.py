"""Texts of many kinds, and how many tokens three public tokenizers find in them.

The counts were taken on 2026-11-21 and 2026-11-27 with tiktoken's o200k_base and cl100k_base and
the tokenizer that Anthropic published for Claude 2; none of them is needed to run the tests.
"""

from __future__ import annotations

import base64
import json
import random
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

STATES: Final = ("open", "closed", "pending")
LOUD: Final = ("CONSTRAINT", "UNIQUE", "REFERENCES", "TIMESTAMP", "REPOSITORY", "ISOLATION")
CAMEL: Final = ("getCustomerById", "parseHttpRequest", "isVipCustomer", "innerHTML", "toString")
MARKS: Final = "!@#$%^&*()_+-=[]{};:,./<>?|~`"

# Plain sentences in languages of several scripts.
PROSE: Final = MappingProxyType(
    {
        "german prose": (
            "Wir haben gestern die Rechnung über 1.250 Euro erhalten, konnten sie aber "  # noqa: ISC004
            "keinem Auftrag zuordnen.",
            "Bitte teilen Sie uns die Bestellnummer mit, damit wir den Vorgang abschließen können.",
            "Der Liefertermin verschiebt sich voraussichtlich um zwei Wochen, weil ein "  # noqa: ISC004
            "Bauteil fehlt.",
            "Ohne schriftliche Zustimmung des Kunden darf nichts verschickt werden.",
            "Die Mitarbeiterin im Einkauf hat den Preisnachlass bereits zugesagt.",
        ),
        "russian prose": (
            "Мы получили ваш заказ и отправим его завтра утром.",
            "Пожалуйста, не изменяйте дату вылета без моего согласия.",
            "Счёт за прошлый месяц до сих пор не оплачен, хотя деньги были переведены.",
            "Сотрудник обещал перезвонить, но так и не перезвонил.",
            "Номер бронирования указан в письме, которое вы получили вчера.",
        ),
        "ukrainian": (
            "Ми отримали ваше замовлення і надішлемо його завтра вранці.",
            "Будь ласка, не змінюйте дату вильоту без моєї згоди.",
            "Рахунок за минулий місяць досі не сплачено.",
            "Номер бронювання вказано в листі, який ви отримали вчора.",
        ),
        "french": (
            "Nous avons bien reçu votre commande et l'expédierons demain matin.",
            "Merci de ne rien modifier sans mon accord écrit.",
            "La facture du mois dernier n'a toujours pas été réglée.",
            "L'employée avait promis de rappeler, mais elle ne l'a jamais fait.",
            "Le numéro de réservation figure dans le courriel d'hier.",
        ),
        "spanish": (
            "Hemos recibido su pedido y lo enviaremos mañana por la mañana.",
            "Por favor, no cambie la fecha del vuelo sin mi consentimiento.",
            "La factura del mes pasado todavía no se ha pagado.",
            "El número de reserva está en el correo que recibió ayer.",
        ),
        "polish": (
            "Otrzymaliśmy państwa zamówienie i wyślemy je jutro rano.",
            "Proszę nie zmieniać daty wylotu bez mojej zgody.",
            "Rachunek za zeszły miesiąc wciąż nie został zapłacony.",
            "Numer rezerwacji znajduje się w wiadomości, którą państwo wczoraj otrzymali.",
        ),
        "turkish": (
            "Siparişinizi aldık ve yarın sabah göndereceğiz.",
            "Lütfen onayım olmadan uçuş tarihini değiştirmeyin.",
            "Geçen ayın faturası hâlâ ödenmedi.",
            "Rezervasyon numarası dün aldığınız e-postada yazıyor.",
        ),
        "vietnamese": (
            "Chúng tôi đã nhận được đơn hàng của bạn và sẽ gửi vào sáng mai.",
            "Xin đừng thay đổi ngày bay nếu chưa có sự đồng ý của tôi.",
            "Hóa đơn tháng trước vẫn chưa được thanh toán.",
            "Số đặt chỗ nằm trong thư bạn nhận được hôm qua.",
        ),
        "greek": (
            "Λάβαμε την παραγγελία σας και θα τη στείλουμε αύριο το πρωί.",
            "Παρακαλώ μην αλλάξετε την ημερομηνία χωρίς τη συγκατάθεσή μου.",
            "Ο λογαριασμός του περασμένου μήνα δεν έχει πληρωθεί ακόμη.",
        ),
        "hebrew": (
            "קיבלנו את ההזמנה שלך ונשלח אותה מחר בבוקר.",
            "אנא אל תשנה את תאריך הטיסה ללא הסכמתי.",
            "החשבון של החודש שעבר עדיין לא שולם.",
        ),
        "chinese prose": (
            "我们已经收到您的订单，明天早上发货。",
            "没有我的同意，请不要更改航班日期。",
            "上个月的账单还没有付清。",
            "预订号码在您昨天收到的邮件里。",
            "如果客户没有书面确认，就不能退款。",
        ),
        "english prose": (
            "I would like to change my flight to the twentieth, but only if there is no fee.",
            "The refund was promised last week, and nothing has arrived so far.",
            "Please send the report to everybody in the team before the meeting starts.",
            "She said that the invoice had been paid twice, which turned out to be wrong.",
            "We never store card numbers, and nobody may ask for them by mail.",
        ),
    }
)


def rows(rng: random.Random) -> list[tuple[str, ...]]:
    return [
        (
            str(rng.randrange(10**6)),
            f"{rng.random() * 1e4:.2f}",
            f"2025-{rng.randrange(1, 13):02d}-{rng.randrange(1, 29):02d}",
            f"C{rng.randrange(1000):04d}",
            rng.choice(STATES),
        )
        for _ in range(200)
    ]


def json_text(rng: random.Random, indent: int | None = None) -> str:
    names = ("id", "amount", "day", "customer", "state")
    return json.dumps([dict(zip(names, row, strict=True)) for row in rows(rng)], indent=indent)


def joined(rng: random.Random, choices: tuple[str, ...]) -> str:
    return " ".join(rng.choice(choices) for _ in range(400))


def prose(sentences: tuple[str, ...]) -> Callable[[random.Random], str]:
    def made(rng: random.Random) -> str:
        found: list[str] = []
        for _ in range(8):
            shuffled = list(sentences)
            rng.shuffle(shuffled)
            found += shuffled
        return " ".join(found)

    return made


def ids(rng: random.Random) -> str:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    return " ".join("".join(rng.choice(letters) for _ in range(6)) for _ in range(200))


def blanks(rng: random.Random) -> str:
    return "\n".join(
        f"{'    ' * rng.randrange(0, 6)}x = {rng.randrange(99)}{' ' * rng.randrange(0, 30)}# n"
        for _ in range(120)
    )


MAKERS: Final[MappingProxyType[str, Callable[[random.Random], str]]] = MappingProxyType(
    {
        "json": json_text,
        "json, indented": lambda rng: json_text(rng, 2),
        "csv": lambda rng: "\n".join(map(",".join, rows(rng))),
        "table": lambda rng: "\n".join(f"| {' | '.join(row)} |" for row in rows(rng)),
        "digests": lambda rng: "\n".join(f"{rng.getrandbits(128):032x}" for _ in range(100)),
        "short digests": lambda rng: " ".join(f"{rng.getrandbits(32):08x}" for _ in range(200)),
        "base64": lambda rng: base64.b64encode(rng.randbytes(2000)).decode(),
        "marks": lambda rng: "".join(rng.choice(MARKS) for _ in range(1500)),
        "capitals": lambda rng: joined(rng, LOUD),
        "camel case": lambda rng: joined(rng, CAMEL),
        "paths": lambda rng: "\n".join(
            f"/srv/data/{rng.choice(STATES)}_{rng.randrange(99)}/main.py:{rng.randrange(999)}"
            for _ in range(150)
        ),
        "sql": lambda _: (
            "SELECT customer_id, SUM(amount) AS total FROM orders "
            "WHERE ordered_on >= DATE '2025-01-01' GROUP BY customer_id;\n" * 20
        ),
        "english": lambda _: (
            "The customer asked twice whether the refund would arrive before "
            "Friday, and was told that nobody could promise it. " * 20
        ),
        "german": lambda _: (
            "Die Geschäftsführung prüft jährlich die Übereinstimmung der "
            "Verträge mit den gültigen Vorschriften. " * 20
        ),
        "russian": lambda _: "Каждый ответ сопровождается доказательством. " * 20,
        "chinese": lambda _: "证据不足，无法得出结论。每个事实都有来源。" * 20,
        "japanese": lambda _: "この証明は独立した検査器によって検証されます。" * 20,
        "korean": lambda _: "이 증명은 독립적인 검사기에 의해 검증됩니다. " * 20,
        "arabic": lambda _: "كل إجابة مصحوبة ببرهان يتحقق منه برنامج مستقل. " * 20,
        "hindi": lambda _: "हर उत्तर के साथ एक प्रमाण होता है। " * 20,
        "thai": lambda _: "ทุกคำตอบมีหลักฐานที่โปรแกรมอิสระตรวจสอบได้ " * 20,
        "emoji": lambda _: "Done ✅ ship it 🚀 thanks 🙏🏽 ok 🎉 " * 20,
        "boxes": lambda _: "│ total  │ 1,234 │\n├────────┼───────┤\n" * 20,
        **{name: prose(sentences) for name, sentences in PROSE.items()},
        "short ids": ids,
        "blanks": blanks,
    }
)

# By o200k_base, cl100k_base and the tokenizer of Claude 2.
COUNTS: Final = MappingProxyType(
    {
        "json": (8179, 8179, 8260),
        "json, indented": (9986, 9986, 10054),
        "csv": (3979, 3979, 4258),
        "table": (4979, 4979, 4711),
        "digests": (1954, 1949, 1998),
        "short digests": (1098, 1098, 1002),
        "base64": (1803, 1893, 1861),
        "marks": (1027, 1013, 1040),
        "capitals": (792, 595, 728),
        "camel case": (1102, 968, 1046),
        "paths": (1739, 1739, 2251),
        "sql": (580, 580, 680),
        "english": (421, 421, 421),
        "german": (421, 641, 701),
        "russian": (162, 321, 381),
        "chinese": (320, 420, 380),
        "japanese": (321, 540, 480),
        "korean": (281, 501, 621),
        "arabic": (301, 661, 820),
        "hindi": (181, 601, 661),
        "thai": (301, 860, 1561),
        "emoji": (281, 381, 401),
        "boxes": (400, 420, 420),
        "german prose": (696, 888, 968),
        "russian prose": (672, 1088, 1240),
        "ukrainian": (608, 968, 1016),
        "french": (544, 624, 712),
        "spanish": (408, 472, 544),
        "polish": (600, 744, 928),
        "turkish": (472, 648, 736),
        "vietnamese": (464, 808, 1240),
        "greek": (529, 1272, 1600),
        "hebrew": (360, 848, 824),
        "chinese prose": (479, 638, 631),
        "short ids": (897, 918, 856),
        "blanks": (1052, 1052, 830),
        "english prose": (632, 632, 632),
    }
)
