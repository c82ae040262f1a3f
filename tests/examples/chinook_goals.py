"""Goals and queries on Chinook, each with plain SQL that says what is true.

The oracle counts cents as integers and walks lines with recursive queries: it shares neither
decimals, nor dates, nor rules with the project.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from constat import Verdict

PROVED, DISPROVED = Verdict.PROVED, Verdict.DISPROVED
CENTS: Final = "CAST(ROUND({0} * 100) AS INTEGER)"
TOTAL: Final = CENTS.format("Total")
PRICE: Final = CENTS.format("InvoiceLine.UnitPrice")
BELOW: Final = """
below (boss, id) AS (
    SELECT ReportsTo, EmployeeId FROM Employee WHERE ReportsTo IS NOT NULL
    UNION SELECT below.boss, e.EmployeeId FROM below JOIN Employee e ON e.ReportsTo = below.id),
answers (employee, customer) AS (
    SELECT SupportRepId, CustomerId FROM Customer
    UNION SELECT boss, CustomerId FROM Customer JOIN below ON id = SupportRepId)
"""
SPENT: Final = f"SELECT SUM({TOTAL}) FROM Invoice WHERE CustomerId = {{}}"
YEAR: Final = "CAST(strftime('%Y', InvoiceDate) AS INTEGER)"
SOLD: Final = """
SELECT Genre.Name AS name, {0} AS cents FROM InvoiceLine JOIN Track USING (TrackId)
JOIN Genre USING (GenreId)
"""
JAZZ: Final = """
SELECT CustomerId, COUNT(*) AS tracks FROM InvoiceLine JOIN Invoice USING (InvoiceId)
JOIN Track USING (TrackId) JOIN Genre USING (GenreId) WHERE Genre.Name = 'Jazz'
GROUP BY CustomerId
"""
ALBUM: Final = """
SELECT EXISTS (SELECT 1 FROM Track WHERE AlbumId = {1})
AND NOT EXISTS (
    SELECT TrackId FROM Track WHERE AlbumId = {1}
    EXCEPT SELECT TrackId FROM PlaylistTrack WHERE PlaylistId = {0})
"""
EQUAL: Final = """
SELECT NOT EXISTS (
    SELECT TrackId FROM PlaylistTrack WHERE PlaylistId = {0}
    EXCEPT SELECT TrackId FROM PlaylistTrack WHERE PlaylistId = {1})
AND NOT EXISTS (
    SELECT TrackId FROM PlaylistTrack WHERE PlaylistId = {1}
    EXCEPT SELECT TrackId FROM PlaylistTrack WHERE PlaylistId = {0})
"""
TWICE: Final = """
SELECT a.CustomerId, x.TrackId FROM Invoice a JOIN Invoice b USING (CustomerId)
JOIN InvoiceLine x ON x.InvoiceId = a.InvoiceId
JOIN InvoiceLine y ON y.InvoiceId = b.InvoiceId AND y.TrackId = x.TrackId
WHERE a.InvoiceId < b.InvoiceId
"""
WRONG: Final = f"""
SELECT COUNT(*) FROM Invoice WHERE {TOTAL} <> (
    SELECT SUM({PRICE} * Quantity) FROM InvoiceLine
    WHERE InvoiceLine.InvoiceId = Invoice.InvoiceId)
