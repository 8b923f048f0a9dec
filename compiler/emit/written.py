"""An operand: its text as a tree, its type, and its value where it is a constant."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from neelc.emit.syntax import Sql
from neelc.ir import decimals
from neelc.ir.moments import Months
from neelc.ir.scalar import Value
from neelc.ir.types import BIGINT, INT, SMALLINT, TINYINT, DataType, Decimal

Constant = Value | datetime.timedelta | Months
INTEGERS = (TINYINT, SMALLINT, INT, BIGINT)


@dataclass(frozen=True)
class Written:
    """`value` is None where it is not known, or NULL."""

    sql: Sql
    type: DataType
    value: Constant = None

    @property
    def is_integer(self) -> bool:
        return self.type in INTEGERS

    @property
    def is_decimal(self) -> bool:
        return isinstance(self.type, Decimal)

    @property
    def as_decimal(self) -> Decimal:
        """The decimal type that holds the values of this number."""
        return decimals.as_decimal(self.type) or Decimal(decimals.MAX_PRECISION, 0)
