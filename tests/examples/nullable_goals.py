"""Goals over the Chinook database, written from its schema before any of them was run.

Each has a rule over the declarations that `constat init` drafts, and a query that says the same
where NULL is no value. Half of them read no column that may be NULL, the other half do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class NullableGoal:
    """A goal: the predicate that it is an atom of, its rules, and SQL for whether it holds."""

    goal: str
    declared: str
    rules: str
    sql: str


def _exists(goal: str, declared: str, rules: str, rest: str) -> NullableGoal:
    return NullableGoal(goal, declared, rules, f"SELECT EXISTS (SELECT 1 FROM {rest})")


_BUYS: Final = (
    "buys(c: number)",
    "buys(?c) :- customer(customer_id = ?c), invoice(customer_id = ?c).",
)
_NEVER: Final = (
    "never_bought(c: number)",
    "never_bought(?c) :- customer(customer_id = ?c), !invoice(customer_id = ?c).",
)
_BOUGHT: Final = (
    "bought(c: number, t: number)",
    (
        "bought(?c, ?t) :- invoice(invoice_id = ?i, customer_id = ?c), "
        "invoice_line(invoice_id = ?i, track_id = ?t)."
    ),
)
_SPENT: Final = (
    "spent(c: number, s: Decimal)",
    (
        "spent(?c, ?s) :- customer(customer_id = ?c), "
        "?s = sum ?t : { invoice(invoice_id = ?i, customer_id = ?c, total = ?t), ?i > 0 }."
    ),
)
_INVOICES: Final = (
    "invoices(c: number, n: number)",
    (
        "invoices(?c, ?n) :- customer(customer_id = ?c), "
        "?n = count : { invoice(invoice_id = _i, customer_id = ?c) }."
    ),
)
_ALBUMS: Final = (
    "albums(a: number, n: number)",
    (
        "albums(?a, ?n) :- artist(artist_id = ?a), "
        "?n = count : { album(album_id = _b, artist_id = ?a) }."
    ),
)
_SIZE: Final = (
    "size(p: number, n: number)",
    (
        "size(?p, ?n) :- playlist(playlist_id = ?p), "
        "?n = count : { playlist_track(playlist_id = ?p, track_id = _t) }."
    ),
)

_LISTED: Final = "FROM PlaylistTrack WHERE PlaylistId"

UNREAD: Final = (
    _exists("buys(23)", *_BUYS, "Invoice WHERE CustomerId = 23"),
    _exists("buys(60)", *_BUYS, "Invoice WHERE CustomerId = 60"),
    _exists(
        "never_bought(5)",
        *_NEVER,
        "Customer WHERE CustomerId = 5 AND CustomerId NOT IN (SELECT CustomerId FROM Invoice)",
    ),
    _exists(
        "never_bought(?c)",
        *_NEVER,
        "Customer WHERE CustomerId NOT IN (SELECT CustomerId FROM Invoice)",
    ),
    _exists(
        "bought(1, 3247)",
        *_BOUGHT,
        "Invoice JOIN InvoiceLine USING (InvoiceId) WHERE CustomerId = 1 AND TrackId = 3247",
    ),
    _exists(
        "bought(2, 1)",
        *_BOUGHT,
        "Invoice JOIN InvoiceLine USING (InvoiceId) WHERE CustomerId = 2 AND TrackId = 1",
    ),
    NullableGoal(
        "spent(6, 49.62)",
        *_SPENT,
        "SELECT round(sum(Total), 2) = 49.62 FROM Invoice WHERE CustomerId = 6",
    ),
    NullableGoal(
        "spent(7, 49.62)",
        *_SPENT,
        "SELECT round(sum(Total), 2) = 49.62 FROM Invoice WHERE CustomerId = 7",
    ),
    _exists(
        "big(?c)",
        "big(c: number)",
        "big(?c) :- customer(customer_id = ?c), "
        "?s = sum ?t : { invoice(invoice_id = ?i, customer_id = ?c, total = ?t), ?i > 0 }, "
        "?s > 49.",
        "Invoice GROUP BY CustomerId HAVING round(sum(Total), 2) > 49",
    ),
    NullableGoal(
        "invoices(10, 7)", *_INVOICES, "SELECT count(*) = 7 FROM Invoice WHERE CustomerId = 10"
    ),
    NullableGoal(
        "invoices(59, 7)", *_INVOICES, "SELECT count(*) = 7 FROM Invoice WHERE CustomerId = 59"
    ),
    NullableGoal("albums(90, 21)", *_ALBUMS, "SELECT count(*) = 21 FROM Album WHERE ArtistId = 90"),
    NullableGoal("albums(25, 0)", *_ALBUMS, "SELECT count(*) = 0 FROM Album WHERE ArtistId = 25"),
    NullableGoal("size(1, 3290)", *_SIZE, f"SELECT count(*) = 3290 {_LISTED} = 1"),
    NullableGoal("size(18, 2)", *_SIZE, f"SELECT count(*) = 2 {_LISTED} = 18"),
    _exists(
        "silent(?a)",
        "silent(a: number)",
        "silent(?a) :- artist(artist_id = ?a), !album(artist_id = ?a).",
        "Artist WHERE ArtistId NOT IN (SELECT ArtistId FROM Album)",
    ),
    _exists(
        "silent(1)",
        "silent(a: number)",
        "silent(?a) :- artist(artist_id = ?a), !album(artist_id = ?a).",
        "Artist WHERE ArtistId = 1 AND ArtistId NOT IN (SELECT ArtistId FROM Album)",
    ),
    _exists(
        'called("Adams")',
        "called(n: symbol)",
        "called(?n) :- employee(last_name = ?n).",
        "Employee WHERE LastName = 'Adams'",
    ),
    _exists(
        'called("Smith")',
        "called(n: symbol)",
        "called(?n) :- employee(last_name = ?n).",
        "Employee WHERE LastName = 'Smith'",
    ),
    _exists(
        "namesakes(?c, ?d)",
        "namesakes(c: number, d: number)",
        "namesakes(?c, ?d) :- customer(customer_id = ?c, last_name = ?n), "
        "customer(customer_id = ?d, last_name = ?n), ?c < ?d.",
        "Customer a JOIN Customer b ON a.LastName = b.LastName AND a.CustomerId < b.CustomerId",
    ),
    _exists(
        "early(?i)",
        "early(i: number)",
        'early(?i) :- invoice(invoice_id = ?i, invoice_date = ?d), ?d < "2009-01-02".',
        "Invoice WHERE InvoiceDate < '2009-01-02'",
    ),
    _exists(
        "early(1)",
        "early(i: number)",
        'early(?i) :- invoice(invoice_id = ?i, invoice_date = ?d), ?d < "2009-01-02".',
        "Invoice WHERE InvoiceId = 1 AND InvoiceDate < '2009-01-02'",
    ),
    _exists(
        "dear(2820)",
        "dear(t: number)",
        "dear(?t) :- track(track_id = ?t, unit_price = ?p), ?p > 1.",
        "Track WHERE TrackId = 2820 AND UnitPrice > 1",
    ),
    _exists(
        "dear(63)",
        "dear(t: number)",
        "dear(?t) :- track(track_id = ?t, unit_price = ?p), ?p > 1.",
        "Track WHERE TrackId = 63 AND UnitPrice > 1",
    ),
    _exists(
        "unsold(?t)",
        "unsold(t: number)",
        "unsold(?t) :- track(track_id = ?t), !invoice_line(track_id = ?t).",
        "Track WHERE TrackId NOT IN (SELECT TrackId FROM InvoiceLine)",
    ),
    _exists(
        "unsold(2)",
        "unsold(t: number)",
        "unsold(?t) :- track(track_id = ?t), !invoice_line(track_id = ?t).",
        "Track WHERE TrackId = 2 AND TrackId NOT IN (SELECT TrackId FROM InvoiceLine)",
    ),
    _exists(
        "both(1, 8)",
        "both(p: number, q: number)",
        "both(?p, ?q) :- playlist_track(playlist_id = ?p, track_id = ?t), "
        "playlist_track(playlist_id = ?q, track_id = ?t).",
        "PlaylistTrack a JOIN PlaylistTrack b USING (TrackId) "
        "WHERE a.PlaylistId = 1 AND b.PlaylistId = 8",
    ),
    _exists(
        "both(2, 3)",
        "both(p: number, q: number)",
        "both(?p, ?q) :- playlist_track(playlist_id = ?p, track_id = ?t), "
        "playlist_track(playlist_id = ?q, track_id = ?t).",
        "PlaylistTrack a JOIN PlaylistTrack b USING (TrackId) "
        "WHERE a.PlaylistId = 2 AND b.PlaylistId = 3",
    ),
    NullableGoal(
        "longest(5286953)",
        "longest(m: number)",
        "longest(?m) :- ?m = max ?l : { track(track_id = ?t, milliseconds = ?l), ?t > 0 }.",
        "SELECT max(Milliseconds) = 5286953 FROM Track",
    ),
    NullableGoal(
        "tracks(3503)",
        "tracks(n: number)",
        "tracks(?n) :- ?n = count : { track(track_id = _t) }.",
        "SELECT count(*) = 3503 FROM Track",
    ),
    NullableGoal(
        "tracks(2526)",
        "tracks(n: number)",
        "tracks(?n) :- ?n = count : { track(track_id = _t) }.",
        "SELECT count(*) = 2526 FROM Track",
    ),
    NullableGoal(
        "worth(2328.6)",
        "worth(s: Decimal)",
        "worth(?s) :- ?s = sum ?t : { invoice(invoice_id = ?i, total = ?t), ?i > 0 }.",
        "SELECT round(sum(Total), 2) = 2328.6 FROM Invoice",
    ),
    _exists(
        "mailed(?c)",
        "mailed(c: number)",
        'mailed(?c) :- customer(customer_id = ?c, email = ?m), contains("gmail", ?m).',
        "Customer WHERE Email LIKE '%gmail%'",
    ),
    _exists(
        "has_playlist_track(1)",
        "",
        "",
        "Playlist JOIN PlaylistTrack USING (PlaylistId) WHERE PlaylistId = 1",
    ),
)

_FROM: Final = (
    "comes_from(c: number, l: symbol)",
    "comes_from(?c, ?l) :- customer(customer_id = ?c, country = ?l).",
)
_STATE: Final = (
    "state_of(c: number, s: symbol)",
    "state_of(?c, ?s) :- customer(customer_id = ?c, state = ?s).",
)
_FIRM: Final = (
    "works_for_firm(c: number)",
    "works_for_firm(?c) :- customer(customer_id = ?c, company = _firm).",
)
_PRIVATE: Final = (
    "firm(c: number) .decl private(c: number)",
    (
        "firm(?c) :- customer(customer_id = ?c, company = _firm). "
        "private(?c) :- customer(customer_id = ?c), !firm(?c)."
    ),
)
_COMPOSER: Final = (
    "composed(t: number, n: symbol)",
    "composed(?t, ?n) :- track(track_id = ?t, composer = ?n).",
)
_BOSS: Final = (
    "boss(e: number, b: number)",
    "boss(?e, ?b) :- employee(employee_id = ?e, reports_to = ?b).",
)
_TOP: Final = (
    "managed(e: number) .decl top(e: number)",
    (
        "managed(?e) :- employee(employee_id = ?e, reports_to = _b). "
        "top(?e) :- employee(employee_id = ?e), !managed(?e)."
    ),
)
_ABOVE: Final = (
    "above(b: number, e: number)",
    (
        "above(?b, ?e) :- employee(employee_id = ?e, reports_to = ?b). "
        "above(?b, ?e) :- above(?b, ?m), employee(employee_id = ?e, reports_to = ?m)."
    ),
)
_GENRE: Final = (
    "of_genre(t: number, g: symbol)",
    "of_genre(?t, ?g) :- track(track_id = ?t, genre_id = ?i), genre(genre_id = ?i, name = ?g).",
)
_PLAYED: Final = (
    "played_by(t: number, a: symbol)",
    (
        "played_by(?t, ?a) :- track(track_id = ?t, album_id = ?b), "
        "album(album_id = ?b, artist_id = ?i), artist(artist_id = ?i, name = ?a)."
    ),
)
_NEIGHBOURS: Final = (
    "neighbours(c: number, d: number)",
    (
        "neighbours(?c, ?d) :- customer(customer_id = ?c, state = ?s), "
        "customer(customer_id = ?d, state = ?s), ?c < ?d."
    ),
)
_STRANGERS: Final = (
    "strangers(c: number, d: number)",
    (
        "strangers(?c, ?d) :- customer(customer_id = ?c, state = ?s), "
        "customer(customer_id = ?d, state = ?t), ?s != ?t."
    ),
)
_REACHED: Final = (
    "reachable(c: number)",
    (
        "reachable(?c) :- customer(customer_id = ?c, phone = _p). "
        "reachable(?c) :- customer(customer_id = ?c, fax = _f)."
    ),
)

READ: Final = (
    _exists("comes_from(1, Brazil)", *_FROM, "Customer WHERE CustomerId=1 AND Country = 'Brazil'"),
    _exists("comes_from(2, Brazil)", *_FROM, "Customer WHERE CustomerId=2 AND Country = 'Brazil'"),
    _exists("comes_from(?c, Norway)", *_FROM, "Customer WHERE Country = 'Norway'"),
    _exists("comes_from(?c, Japan)", *_FROM, "Customer WHERE Country = 'Japan'"),
    _exists("state_of(1, SP)", *_STATE, "Customer WHERE CustomerId = 1 AND State = 'SP'"),
    _exists("state_of(1, RJ)", *_STATE, "Customer WHERE CustomerId = 1 AND State = 'RJ'"),
    _exists("state_of(2, BW)", *_STATE, "Customer WHERE CustomerId = 2 AND State = 'BW'"),
    _exists("state_of(2, ?s)", *_STATE, "Customer WHERE CustomerId = 2 AND State = State"),
    _exists("state_of(?c, QC)", *_STATE, "Customer WHERE State = 'QC'"),
    _exists("state_of(?c, ZZ)", *_STATE, "Customer WHERE State = 'ZZ'"),
    _exists("works_for_firm(1)", *_FIRM, "Customer WHERE CustomerId = 1 AND Company IS NOT NULL"),
    _exists("works_for_firm(2)", *_FIRM, "Customer WHERE CustomerId = 2 AND Company IS NOT NULL"),
    _exists("private(1)", *_PRIVATE, "Customer WHERE CustomerId = 1 AND Company IS NULL"),
    _exists("private(4)", *_PRIVATE, "Customer WHERE CustomerId = 4 AND Company IS NULL"),
    _exists("composed(1, ?n)", *_COMPOSER, "Track WHERE TrackId = 1 AND Composer IS NOT NULL"),
    _exists("composed(63, Desmond)", *_COMPOSER, "Track WHERE TrackId=63 AND Composer = 'Desmond'"),
    _exists("composed(3, Desmond)", *_COMPOSER, "Track WHERE TrackId=3 AND Composer = 'Desmond'"),
    _exists("boss(2, 1)", *_BOSS, "Employee WHERE EmployeeId = 2 AND ReportsTo = 1"),
    _exists("boss(1, ?b)", *_BOSS, "Employee WHERE EmployeeId = 1 AND ReportsTo IS NOT NULL"),
    _exists("boss(?e, 8)", *_BOSS, "Employee WHERE ReportsTo = 8"),
    _exists("top(1)", *_TOP, "Employee WHERE EmployeeId = 1 AND ReportsTo IS NULL"),
    _exists("top(3)", *_TOP, "Employee WHERE EmployeeId = 3 AND ReportsTo IS NULL"),
    _exists(
        "above(1, 8)",
        *_ABOVE,
        "Employee a JOIN Employee b ON a.ReportsTo = b.EmployeeId "
        "WHERE a.EmployeeId = 8 AND b.ReportsTo = 1",
    ),
    _exists("above(8, 1)", *_ABOVE, "Employee WHERE EmployeeId = 1 AND ReportsTo IS NOT NULL"),
    _exists(
        "of_genre(1, Rock)",
        *_GENRE,
        "Track JOIN Genre USING (GenreId) WHERE TrackId = 1 AND Genre.Name = 'Rock'",
    ),
    _exists(
        "of_genre(1, Jazz)",
        *_GENRE,
        "Track JOIN Genre USING (GenreId) WHERE TrackId = 1 AND Genre.Name = 'Jazz'",
    ),
    _exists(
        'played_by(1, "AC/DC")',
        *_PLAYED,
        "Track JOIN Album USING (AlbumId) JOIN Artist USING (ArtistId) "
        "WHERE TrackId = 1 AND Artist.Name = 'AC/DC'",
    ),
    _exists(
        "neighbours(1, 11)",
        *_NEIGHBOURS,
        "Customer a JOIN Customer b USING (State) WHERE a.CustomerId = 1 AND b.CustomerId = 11",
    ),
    _exists(
        "neighbours(1, 12)",
        *_NEIGHBOURS,
        "Customer a JOIN Customer b USING (State) WHERE a.CustomerId = 1 AND b.CustomerId = 12",
    ),
    _exists(
        "neighbours(1, 2)",
        *_NEIGHBOURS,
        "Customer a JOIN Customer b USING (State) WHERE a.CustomerId = 1 AND b.CustomerId = 2",
    ),
    _exists(
        "strangers(1, 12)",
        *_STRANGERS,
        "Customer a JOIN Customer b ON a.State <> b.State "
        "WHERE a.CustomerId = 1 AND b.CustomerId = 12",
    ),
    _exists(
        "strangers(2, 2)",
        *_STRANGERS,
        "Customer a JOIN Customer b ON a.State <> b.State "
        "WHERE a.CustomerId = 2 AND b.CustomerId = 2",
    ),
    _exists(
        "reachable(45)",
        *_REACHED,
        "Customer WHERE CustomerId = 45 AND (Phone IS NOT NULL OR Fax IS NOT NULL)",
    ),
    _exists(
        "reachable(3)",
        *_REACHED,
        "Customer WHERE CustomerId = 3 AND (Phone IS NOT NULL OR Fax IS NOT NULL)",
    ),
    NullableGoal(
        "americans(13)",
        "americans(n: number)",
        'americans(?n) :- ?n = count : { customer(customer_id = _c, country = "USA") }.',
        "SELECT count(*) = 13 FROM Customer WHERE Country = 'USA'",
    ),
    NullableGoal(
        "californians(3)",
        "californians(n: number)",
        'californians(?n) :- ?n = count : { customer(customer_id = _c, state = "CA", '
        'country = "USA") }.',
        "SELECT count(*) = 3 FROM Customer WHERE State = 'CA' AND Country = 'USA'",
    ),
    NullableGoal(
        "in_state(3)",
        "in_state(n: number)",
        'in_state(?n) :- ?n = count : { customer(customer_id = _c, state = "SP") }.',
        "SELECT count(*) = 3 FROM Customer WHERE State = 'SP'",
    ),
    NullableGoal(
        "largest(1059546140)",
        "largest(b: number)",
        "largest(?b) :- ?b = max ?s : { track(track_id = ?t, bytes = ?s), ?t > 0 }.",
        "SELECT max(Bytes) = 1059546140 FROM Track",
    ),
)
