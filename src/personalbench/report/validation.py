"""What the encoder can tell on real text: as a record, a table and a figure."""

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from pydantic import BaseModel, ConfigDict

from personalbench.metrics.estimate import Estimate
from personalbench.metrics.validation import Verification
from personalbench.report.table import cell

# Okabe and Ito's colours, told apart by the colour-blind; the run's encoder comes first.
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00")
_MARKERS = "oDs^v"


class EncoderResult(BaseModel):
    """One encoder at one group size."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    encoder: str
    revision: str
    verification: Verification


class Validation(BaseModel):
    """All encoders that were tried on the corpus.

    Attributes:
        documents: How many were encoded.
        authors: By how many.
        truncated: How many are longer than the run's encoder reads.
        unreliable: How many have fewer than 50 of its tokens.
        results: The run's encoder first, then the plain ones.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    documents: int
    authors: int
    truncated: int
    unreliable: int
    results: tuple[EncoderResult, ...]

    def of(self, encoder: str, size: int) -> Verification:
        """The result of an encoder at a group size."""
        return next(
            result.verification
            for result in self.results
            if (result.encoder, result.verification.size) == (encoder, size)
        )

    @property
    def encoders(self) -> list[str]:
        """Names of the encoders, the run's first."""
        return list(dict.fromkeys(result.encoder for result in self.results))

    @property
    def sizes(self) -> list[int]:
        """Documents a group, ascending."""
        return sorted({result.verification.size for result in self.results})

    @property
    def summary(self) -> str:
        """The main result in half a sentence, with what the corpus has too little of."""
        name, size = self.encoders[0], self.sizes[-1]
        found = self.of(name, size)
        told = "not estimable" if found.auc is None else f"{found.auc:.3f}"
        short = f" (only {found.shortage})" if found.shortage else ""
        return (
            f"{name} tells {self.authors} authors apart with AUC {told} at {size} documents{short}"
        )

    def table(self) -> list[list[str]]:
        """AUC by encoder and group size, the first row with the titles."""
        titles = ["AUC", *(f"{size} v {size}" for size in self.sizes), "pairs"]
        return [titles, *(self._row(encoder) for encoder in self.encoders)]

    def _row(self, encoder: str) -> list[str]:
        found = [self.of(encoder, size) for size in self.sizes]
        pairs = min(min(one.same_pairs, one.cross_pairs) for one in found)
        return [encoder, *(cell(auc(one)) for one in found), f"{pairs} of each kind at least"]


def auc(found: Verification) -> Estimate:
    """The area under the ROC curve with its interval over authors."""
    return Estimate(
        value=found.auc,
        ci_low=found.auc_low,
        ci_high=found.auc_high,
        n=found.same_pairs + found.cross_pairs,
        authors=found.authors,
        reason=found.reason,
    )


def details(validation: Validation) -> list[list[str]]:
    """Every encoder at every size: error rate, ceiling, floor and pairs, titles first."""
    titles = ["encoder", "documents", "AUC", "EER", "ceiling", "floor", "same", "cross"]
    rows = [
        [
            result.encoder,
            str(result.verification.size),
            cell(auc(result.verification)),
            *(
                "not estimable" if value is None else f"{value:.3f}"
                for value in (
                    result.verification.eer,
                    result.verification.ceiling,
                    result.verification.floor,
                )
            ),
            str(result.verification.same_pairs),
            str(result.verification.cross_pairs),
        ]
        for result in validation.results
    ]
    return [titles, *rows]


def notes(validation: Validation) -> list[str]:
    """What a reader must know: too few pairs, texts cut off, texts too short."""
    encoder = validation.encoders[0]
    said = [
        f"The corpus has only {found.shortage}."
        for size in validation.sizes
        if (found := validation.of(encoder, size)).shortage
    ]
    if validation.truncated:
        said.append(
            f"{validation.truncated} of {validation.documents} texts are longer than {encoder} "
            "reads; their ends are not compared."
        )
    if validation.unreliable:
        said.append(
            f"{validation.unreliable} of {validation.documents} texts have fewer than 50 tokens: "
            "authorship vectors of so short texts are unreliable."
        )
    return said


def draw_validation(validation: Validation) -> Figure:
    """AUC by number of documents, a line an encoder, with its interval over authors."""
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axis = figure.subplots()
    axis.axhline(0.5, color="#777777", lw=1, ls=":")
    encoders = validation.encoders
    for place, encoder in enumerate(encoders):
        # A little beside each other, so that no interval covers another.
        shift = (place - (len(encoders) - 1) / 2) * 0.06
        found = [validation.of(encoder, size) for size in validation.sizes]
        known = [(one.size + shift, one.auc) for one in found if one.auc is not None]
        colour = _COLOURS[place % len(_COLOURS)]
        axis.plot(
            [size for size, _ in known],
            [value for _, value in known],
            color=colour,
            marker=_MARKERS[place % len(_MARKERS)],
            lw=2.4 if place == 0 else 1.2,
            ms=6,
            label=encoder,
        )
        for one in found:
            if one.auc_low is not None and one.auc_high is not None:
                axis.vlines(one.size + shift, one.auc_low, one.auc_high, color=colour, lw=1.2)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set_xlabel("documents in each of the two groups")
    axis.set_ylabel("AUC, same author or not")
    axis.set_title(
        f"{validation.documents} real texts by {validation.authors} authors", fontsize=10
    )
    axis.grid(axis="y", color="#dddddd", lw=0.6)
    axis.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right upper", frameon=False)
    return figure
