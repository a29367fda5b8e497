"""Laws from data: maximum-likelihood fits, choice of the family, and how good the fit is."""

from spn.fitting.files import durations, fit_file
from spn.fitting.model import Alternative, Fit
from spn.fitting.moments import Matched, match_moments
from spn.fitting.select import fit

__all__ = ["Alternative", "Fit", "Matched", "durations", "fit", "fit_file", "match_moments"]
