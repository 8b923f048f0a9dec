"""All rules, in the order they run: the page to read first.

SIMPLIFY always helps: it makes a query smaller, or lets conditions be checked earlier. The other batches do
not always help: pushing negations down and distributing OR can multiply a query. So each of them makes one
of several forms (`driver.py`), and cost decides. Within a batch the rules run until none of them fires.
"""

from __future__ import annotations

from neelc.ir.patterns import And, Exists, Not, Optional, Or, Pattern, Repeat, Seq
from neelc.pattern.rules.close_equalities import close_equalities
from neelc.pattern.rules.decorrelate_negation import decorrelate_negation
from neelc.pattern.rules.distribute_conjunction import distribute_conjunction
from neelc.pattern.rules.distribute_exists import distribute_exists
from neelc.pattern.rules.distribute_sequence import distribute_sequence
from neelc.pattern.rules.drop_duplicate_branch import drop_duplicate_branch
from neelc.pattern.rules.drop_impossible_choice import drop_impossible_choice
from neelc.pattern.rules.drop_impossible_part import drop_impossible_part
from neelc.pattern.rules.drop_wider_window import drop_wider_window
from neelc.pattern.rules.exists_for_unused_variable import exists_for_unused_variable
from neelc.pattern.rules.expand_concept import expand_concept
from neelc.pattern.rules.find_contradiction import find_contradiction
from neelc.pattern.rules.find_impossible_window import find_impossible_window
from neelc.pattern.rules.flatten_conjunction import flatten_conjunction
from neelc.pattern.rules.flatten_disjunction import flatten_disjunction
from neelc.pattern.rules.flatten_sequence import flatten_sequence
from neelc.pattern.rules.fold_constants import fold_constants
from neelc.pattern.rules.fold_outputs import fold_outputs
from neelc.pattern.rules.lift_condition import lift_condition
from neelc.pattern.rules.lift_exists import lift_exists
from neelc.pattern.rules.merge_exists import merge_exists
from neelc.pattern.rules.name_partition_key import name_partition_key
from neelc.pattern.rules.negated_closure_to_event import negated_closure_to_event
from neelc.pattern.rules.order_conjunction import order_conjunction
from neelc.pattern.rules.prune_disjunction import prune_disjunction
from neelc.pattern.rules.push_condition import push_condition
from neelc.pattern.rules.push_negation_into_conjunction import push_negation_into_conjunction
from neelc.pattern.rules.push_negation_into_sequence import push_negation_into_sequence
from neelc.pattern.rules.remove_double_negation import remove_double_negation
from neelc.pattern.rules.require_optional_part import require_optional_part
from neelc.pattern.rules.rule import PartRule, PatternBatch
from neelc.pattern.rules.simplify_condition import simplify_condition
from neelc.pattern.rules.split_negated_disjunction import split_negated_disjunction
from neelc.pattern.rules.tighten_window import tighten_window
from neelc.pattern.rules.unwrap_negated_exists import unwrap_negated_exists
from neelc.pattern.rules.unwrap_negated_optional import unwrap_negated_optional
from neelc.pattern.rules.unwrap_single_part import unwrap_single_part
from neelc.pattern.rules.when_complete_to_condition import when_complete_to_condition

