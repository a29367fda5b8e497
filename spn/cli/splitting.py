"""``spn simulate --splitting``: rare events, with the thresholds and what came up across them."""

from __future__ import annotations

import argparse

from spn.cli.answers import answer, loaded
from spn.cli.sampling import options
from spn.cli.terminal import Progress, say, show
from spn.errors import AnalysisError, refuse
from spn.show.splitting import levels_grid

OTHERS = ("horizon", "absolute", "precise_for", "checkpoint", "cluster")  # options that splitting does not have


def run(arguments: argparse.Namespace) -> int:
    """Estimate rare events and print the estimates, then the thresholds."""
    from spn.sim.splitting import splitting

    for name in OTHERS:
        if getattr(arguments, name, None) is not None:
            option = "for" if name == "precise_for" else name
            raise refuse(AnalysisError, "E0705", f"--{option} is no option of splitting", help="give --precision, --replications or limits")
    model = loaded(arguments)
    with Progress() as progress:
        given = options(arguments, progress)
        result = splitting(model, arguments.splitting or None, levels=arguments.levels, **given)
    code = answer(result, model, arguments)
    if not arguments.json and result.details["levels"]:
        say()
        show(levels_grid(result.details["levels"]))
    return code
