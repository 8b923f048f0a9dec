"""Random trees, queries and streams, for tests (hypothesis strategies).

- `names`, `expressions`, `syntax`, `scripts`: everything the parser can make, well formed but without any
  sense. `depth` bounds the nesting.
- `patterns`: pattern queries that mean something, over the small world of `streams`: types A, B, C, D with
  attributes `id` and `x`. Used to compare two ways to run the same query.
- `streams`: few events, few different values, so that ties, NULLs and equal values happen often.
- `rewritable`, from `nested`, `few_conditions` and `witnesses`: queries that rewriting rules fire on, with
  streams that hold matches. These are numbered, not drawn by hypothesis.

    @given(query=patterns.queries(), rows=streams.rows())
    def test_agree(query, rows):
        program = bind(parse(format_script(streams.script_of(query))))
        assert run(program, {"S": rows}) == ...
"""
