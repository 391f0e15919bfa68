"""All sections of the report, in their order."""

from personalbench.report.findings import omissions
from personalbench.report.fingerprint import fingerprint_section
from personalbench.report.parts.agreement import agreement_section
from personalbench.report.parts.differences import differences_section
from personalbench.report.parts.encoder import encoder_section
from personalbench.report.parts.glossary import glossary_section
from personalbench.report.parts.likeness import (
    aggregation_section,
    generated_section,
    single_section,
    target_section,
)
from personalbench.report.parts.methods import (
    bars_section,
    methods_section,
    style_section,
)
from personalbench.report.parts.summary import summary_section
from personalbench.report.parts.topics import topics_section
from personalbench.report.parts.training import training_section
from personalbench.report.run import Run
from personalbench.report.section import Section
from personalbench.report.trust import trust_section


def report_sections(run: Run) -> list[Section]:
    """The report: the answer first, then what it stands on."""
    return [
        summary_section(run),
        methods_section(run),
        bars_section(run),
        differences_section(run),
        target_section(run),
        single_section(run),
        aggregation_section(run),
        generated_section(run),
        fingerprint_section(
            run.results,
            run.analysis.fingerprints,
            {twin: run.params.method_of(twin) for twin in run.results.twins},
            {twin: writer or twin for twin, writer in run.generators.items()},
        ),
        agreement_section(run),
        style_section(run),
        *([training_section(run)] if run.trainings else []),
        trust_section(run.results, run.trust, run.traits),
        encoder_section(run),
        topics_section(run),
        _omissions_section(run),
        glossary_section(run),
    ]


def _omissions_section(run: Run) -> Section:
    return Section(
        id="omissions",
        title="What was left out",
        basis="",
        points=tuple(omissions(run.results)),
    )
