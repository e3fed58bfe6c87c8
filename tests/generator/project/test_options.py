from typing import Any

import pytest

from tagwire.errors import SpecError
from tagwire_generator.project.options import SpecOptions


@pytest.mark.parametrize("settings", [{}, {"tag_gaps": True}, {"length_varint": "unsigned", "length_counts_tag": True}])
def test_options_from_settings(settings: dict[str, Any]) -> None:
    assert SpecOptions.from_mapping(settings) == SpecOptions(**settings)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"tag_gap": True}, "a spec set has no option 'tag_gap'; did you mean 'tag_gaps'?"),
        (
            {"x": 1},
            "a spec set has no option 'x'; choose from dialect, tag_gaps, length_varint, length_counts_tag, "
            "allow_struct_arrays, unanswered_versions, header_key_order, entity_types",
        ),
        ({"tag_gaps": "yes"}, "option `tag_gaps` is 'yes'; it must be true or false"),
        ({"length_varint": "signed"}, "option `length_varint` is 'signed'; it must be 'zigzag' or 'unsigned'"),
    ],
)
def test_options_that_do_not_exist(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(SpecError) as caught:
        SpecOptions.from_mapping(settings)
    assert str(caught.value) == sentence
