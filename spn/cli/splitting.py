"""``spn simulate --splitting``: rare events, with the thresholds and what came up across them."""

from __future__ import annotations

import argparse

from spn.cli.answers import answer, loaded
from spn.cli.sampling import forbid, options
from spn.cli.terminal import Progress, say, show
from spn.show.splitting import levels_grid

OTHERS = ("horizon", "absolute", "precise_for", "checkpoint", "cluster", "estimator")  # options that splitting does not have


def run(arguments: argparse.Namespace) -> int:
    """Estimate rare events and print the estimates, then the thresholds."""
    from spn.sim.splitting import splitting

    forbid(arguments, OTHERS, "splitting", "give --precision, --replications or limits")
    model = loaded(arguments)
    with Progress() as progress:
        given = options(arguments, progress)
        result = splitting(model, arguments.splitting or None, levels=arguments.levels, **given)
    code = answer(result, model, arguments)
    if not arguments.json and result.details["levels"]:
        say()
        show(levels_grid(result.details["levels"]))
    return code
