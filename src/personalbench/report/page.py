"""The report: in Markdown, and as one HTML page that loads nothing."""

from importlib.resources import files

from markupsafe import Markup

from personalbench import __version__
from personalbench.report.cases import COPIED_WORDS, case_browser, embedded
from personalbench.report.html import environment, html
from personalbench.report.run import Run
from personalbench.report.section import Section, markdown

TITLE = "PersonalBench: does the twin write like the person?"


def report_markdown(run: Run, sections: list[Section]) -> str:
    """The report without its cases and its long tables.

    Args:
        run: What was run.
        sections: All sections.
    """
    facts = ". ".join(f"{name}: {value}" for name, value in _facts(run))
    head = Section("", "", "", text=(f"{facts}. Every text is in index.html.",))
    return f"# {TITLE}\n\n{markdown([head, *sections])}"


def report_page(run: Run, sections: list[Section]) -> str:
    """The whole report with a browser of all cases."""
    return (
        environment()
        .get_template("page.html.jinja")
        .render(
            title=TITLE,
            facts=_facts(run),
            sections=sections,
            content=html(sections),
            copied_words=COPIED_WORDS,
            version=__version__,
            # Our own files, and JSON in which nothing can end the element that it stands in.
            style=Markup(_file("page.css")),
            script=Markup(_file("page.js")),
            data=Markup(embedded(case_browser(run))),
        )
    )


def _facts(run: Run) -> list[tuple[str, str]]:
    """Who and what this run is about."""
    authors = [bundle.author for bundle in run.bundles]
    named = ", ".join(authors) if len(authors) <= 5 else f"{len(authors)}"
    encoder = run.results.encoder
    writers = dict.fromkeys(name or "from a file" for name in run.generators.values())
    return [
        ("Authors", named),
        ("Cases", f"{len(run.bundles[0].cases)} an author"),
        ("Twins", f"{len(run.results.twins)}"),
        ("Generator", ", ".join(writers)),
        ("Judge", run.params.judge.model),
        ("Encoder", f"{encoder.name}, revision {encoder.revision[:12]}"),
        ("Corpus", run.params.corpus.reader),
    ]


def _file(name: str) -> str:
    return files("personalbench.report").joinpath(name).read_text("utf-8")
