"""Explanations of start events that conditions, windows and negations stopped."""

from __future__ import annotations

# A query, a stream, and the explanation of its first start.
TEXTS = {
    "a match": (
        "SEQ(A a, !D d, B b) WHERE [id] AND a.x < b.x WITHIN 5 SECONDS",
        "A1=2 B3=7",
        """
        A a at 1: match
          a  A  1
          b  B  3  +2 seconds
          holds  WITHIN 5 SECONDS  2 seconds
          holds  [id]              id = 1
          holds  a.x < b.x         a.x = 2.0, b.x = 7.0
          holds  !D d              none found
        """,
    ),
    "two matches": (
        "SEQ(A a, B b)",
        "A1 B2 B3",
        """
        A a at 1: match; 2 matches, the first one is
          a  A  1
          b  B  2  +1 second
        """,
    ),
    "data that end too early": (
        "SEQ(H a, !H b) WHERE [id] WITHIN 60 SECONDS WHEN COMPLETE",
        "H1 T9@2",
        """
        H a at 1: no match, 1 of 1 step
          a  H  1
          stopped by WHEN COMPLETE: the data end at 9, before !H b is decided
          would match without WHEN COMPLETE
        """,
    ),
    "data of another key that go on": (
        "SEQ(H a, !H b) WHERE [id] WITHIN 60 SECONDS WHEN COMPLETE",
        "H1 H61@2",
        """
        H a at 1: match
          a  H  1
          holds  WITHIN 60 SECONDS  0 seconds
          holds  [id]               id = 1
          holds  !H b               none found
          holds  WHEN COMPLETE      the data go on until 61
        """,
    ),
    "a negation that is hit before the data end": (
        "SEQ(H a, NEXT B b, !H h, !C c) WHERE [id] WITHIN 60 SECONDS WHEN COMPLETE",
        "H1 B2 H5",
        """
        H a at 1: no match, 2 of 2 steps
          a  H  1
          b  B  2  +1 second
          stopped by !H h, which is hit by:
            H  5  +4 seconds
          would match without !H h
                  and without WHEN COMPLETE  (the data end at 5, before !C c is decided)
        """,
    ),
    "a condition on the start": (
        "SEQ(A a, B b) WHERE a.x > 5",
        "A1=NULL B2",
        """
        A a at 1: no match, 0 of 2 steps
          stopped at A a:
            a  A  1
            fails  a.x > 5  a.x = NULL
          would match without a.x > 5
        """,
    ),
    "a condition between events": (
        "SEQ(A a, B b, C c) WHERE a.x = b.x",
        "A1 B2=7 C3",
        """
        A a at 1: no match, 1 of 3 steps
          a  A  1
          stopped at B b:
            b  B  2  +1 second
            fails  a.x = b.x  a.x = 1.0, b.x = 7.0
          would match without a.x = b.x
        """,
    ),
    "two reasons, each alone": (
        "SEQ(A a, B b) WHERE b.x > 5 WITHIN 5 SECONDS",
        "A1 B2=3 B9=8",
        """
        A a at 1: no match, 1 of 2 steps
          a  A  1
          stopped at B b:
            b  B  9  +8 seconds
            fails  WITHIN 5 SECONDS  8 seconds, 3 seconds too long
          or at B b:
            b  B  2  +1 second
            fails  b.x > 5  b.x = 3.0
          would match WITHIN 8 SECONDS
          would match without b.x > 5
        """,
    ),
    "two reasons together": (
        "SEQ(A a, B b) WHERE b.x > 5 WITHIN 5 SECONDS",
        "A1 B9=3",
        """
        A a at 1: no match, 1 of 2 steps
          a  A  1
          stopped at B b:
            b  B  9  +8 seconds
            fails  WITHIN 5 SECONDS  8 seconds, 3 seconds too long
            fails  b.x > 5           b.x = 3.0
          would match WITHIN 8 SECONDS
                  and without b.x > 5
        """,
    ),
    "a reason after the step that stopped it": (
        "SEQ(A a, B b, C c) WHERE b.x > 5 AND c.x > 5",
        "A1 B2=3 C3=4",
        """
        A a at 1: no match, 1 of 3 steps
          a  A  1
          stopped at B b:
            b  B  2  +1 second
            fails  b.x > 5  b.x = 3.0
          would match without b.x > 5
                  and without c.x > 5  (c.x = 4.0)
        """,
    ),
    "no event": (
        "SEQ(A a, B b, C c) WITHIN 5 SECONDS",
        "C1 A2 B3",
        """
        A a at 2: no match, 2 of 3 steps
          a  A  2
          b  B  3  +1 second
          stopped at C c: there is none after 3
        """,
    ),
    "a negation": (
        "SEQ(A a, !C c, B b) WHERE c.x = a.x WITHIN 5 SECONDS",
        "A1 C2=3 C3 C4 B5",
        """
        A a at 1: no match, 2 of 2 steps
          a  A  1
          b  B  5  +4 seconds
          stopped by !(C c : c.x = a.x), which is hit by:
            C  3  +2 seconds
          would match without !(C c : c.x = a.x)
        """,
    ),
    "a nested negation": (
        "SEQ(A a, !SEQ(C c, !D d, E e), B b) WITHIN 20 SECONDS",
        "A1 C2 D3 E4 C5 E6 B7",
        """
        A a at 1: no match, 2 of 2 steps
          a  A  1
          b  B  7  +6 seconds
          stopped by !SEQ(C c, !D d, E e), which is hit by:
            C  5  +4 seconds
            E  6  +5 seconds
          would match without !SEQ(C c, !D d, E e)
        """,
    ),
    "a leading negation looks back": (
        "SEQ(!C c, A a, B b) WITHIN 5 SECONDS",
        "C1 A2 B4",
        """
        A a at 2: no match, 2 of 2 steps
          a  A  2
          b  B  4  +2 seconds
          stopped by !C c, which is hit by:
            C  1  -1 second
          would match without !C c
        """,
    ),
    "a wider window that a negation spoils": (
        "SEQ(A a, B b, !C c) WITHIN 5 SECONDS",
        "A1 B7 C7 B9",
        """
        A a at 1: no match, 1 of 2 steps
          a  A  1
          stopped at B b:
            b  B  7  +6 seconds
            fails  WITHIN 5 SECONDS  6 seconds, 1 second too long
          would match WITHIN 6 SECONDS
        """,
    ),
}
