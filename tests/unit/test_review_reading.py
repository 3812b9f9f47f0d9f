"""What a look reads: for one case and for many the same rows, and for one by a plan that the server keeps."""

from corrigenda_core.domain.ids import ConflictId, TeamId
from corrigenda_core.persistence.review_cases import case_queries

ONE, OTHER = ConflictId("0190a0b0-c0d0-7e00-8f00-000000000001"), ConflictId("0190a0b0-c0d0-7e00-8f00-000000000002")


def test_one_case_is_asked_for_by_its_id_and_many_by_a_list() -> None:
    of_one, of_many = case_queries(TeamId("t"), [ONE]), case_queries(TeamId("t"), [OTHER, ONE])
    assert [query.name for query in of_one] == [query.name for query in of_many]
    for one, many in zip(of_one, of_many, strict=True):
        assert one.parameters == {"team_id": "t", "conflict_id": ONE}
        assert many.parameters == {"team_id": "t", "conflict_ids": [ONE, OTHER]}
        assert many.sql.replace("= ANY(%(conflict_ids)s::uuid[])", "= %(conflict_id)s::uuid") == one.sql != many.sql