COMPLETE = PatternBatch(
    "the end of the data",
    "Before all others: its proof is about scopes as they are written; conditions are placed afterwards.",
    wholes=(when_complete_to_condition,),
)
WINDOWS = PatternBatch(
    "windows",
    "Before lists are flattened: a list with a window of its own stays a list.",
    wholes=(drop_wider_window, tighten_window),
)
FLATTEN = PatternBatch(
    "flatten",
    "Before conditions move: they should not have to move through lists that only group.",
    parts=(
        flatten_sequence,
        flatten_conjunction,
        flatten_disjunction,
        unwrap_single_part,
        merge_exists,
        drop_duplicate_branch,
        remove_double_negation,
        unwrap_negated_optional,
        unwrap_negated_exists,
        negated_closure_to_event,
        split_negated_disjunction,
    ),
)
PLACE = PatternBatch(
    "place conditions",
    "Before equalities: they are found where conditions stand, each at the innermost part that binds it.",
    parts=(lift_condition, push_condition),
)
EQUALITIES = PatternBatch(
    "equalities",
    "Before keys, which are found among them, and before truth: what follows may contradict conditions.",
    wholes=(close_equalities,),
)
KEYS = PatternBatch(
    "keys",
    "Apart from equalities: these state a condition once for the match and remove it where it stood before.",
    parts=(decorrelate_negation,),
    wholes=(name_partition_key,),
)
TRUTH = PatternBatch(
    "truth",
    "After equalities. What turns out to be impossible goes, and so the lists around it are flattened again.",
    parts=(
        fold_constants,
        simplify_condition,
        prune_disjunction,
        require_optional_part,
        find_contradiction,
        find_impossible_window,
        drop_impossible_part,
    ),
    wholes=(fold_outputs, drop_impossible_choice),
)

SIMPLIFY: tuple[PatternBatch, ...] = (
    COMPLETE,
    WINDOWS,
    FLATTEN,
    PLACE,
    EQUALITIES,
    KEYS,
    TRUTH,
    FLATTEN,
    PLACE,
)

UNUSED: tuple[PatternBatch, ...] = (
    PatternBatch(
        "unused variables",
        "After SIMPLIFY, which sees more in a pattern without EXISTS. Not for a query that others read as a "
        "stream: its times are those of all events of a match.",
        wholes=(exists_for_unused_variable,),
    ),
    FLATTEN,
)

PUSH = (push_negation_into_sequence, push_negation_into_conjunction)

NORMALISE: tuple[PatternBatch, ...] = (
    PatternBatch(
        "push negations down",
        "NEEL, III-C, step 1. Before OR is distributed: `!AND(OR(B, C), D)` has two cases, and four if the "
        "OR is moved first.",
        parts=(*PUSH, *FLATTEN.parts),
    ),
    PatternBatch(
        "move OR to the root",
        "NEEL, III-C, steps 2 and 3. With the rules of step 1, as an OR that leaves a negated SEQ leaves "
        "negations to push.",
        parts=(
            *PUSH,
            distribute_sequence,
            distribute_conjunction,
            distribute_exists,
            lift_exists,
            *FLATTEN.parts,
        ),
    ),
)

ORDER: tuple[PatternBatch, ...] = (
    PatternBatch(
        "orders of AND",
        "Before the normal form, which moves the ORs that this makes to the root.",
        parts=(order_conjunction,),
    ),
    *NORMALISE,
)

MEMBERS: tuple[PatternBatch, ...] = (
    PatternBatch(
        "members of concepts",
        "Before the normal form, for the same reason.",
        wholes=(expand_concept,),
    ),
    *NORMALISE,
)

OPERATORS_IN: dict[PartRule, tuple[type[Pattern], ...]] = {
    flatten_sequence: (Seq,),
    flatten_conjunction: (And,),
    flatten_disjunction: (Or,),
    merge_exists: (Exists,),
    drop_duplicate_branch: (Or,),
    remove_double_negation: (Not,),
    unwrap_negated_optional: (Not, Optional),
    unwrap_negated_exists: (Not, Exists),
    negated_closure_to_event: (Not, Repeat),
    split_negated_disjunction: (Not, Or),
    decorrelate_negation: (Not,),
    prune_disjunction: (Or,),
    require_optional_part: (Optional,),
    push_negation_into_sequence: (Not, Seq),
    push_negation_into_conjunction: (Not, And),
    distribute_sequence: (Seq, Or),
    distribute_conjunction: (Or,),
    distribute_exists: (Exists, Or),
    lift_exists: (Seq, Exists),
    order_conjunction: (And,),
}
"""What a part must have in it for a rule to fire. The driver does not try the rule on other parts."""
