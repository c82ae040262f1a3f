"""Rules in pyDatalog's syntax; `constat rules import` reads them without running this file."""

from pyDatalog import pyDatalog

pyDatalog.create_terms("X, Y, Z, N, K, works_in, manager, chief, hours, worked, small_team")

+works_in("Mary", "Production")
+works_in("Bill", "Sales")
+(manager["Mary"] == "John")
+(manager["Bill"] == "Mary")

chief(X, Y) <= (manager[X] == Y)
chief(X, Y) <= (manager[X] == Z) & chief(Z, Y)

+hours("Mary", "monday", 7.5)
+hours("Mary", "tuesday", 8)
+hours("Bill", "monday", 6)

(worked[X] == sum_(N, for_each=K)) <= hours(X, K, N)

pyDatalog.load("""
    rested(X) <= works_in(X, Y) & ~hours(X, 'tuesday', 8.0)
""")
