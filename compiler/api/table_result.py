"""What `analyze` of the table function returns. It is imported where a table function is called, as it loads
PySpark; Spark's workers get it by its name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.udtf import AnalyzeResult

if TYPE_CHECKING:
    from neelc.api.table_function import TableQuery


@dataclass
class AnalyzedCall(AnalyzeResult):
    """The columns of the result, which rows are brought together, and the query, for the workers. PySpark
    copies the fields of it, and nothing else."""

    query: TableQuery | None = None
    partitioned: bool = False