"""


@dataclass(frozen=True)
class Goal:
    """A goal, its verdict, and a query with the number that is true of it."""

    goal: str
    verdict: Verdict
    query: str
    truth: int


@dataclass(frozen=True)
class Query:
    """A query, and SQL with the same columns; amounts are cents where `cents` names a column."""

    query: str
    oracle: str
    cents: str = ""


def line(boss: int, employee: int) -> str:
    """Say whether the boss is above the employee."""
    return f"WITH RECURSIVE {BELOW} SELECT ({boss}, {employee}) IN (SELECT boss, id FROM below)"


def answering(employee: int, customer: int) -> str:
    """Say whether the employee answers for the customer."""
    return f"WITH RECURSIVE {BELOW} SELECT ({employee}, {customer}) IN (SELECT * FROM answers)"


def sold(genre: str) -> str:
    """Count the lines with tracks of a genre."""
    return f"SELECT COUNT(*) FROM ({SOLD.format(1)}) WHERE name = '{genre}'"


GOALS: Final = (
    # Money: exact decimals at the very cent of a threshold.
    Goal("big_spender(6)", PROVED, SPENT.format(6), 4962),
    Goal("big_spender(26)", DISPROVED, SPENT.format(26), 4762),
    Goal("spending(6, 49.62)", PROVED, SPENT.format(6), 4962),
    Goal("spending(26, 47.62)", PROVED, SPENT.format(26), 4762),
    Goal("spending(26, 47.620000000000005)", DISPROVED, SPENT.format(26), 4762),
    Goal("wrong_invoice(?which)", DISPROVED, WRONG, 0),
    Goal(
        "country_revenue(France, 195.1)",
        PROVED,
        f"SELECT SUM({TOTAL}) FROM Invoice JOIN Customer USING (CustomerId)"
        " WHERE Country = 'France'",
        19510,
    ),
    Goal(
        "main_market(France)",
        PROVED,
        f"SELECT SUM({TOTAL}) >= 19510 FROM Invoice JOIN Customer USING (CustomerId)"
        " WHERE Country = 'France'",
        1,
    ),
    Goal(
        "main_market(Brazil)",
        DISPROVED,
        f"SELECT SUM({TOTAL}) >= 19510 FROM Invoice JOIN Customer USING (CustomerId)"
        " WHERE Country = 'Brazil'",
        0,
    ),
    # Dates.
    Goal(
        "lapsed(59)",
        PROVED,
        "SELECT MAX(InvoiceDate) < '2024-09-13' FROM Invoice WHERE CustomerId = 59",
        1,
    ),
    Goal(
        "lapsed(19)",
        DISPROVED,
        "SELECT MAX(InvoiceDate) < '2024-09-13' FROM Invoice WHERE CustomerId = 19",
        0,
    ),
    Goal(
        "service(5, 22)",
        DISPROVED,
        "SELECT date(HireDate, '+23 years') <= '2026-10-17' FROM Employee WHERE EmployeeId = 5",
        1,
    ),
    Goal(
        "hired_before(2, 1)",
        PROVED,
        "SELECT a.HireDate < b.HireDate FROM Employee a JOIN Employee b ON b.EmployeeId = 1"
        " WHERE a.EmployeeId = 2",
        1,
    ),
    # Reporting lines.
    Goal("manages(1, 8)", PROVED, line(1, 8), 1),
    Goal("manages(2, 7)", DISPROVED, line(2, 7), 0),
    Goal("manages(3, ?whom)", DISPROVED, "SELECT COUNT(*) FROM Employee WHERE ReportsTo = 3", 0),
    Goal(
        "at_the_top(1)",
        PROVED,
        "SELECT ReportsTo IS NULL FROM Employee WHERE EmployeeId = 1",
        1,
    ),
    Goal("answers_for(1, 6)", PROVED, answering(1, 6), 1),
    Goal("answers_for(6, 6)", DISPROVED, answering(6, 6), 0),
    Goal(
        "line_size(1, 7)",
        PROVED,
        f"WITH RECURSIVE {BELOW} SELECT COUNT(*) FROM below WHERE boss = 1",
        7,
    ),
    # Music.
    Goal("unsold_genre(Opera)", PROVED, sold("Opera"), 0),
    Goal("unsold_genre(Rock)", DISPROVED, sold("Rock"), 835),
    Goal("holds_album(12, 280)", PROVED, ALBUM.format(12, 280), 1),
    Goal("holds_album(12, 1)", DISPROVED, ALBUM.format(12, 1), 0),
    Goal("holds_album(2, 1)", DISPROVED, ALBUM.format(2, 1), 0),
    Goal("equal_playlists(4, 7)", PROVED, EQUAL.format(4, 7), 1),
    Goal("equal_playlists(13, 14)", DISPROVED, EQUAL.format(13, 14), 0),
    Goal("bought_twice(?customer, ?track)", DISPROVED, f"SELECT COUNT(*) FROM ({TWICE})", 0),
    # What nobody has written down.
    Goal(
        "written_by(63, ?who)",
        Verdict.UNRESOLVED,
        "SELECT Composer IS NULL FROM Track WHERE TrackId = 63",
        1,
    ),
    Goal(
        "business_customer(2)",
        Verdict.UNRESOLVED,
        "SELECT Company IS NULL FROM Customer WHERE CustomerId = 2",
        1,
    ),
    Goal(
        "business_customer(1)",
        PROVED,
        "SELECT Company IS NULL FROM Customer WHERE CustomerId = 1",
        0,
    ),
    Goal("may_get_mail(6)", Verdict.UNRESOLVED, SPENT.format(6), 4962),
    Goal("may_get_mail(26)", DISPROVED, SPENT.format(26), 4762),
    # What rests on somebody's word: a draft, a list that is declared complete.
    Goal("likes_jazz(1)", DISPROVED, f"SELECT COUNT(*) FROM ({JAZZ}) WHERE CustomerId = 1", 0),
    Goal(
        "likes_jazz(40)",
        Verdict.PROVED_UNDER,
        f"SELECT tracks FROM ({JAZZ}) WHERE CustomerId = 40",
        6,
    ),
    Goal("gets_invitation(5)", Verdict.DISPROVED_UNDER, "SELECT 5 IN (6, 57)", 0),
    Goal("gets_invitation(6)", PROVED, "SELECT 6 IN (6, 57)", 1),
)

QUERIES: Final = (
    Query(
        "big_spender(?c)",
        f"SELECT CustomerId FROM Invoice GROUP BY CustomerId HAVING SUM({TOTAL}) > 4762",
    ),
    Query(
        "spending(?c, ?total), ?total >= 42.62",
        f"SELECT CustomerId, SUM({TOTAL}) AS s FROM Invoice GROUP BY CustomerId HAVING s >= 4262",
        cents="total",
    ),
    Query(
        "country_revenue(?country, ?total)",
        f"SELECT Country, SUM({TOTAL}) FROM Invoice JOIN Customer USING (CustomerId) GROUP BY 1",
        cents="total",
    ),
    Query(
        "year_spending(?c, 2023, ?total), ?total > 0",
        f"SELECT CustomerId, SUM({TOTAL}) FROM Invoice WHERE {YEAR} = 2023 GROUP BY CustomerId",
        cents="total",
    ),
    Query(
        "loyal(?c)",
        f"SELECT CustomerId FROM Invoice GROUP BY CustomerId HAVING COUNT(DISTINCT {YEAR}) = 5",
    ),
    Query(
        "lapsed(?c)",
        "SELECT CustomerId FROM Invoice GROUP BY 1 HAVING MAX(InvoiceDate) < '2024-09-13'",
    ),
    Query(
        "last_purchase(?c, ?day), customer(?c, Germany)",
        "SELECT CustomerId, MAX(date(InvoiceDate)) FROM Invoice JOIN Customer USING (CustomerId)"
        " WHERE Country = 'Germany' GROUP BY CustomerId",
    ),
    Query("manages(?b, ?e)", f"WITH RECURSIVE {BELOW} SELECT boss, id FROM below"),
    Query(
        "line_size(?boss, ?people)",
        f"WITH RECURSIVE {BELOW} SELECT EmployeeId, (SELECT COUNT(*) FROM below"
        " WHERE boss = EmployeeId) FROM Employee",
    ),
    Query(
        "colleagues(?a, ?b), !hired_before(?b, 1)",
        "SELECT a.EmployeeId, b.EmployeeId FROM Employee a JOIN Employee b USING (ReportsTo)"
        " WHERE a.EmployeeId <> b.EmployeeId"
        " AND b.HireDate >= (SELECT HireDate FROM Employee WHERE EmployeeId = 1)",
    ),
    Query(
        "line_revenue(?e, ?total)",
        f"WITH RECURSIVE {BELOW} SELECT EmployeeId, COALESCE((SELECT SUM({TOTAL}) FROM Invoice"
        " JOIN answers ON customer = CustomerId WHERE employee = EmployeeId), 0) FROM Employee",
        cents="total",
    ),
    Query(
        "unsold_genre(?name)",
        "SELECT Name FROM Genre WHERE GenreId NOT IN"
        " (SELECT GenreId FROM Track JOIN InvoiceLine USING (TrackId))",
    ),
    Query(
        "genre_revenue(?name, ?total), ?total > 50",
        f"SELECT name, SUM(cents) FROM ({SOLD.format(PRICE + ' * Quantity')})"
        " GROUP BY name HAVING SUM(cents) > 5000",
        cents="total",
    ),
    Query(
        "holds_album(12, ?album)",
        "SELECT AlbumId FROM Track LEFT JOIN PlaylistTrack p"
        " ON p.TrackId = Track.TrackId AND p.PlaylistId = 12"
        " GROUP BY AlbumId HAVING COUNT(*) = COUNT(p.TrackId)",
    ),
    Query(
        "playlist_length(?p, ?tracks), playlist(?p, ?name)",
        "SELECT PlaylistId, COUNT(TrackId), Name FROM Playlist"
        " LEFT JOIN PlaylistTrack USING (PlaylistId) GROUP BY PlaylistId",
    ),
    Query(
        'buys_artist(?c, "Iron Maiden")',
        "SELECT CustomerId FROM Invoice JOIN InvoiceLine USING (InvoiceId)"
        " JOIN Track USING (TrackId) JOIN Album USING (AlbumId) JOIN Artist USING (ArtistId)"
        " WHERE Artist.Name = 'Iron Maiden'",
    ),
    Query(
        "without_album(?artist)",
        "SELECT Name FROM Artist WHERE ArtistId NOT IN (SELECT ArtistId FROM Album)",
    ),
    Query(
        'written_by(?track, "Miles Davis")',
        "SELECT TrackId FROM Track WHERE Composer = 'Miles Davis'",
    ),
    Query(
        "business_customer(?c)",
        "SELECT CustomerId FROM Customer WHERE Company IS NOT NULL",
    ),
)
