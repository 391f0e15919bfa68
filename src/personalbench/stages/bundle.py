"""Stage `bundle`: one frozen evaluation an author."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from personalbench import paths
from personalbench.bundle import Bundle, Manifest, ModelIdentity, folder_name, freeze
from personalbench.corpus.document import Document
from personalbench.errors import UserError
from personalbench.llm.cache import ResponseCache
from personalbench.llm.client import check_reachable, open_model
from personalbench.params import BundleParams, Params
from personalbench.quality import BundleFacts, CaseFacts, check_bundles, load_report
from personalbench.seeds import draw
from personalbench.stages.calls import write_usage
from personalbench.stages.check import write_report
from personalbench.storage import empty_folder, read_records
from personalbench.templates import template_hashes
from personalbench.topics import make_cases


def run(params: Params) -> str:
    """Freeze a bundle for each drawn author.

    Raises:
        UserError: The documents have not passed the checks, there are too few authors, a
            model does not answer, or a bundle fails the checks; names the ids at fault.
    """
    load_report(paths.QUALITY).require_passed(paths.QUALITY_PAGE)
    paths.BUNDLE_QUALITY.unlink(missing_ok=True)
    # The first stage that calls a model looks at all of them: hours of generation should
    # not end at a judge that was never there, or at a template with a mistake.
    template_hashes(params.template_folder)
    for spec in params.models_in_use():
        check_reachable(spec)
    documents = read_records(paths.DOCUMENTS, Document)
    spec = params.models[params.bundle.prompt_model]
    authors = choose_authors(documents, params.bundle, params.seed)
    drafts = [draft(author, documents, params) for author in authors]
    with ResponseCache.of_project() as cache, open_model(spec, cache=cache) as prompter:
        cases = make_cases(
            [one.references for one in drafts],
            params.bundle,
            params.seed,
            prompter.complete,
            params.template_folder,
        )
    # Where a topic is missing, make_cases has stopped: there is no case without one.
    note = write_usage("bundle", None, prompter, [None for each in cases for _ in each])
    bundles = [
        replace(one, cases=author_cases) for one, author_cases in zip(drafts, cases, strict=True)
    ]
    report = check_bundles([facts(bundle) for bundle in bundles], params.check)
    write_report(report, paths.BUNDLE_QUALITY, paths.BUNDLE_QUALITY_PAGE)
    empty_folder(paths.BUNDLES)
    report.require_passed(paths.BUNDLE_QUALITY_PAGE)
    for bundle in bundles:
        freeze(bundle, paths.BUNDLES / folder_name(bundle.author))
    total = sum(len(bundle.cases) for bundle in bundles)
    done = f"bundle: {total} cases by {len(bundles)} authors in {paths.BUNDLES}{note}"
    return "\n".join([done, *(f"warning: {warning}" for warning in report.warnings())])


def choose_authors(documents: Sequence[Document], params: BundleParams, seed: int) -> list[str]:
    """The named authors, or drawn ones with enough documents on both sides, sorted by name.

    Raises:
        UserError: The corpus has not those authors, or fewer than asked for.
    """
    counts: dict[str, dict[str, int]] = defaultdict(lambda: {"profile": 0, "reference": 0})
    for document in documents:
        if document.split is not None:
            counts[document.author][document.split] += 1
    enough = [
        author
        for author, count in counts.items()
        if count["profile"] >= params.group_size and count["reference"] >= params.cases
    ]
    if isinstance(params.authors, list):
        if unknown := sorted(set(params.authors) - set(enough)):
            raise UserError(
                f"params.yaml: bundle.authors: {', '.join(unknown)}: not in {paths.DOCUMENTS} "
                f"with at least {params.group_size} profile and {params.cases} reference "
                f"documents; there are: {', '.join(sorted(enough)[:20])}"
            )
        return sorted(set(params.authors))
    if len(enough) < params.authors:
        raise UserError(
            f"params.yaml: bundle.authors: {params.authors} asked for, but {paths.DOCUMENTS} "
            f"has {len(enough)} with at least {params.group_size} profile and {params.cases} "
            "reference documents; ask for fewer, or loosen the corpus section"
        )
    return sorted(draw(enough, params.authors, seed, "authors"))


def draft(author: str, documents: Sequence[Document], params: Params) -> Bundle:
    """A bundle without its cases."""
    seed = params.seed
    own = {document.id: document for document in documents if document.author == author}
    profile = {name: document for name, document in own.items() if document.split == "profile"}
    reference = [name for name, document in own.items() if document.split == "reference"]
    chosen = draw(reference, params.bundle.cases, seed, author, "cases")
    others: dict[str, dict[str, Document]] = defaultdict(dict)
    for document in documents:
        if document.author != author and document.split == "profile":
            others[document.author][document.id] = document
    contrast = [
        others[other][draw(others[other], 1, seed, author, "contrast", other)[0]]
        for other in draw(others, params.bundle.contrast_documents, seed, author, "contrast")
    ]
    model = params.models[params.bundle.prompt_model]
    return Bundle(
        manifest=Manifest(
            author=author,
            genre=params.bundle.genre,
            seed=seed,
            group_size=params.bundle.group_size,
            selected_profile=tuple(
                draw(profile, params.bundle.group_size, seed, author, "selected_profile")
            ),
            prompt_model=ModelIdentity(id=model.id, revision=model.revision),
            templates={
                name: sha256
                for name, sha256 in template_hashes(params.template_folder).items()
                if name.startswith("topics/")
            },
        ),
        profile=tuple(profile[name] for name in sorted(profile)),
        references=tuple(own[name] for name in chosen),
        contrast=tuple(contrast),
        cases=(),
    )


def facts(bundle: Bundle) -> BundleFacts:
    """What the data-quality checks look at."""
    return BundleFacts(
        author=bundle.author,
        profile=[document.id for document in bundle.profile],
        reference=[document.id for document in bundle.references],
        cases=[
            CaseFacts(
                id=case.id, document=case.document, prompt=case.prompt, source_text=document.text
            )
            for case, document in zip(bundle.cases, bundle.references, strict=True)
        ],
    )
