"""Many random replicated models, whole and broken, lumped and not: a minute or two."""

from __future__ import annotations

import pytest

from tests.symmetry.random_models import text
from tests.symmetry.test_lumped import assert_same, solved


@pytest.mark.parametrize("hundred", range(10))
def test_lumped_and_unlumped_agree(hundred: int) -> None:
    for seed in range(10_000 + 100 * hundred, 10_100 + 100 * hundred):
        source = text(seed)
        assert_same(solved(source, "auto"), solved(source, "off"))
