"""Two folds instead of ten: cross-validation takes most of a fit's time."""

import pytest

from globalbandits.fitting.assessment import held_out_scores

ALL_FOLDS = ("test_scores", "test_public_panels")


@pytest.fixture(scope="module", autouse=True)
def _two_folds(request):
    with pytest.MonkeyPatch.context() as patch:
        if not request.module.__name__.endswith(ALL_FOLDS):
            patch.setattr(held_out_scores, "N_FOLDS", 2)
        yield
