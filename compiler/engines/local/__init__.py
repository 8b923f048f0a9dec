"""Plans on DuckDB and the kernels of the runtime, in processes of this machine: no JVM.

`execution` runs the relations of a plan. Imports the relations and DuckDB's spelling of expressions;
docs/explanation/local-engine.md comes first.
"""
