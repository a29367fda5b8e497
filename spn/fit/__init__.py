"""Laws from data: maximum-likelihood fits, choice of the family, and how good the fit is."""

from spn.fit.files import durations, fit_file
from spn.fit.model import Alternative, Fit
from spn.fit.moments import Matched, match_moments
from spn.fit.select import fit

__all__ = ["Alternative", "Fit", "Matched", "durations", "fit", "fit_file", "match_moments"]
