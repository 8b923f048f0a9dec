"""Explanations where there are windows of events, lists, strategies, AND, OR and EXISTS."""

from __future__ import annotations

# A query, a stream, and the explanation of its first start.
TEXTS = {
    "a window of events": (
        "SEQ(A a, B b) WITHIN 2 EVENTS",
        "A1 D2 D3 B4",
        """
        A a at 1: no match, 1 of 2 steps
          a  A  1
          stopped at B b:
            b  B  4  +3 seconds
            fails  WITHIN 2 EVENTS  4 events, 2 too many
          would match WITHIN 4 EVENTS
        """,
    ),
    "the window of a part": (
        "SEQ(A a, SEQ(B b, C c) WITHIN 2 SECONDS) WITHIN 20 SECONDS",
        "A1 B3 C9",
        """
        A a at 1: no match, 1 of 2 steps
          a  A  1
          stopped at SEQ(B b, C c) WITHIN 2 SECONDS:
            b  B  3  +2 seconds
            c  C  9  +8 seconds
            fails  WITHIN 2 SECONDS  6 seconds, 4 seconds too long
          would match WITHIN 6 SECONDS on SEQ(B b, C c)
        """,
    ),
    "elements of a list": (
        "SEQ(A a, B{3} b[]) WHERE b[i].x > b[i-1].x WITHIN 10 SECONDS",
        "A1 B2=5 B3=4 B4=9",
        """
        A a at 1: no match, 1 of 2 steps
          a  A  1
          stopped at B{3} b[]:
            b[1]  B  2  +1 second
            b[2]  B  3  +2 seconds
            b[3]  B  4  +3 seconds
            fails  b[i].x > b[i-1].x  i = 2, b[i].x = 4.0, b[i-1].x = 5.0
          would match without b[i].x > b[i-1].x
        """,
    ),
    "an aggregate of a list": (
        "SEQ(A a, B+ b[], C c) WHERE avg(b[].x) > c.x",
        "A1 B2=5 C6=20",
        """
        A a at 1: no match, 2 of 3 steps
          a     A  1
          b[1]  B  2  +1 second
          stopped at C c:
            c  C  6  +5 seconds
            fails  avg(b[].x) > c.x  avg(b[].x) = 5.0, c.x = 20.0
          would match without avg(b[].x) > c.x
        """,
    ),
    "iterations": (
        "SEQ(A a, SEQ(B b, C c WHERE c.x > 4){2} k[]) WITHIN 20 SECONDS",
        "A1 B2 C3=5 B4 C5=4",
        """
        A a at 1: no match, 1 of 2 steps
          a  A  1
          stopped at SEQ(B b, C c WHERE c.x > 4){2} k[]:
            k[1].b  B  2  +1 second
            k[1].c  C  3  +2 seconds
            k[2].b  B  4  +3 seconds
            k[2].c  C  5  +4 seconds
            fails  c.x > 4  c.x = 4.0
          would match without c.x > 4
        """,
    ),
    "contiguity": (
        "SEQ(A a, B b) USING STRICT CONTIGUITY",
        "A1 D2 B3",
        """
        A a at 1: no match, 1 of 2 steps
          a  A  1
          stopped at B b:
            b  B  3  +2 seconds
            fails  USING STRICT CONTIGUITY  others come between
          would match USING SKIP TILL NEXT MATCH
        """,
    ),
    "the next match": (
        "SEQ(A a, B b, C c) WHERE c.x = b.x USING SKIP TILL NEXT MATCH",
        "A1 B2=4 B3=9 C4=9",
        """
        A a at 1: no match, 2 of 3 steps
          a  A  1
          b  B  2  +1 second
          stopped at C c:
            c  C  4  +3 seconds
            fails  c.x = b.x  c.x = 9.0, b.x = 4.0
          or at C c:
            b  B  3  +2 seconds
            c  C  4  +3 seconds
            fails  USING SKIP TILL NEXT MATCH  another event had to be taken
          would match without c.x = b.x
          would match USING SKIP TILL ANY MATCH
        """,
    ),
    "AND in any order": (
        "AND(A a, B b, C c) WHERE a.x = b.x WITHIN 5 SECONDS",
        "B1 A2=4 C4",
        """
        B b at 1: no match, 1 of 3 steps
          b  B  1
          stopped at A a:
            a  A  2  +1 second
            fails  a.x = b.x  a.x = 4.0, b.x = 1.0
          would match without a.x = b.x
        """,
    ),
    "the better branch of OR": (
        "OR(SEQ(A a, B b, C c), SEQ(A d, D e)) WITHIN 5 SECONDS",
        "A1 B2 C9",
        """
        A a at 1: no match, 2 of 3 steps
          in SEQ(A a, B b, C c)
          a  A  1
          b  B  2  +1 second
          stopped at C c:
            c  C  9  +8 seconds
            fails  WITHIN 5 SECONDS  8 seconds, 3 seconds too long
          would match WITHIN 8 SECONDS
          note: some step has no event, whatever is required of it
          note: SEQ(A d, D e): 1 of 2 steps
        """,
    ),
    "a key that is NULL": (
        "SEQ(A a, B b) WHERE [id]",
        "A1@NULL B3@NULL",
        """
        A a at 1: no match, 0 of 2 steps
          stopped at A a:
            a  A  1
            fails  [id]  id = NULL
          would match without [id]
        """,
    ),
    "what EXISTS drops": (
        "EXISTS b : SEQ(A a, B b) WITHIN 5 SECONDS",
        "A1 B9",
        """
        A a at 1: no match, 0 of 1 step
          stopped at EXISTS b : SEQ(A a, B b):
            a  A  1
            fails  WITHIN 5 SECONDS  too short for what EXISTS looks for
          would match WITHIN 10 SECONDS
        """,
    ),
    "a window missed by far": (
        "SEQ(A a, B b) WITHIN 10 SECONDS",
        "A1 B101 B300",
        """
        A a at 1: no match, 1 of 2 steps
          a  A  1
          stopped at B b:
            b  B  101  +1 minute 40 seconds
            fails  WITHIN 10 SECONDS  1 minute 40 seconds, 90 seconds too long
          would match WITHIN 100 SECONDS
        """,
    ),
    "a negation before a step that is missing": (
        "SEQ(A a, !D d, B b, C c) WITHIN 10 SECONDS",
        "A1 D2 B3",
        """
        A a at 1: no match, 2 of 3 steps
          a  A  1
          b  B  3  +2 seconds
          stopped by !D d, which is hit by:
            D  2  +1 second
          stopped at C c: there is none after 3
        """,
    ),
    "several runs": (
        "SEQ(A a, B b, C c, D d) WHERE c.x > b.x",
        "A1 B2=1 B3=9 C4=5 B5=2",
        """
        A a at 1: no match, 3 of 4 steps
          a  A  1
          b  B  2  +1 second
          c  C  4  +3 seconds
          stopped at D d: there is none after 4
          2 other runs:
            2 of 4 steps  b  B  3  +2 seconds
            2 of 4 steps  b  B  5  +4 seconds
        """,
    ),
}
