"""One person's folder, and one folder a person."""

import mailbox
import os
from email.message import EmailMessage
from pathlib import Path

import pytest

from personalbench.corpus.folder import FolderReader
from personalbench.corpus.mail import own_text, read_eml
from personalbench.corpus.select import select
from personalbench.errors import UserError
from personalbench.params import CorpusParams

RULE = CorpusParams(reader="folder", min_profile=1, min_reference=1, min_mean_words=1)


def make(root: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def read(root: Path):
    documents, notes = [], []
    for part in FolderReader(root).parts():
        parsed = FolderReader(root).parse(part)
        documents += parsed.documents
        notes += [tuple(note) for note in parsed.notes]
    return documents, notes


def test_one_person(tmp_path):
    root = make(
        tmp_path / "ada",
        {
            "profile/a.txt": b"\xef\xbb\xbfThe cat sat.",
            "profile/sub/b.md": "# Title\r\n\r\nText",
            "reference/c.TXT": "Held out",
        },
    )
    documents, notes = read(root)
    assert [(d.id, d.author, d.source, d.split, d.text) for d in documents] == [
        ("profile/a.txt", "ada", "profile/a.txt", "profile", "The cat sat."),
        ("profile/sub/b.md", "ada", "profile/sub/b.md", "profile", "# Title\n\nText"),
        ("reference/c.TXT", "ada", "reference/c.TXT", "reference", "Held out"),
    ]
    assert notes == []


def test_what_is_no_document_is_skipped_and_reported(tmp_path):
    root = make(
        tmp_path / "ada",
        {
            "profile/.DS_Store": b"\x00\x01",
            "profile/._a.txt": "x",
            "profile/.git/b.txt": "x",
            "profile/a.txt~": "x",
            "profile/a.txt": "one",
            "profile/d.txt": "",
            "profile/photo.jpeg": b"\xff",
            "reference/c.txt": "two",
            "notes.txt": "outside",
        },
    )
    (root / "profile" / "e.txt").symlink_to(root / "nowhere")
    _, report = select(FolderReader(root), RULE, seed=1)
    assert report.kept.documents == 2
    assert report.notes == {
        "no_words": ["profile/d.txt"],
        "skipped_file": [
            "notes.txt", "profile/.DS_Store", "profile/._a.txt", "profile/.git/b.txt",
            "profile/a.txt~", "profile/photo.jpeg",
        ],
        "unreadable_file": ["profile/e.txt"],
    }  # fmt: skip


def test_line_ends_and_marks_do_not_change_the_content(tmp_path):
    files = {"profile/a.txt": b"One\nTwo", "reference/b.txt": b"Three"}
    plain = make(tmp_path / "x" / "ada", files)
    files["profile/a.txt"] = b"\xef\xbb\xbfOne\r\nTwo\r\n"
    marked = make(tmp_path / "y" / "ada", files)
    assert select(FolderReader(plain), RULE, seed=1) == select(FolderReader(marked), RULE, seed=1)


def test_other_encodings_are_an_error_with_file_and_byte(tmp_path):
    root = make(tmp_path, {"profile/a.txt": b"un gar\xe7on", "reference/b.txt": "x"})
    with pytest.raises(UserError, match=r"profile.a\.txt: not UTF-8 at byte 6"):
        read(root)


def test_an_error_in_another_process_arrives(tmp_path, monkeypatch):
    monkeypatch.setattr("personalbench.corpus.folder._PART_FILES", 1)
    root = make(tmp_path, {"profile/a.txt": b"un gar\xe7on", "reference/b.txt": "x"})
    with pytest.raises(UserError, match=r"profile.a\.txt: not UTF-8 at byte 6"):
        select(FolderReader(root), RULE, seed=1)


def test_stems_are_unique_across_both_folders(tmp_path):
    root = make(tmp_path, {"profile/a.txt": "one", "reference/a.md": "two"})
    with pytest.raises(UserError, match=r"profile/a\.txt and reference/a\.md"):
        read(root)


def test_many_persons_with_and_without_a_split(tmp_path):
    root = make(
        tmp_path,
        {
            "authors/Zoë/profile/a.txt": "one",
            "authors/Zoë/reference/b.txt": "two",
            "authors/bob/a.txt": "three",
            "authors/bob/a.md": "four",
            "authors/bob/2004/c.txt": "five",
            "authors/.trash/x.txt": "six",
        },
    )
    documents, notes = read(root)
    assert [(d.id, d.author, d.split) for d in documents] == [
        ("authors/Zoë/profile/a.txt", "Zoë", "profile"),
        ("authors/Zoë/reference/b.txt", "Zoë", "reference"),
        ("authors/bob/2004/c.txt", "bob", None),
        ("authors/bob/a.md", "bob", None),
        ("authors/bob/a.txt", "bob", None),
    ]
    assert notes == []


def test_order_of_directories_does_not_matter(tmp_path, monkeypatch):
    root = make(tmp_path, {f"authors/a/{n}.txt": f"text {n}" for n in range(9)})
    forward = select(FolderReader(root), RULE, seed=1)
    walk = os.walk
    monkeypatch.setattr(
        os, "walk", lambda top: ((d, f, sorted(n, reverse=True)) for d, f, n in walk(top))
    )
    assert select(FolderReader(root), RULE, seed=1) == forward


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a.txt": "x"}, "neither profile/ and reference/"),
        ({"profile/a.txt": "x"}, "reference/ is missing beside profile/"),
        ({"authors/a/reference/a.txt": "x"}, "a: profile/ is missing beside reference/"),
    ],
)
def test_other_layouts(tmp_path, files, message):
    with pytest.raises(UserError, match=message):
        read(make(tmp_path, files))


def test_missing_folder(tmp_path):
    with pytest.raises(UserError, match="no such folder"):
        read(tmp_path / "nothing")


def mail(body: str, subtype: str = "plain", **headers: str) -> EmailMessage:
    message = EmailMessage()
    message["From"] = "bob@example.org"
    message["Subject"] = "Tent"
    message["Date"] = "Mon, 03 Mar 2025 10:15:00 +0100"
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    message.set_content(body, subtype=subtype)
    return message


ANSWER = """Hi Ana,

I'll bring the tent -- and the stove. See you on Friday.

- one
- two

Thanks,
Bob
"""

QUOTED = """
On Mon, Mar 3, 2025 at 10:15 AM Ana Lee <ana@example.org> wrote:

> Can you bring the tent?
> Thanks
"""


@pytest.mark.parametrize(
    "tail",
    [
        "",
        QUOTED,
        "\n-- \nBob Smith\nTel. 123\n",
        "\n--\nBob Smith\n" + QUOTED,
        "\nSent from my phone\n",
        "\n-----Original Message-----\nFrom: Ana Lee\nSent: Monday, March 3, 2025 10:15\n"
        "To: Bob\nSubject: Tent\n\nCan you bring the tent?\n",
        "\nAm 03.03.2025 um 10:15 schrieb Ana Lee <ana@example.org>:\n> Kannst du?\n",
    ],
)
def test_quotations_and_signatures_go(tail):
    assert own_text(ANSWER + tail) == ANSWER.strip()


@pytest.mark.parametrize(
    ("body", "own"),
    [
        # Below a quotation that itself quotes; the introduction is broken in two lines.
        ("On 03.03.25 10:15, Tom wrote:\n> On 02.03.25, Ana wrote:\n>> Ready?\n> No.\n\nFine.",
         "Fine."),
        ("Yes.\n\nOn Mon, Mar 3, 2025 at 10:15 AM Tom Hill of the Harbour Office\n"
         "<tom@example.net> wrote:\n\n> Coffee?", "Yes."),
        ("I agree.\nTom wrote:\n> Coffee?\nWith milk.", "I agree.\nWith milk."),
        ("You asked this:\n> Coffee?\n\nWith milk.", "You asked this:\n\nWith milk."),
        ("Gut.\n\nTom <tom@example.net> schrieb am Mo., 3. März 2025, 10:15:\n\n> Wo?", "Gut."),
        ("Oui.\n\nLe lun. 3 mars 2025 à 10:15, Tom <t@example.net> a écrit :\n\n> Prêt ?", "Oui."),
        # Outlook's block above what is answered, in two languages and with asterisks.
        ("Gut.\n\n________________________________\nVon: Tom\nGesendet: Montag, 3. März 2025\n"
         "An: Ana\nBetreff: Zelt\n\nWo?", "Gut."),
        ("Gut.\n\n-----Ursprüngliche Nachricht-----\nVon: Tom\nGesendet: 3. März 2025\nAn: Ana\n"
         "Betreff: Zelt\n\nWo?", "Gut."),
        ("Fine.\n\n*From:* Tom <tom@example.net>\n*Sent:* Monday, March 3, 2025\n*To:* Ana\n\nHm?",
         "Fine."),
        # Handed on.
        ("See below.\n\n---------- Forwarded message ---------\nFrom: Eve <eve@example.com>\n"
         "Date: Mon, 3 Mar 2025\nSubject: Rent\n\nIt goes up.", "See below."),
        ("No.\n\nBegin forwarded message:\n\nFrom: Eve <eve@example.com>\nSubject: Rent\n"
         "Date: 3 March 2025\n\nIt goes up.", "No."),
        # What programs add at the end.
        ("Ja.\n\nVon meinem iPhone gesendet\n\n> Am 03.03.2025 um 10:15 schrieb Tom:\n>\n> Ja?",
         "Ja."),
        ("Aye.\n" + "_" * 47 + "\nboats mailing list\nboats@example.org\n", "Aye."),
        # Prose.
        ("On Sunday my brother wrote:\nnothing at all.\n\nFrom: what I saw.\nTo: nobody.",
         "On Sunday my brother wrote:\nnothing at all.\n\nFrom: what I saw.\nTo: nobody."),
    ],
)  # fmt: skip
def test_what_mail_programs_write_goes_and_what_people_write_stays(body, own):
    assert own_text(body) == own


def test_quotations_in_html_go_and_what_stands_below_them_stays(tmp_path):
    html = (
        "<p>Above.</p><div>On 03.03.25 10:15, Tom wrote:</div><blockquote type='cite'>Ready?"
        "<blockquote type='cite'>Or not?</blockquote>Tom</blockquote><p>Below.</p>"
    )
    make(tmp_path, {"a.eml": mail(html, "html").as_bytes()})
    assert read_eml(tmp_path / "a.eml").text == "Above.\n\nBelow."


def test_of_two_forms_of_a_body_the_first_with_words_counts(tmp_path):
    message = mail(" \n")
    message.add_alternative("<p>Only here.</p>", subtype="html")
    message.add_attachment("Somebody else's notes.", filename="notes.txt")
    make(tmp_path, {"a.eml": message.as_bytes()})
    assert read_eml(tmp_path / "a.eml").text == "Only here."


@pytest.mark.parametrize("cte", ["base64", "quoted-printable", "8bit"])
def test_encoded_bodies_are_decoded(tmp_path, cte):
    message = mail("")
    message.set_content("Schöne Grüße – it’s late.\n" * 9, cte=cte)
    make(tmp_path, {"a.eml": message.as_bytes(policy=message.policy.clone(linesep="\r\n"))})
    assert read_eml(tmp_path / "a.eml").text == "\n".join(["Schöne Grüße – it’s late."] * 9)


def test_answers_between_quotations_stay():
    body = "On Mon, 3 Mar 2025, Ana wrote:\n> The tent?\n\nYes, of course.\n\n> And food?\n\nNo.\n"
    assert own_text(body) == "Yes, of course.\n\nNo."


def test_text_that_looks_a_little_like_a_quotation_stays():
    text = (
        "On Monday I wrote to the bank: nothing.\n\nFrom: what I hear, they are -- again -- busy."
    )
    assert own_text(text) == text


def test_mail_gives_own_text_thread_and_date(tmp_path):
    files = {
        "profile/first.eml": mail(ANSWER + QUOTED, Message_ID="<1@x>").as_bytes(),
        "profile/page.eml": mail("<p>Dear &amp; true,</p><p>Bob</p>", "html").as_bytes(),
        "reference/later.eml": mail(
            "Fine.", Message_ID="<3@x>", References="<1@x> <2@x>", In_Reply_To="<2@x>"
        ).as_bytes(),
    }
    documents, _ = read(make(tmp_path, files))
    first, page, later = documents
    assert (first.text, first.source, first.date) == (ANSWER.strip(), "<1@x>", "2025-03-03")
    assert (page.text, page.source) == ("Dear & true,\n\nBob", "profile/page.eml")
    assert (later.text, later.source) == ("Fine.", "<1@x>")


def test_mailbox_gives_every_message(tmp_path):
    (tmp_path / "profile").mkdir()
    (tmp_path / "reference").mkdir()
    box = mailbox.mbox(tmp_path / "profile" / "sent.mbox")
    for n in range(3):
        box.add(mail(f"Message number {n}.", Message_ID=f"<{n}@x>"))
    box.close()
    documents, _ = read(tmp_path)
    assert [(d.id, d.text, d.source) for d in documents] == [
        (f"profile/sent.mbox#{n + 1}", f"Message number {n}.", f"<{n}@x>") for n in range(3)
    ]


def test_lines_of_a_mailbox_that_begin_with_from_stay_whether_escaped_or_not(tmp_path):
    envelope = "From ana@example.org Mon Mar 03 09:15:00 2025\nFrom: Ana <ana@example.org>\n\n"
    body = "First.\n\n{}From now on I write daily.\n\n"
    content = "".join(envelope + body.format(mark) for mark in (">", ""))
    make(tmp_path, {"profile/a.mbox": content, "reference/b.txt": "x"})
    assert [d.text for d in read(tmp_path)[0][:-1]] == ["First.\n\nFrom now on I write daily."] * 2


def test_messages_of_others_are_noted(tmp_path):
    files = {f"profile/{n}.eml": mail("Mine.").as_bytes() for n in range(3)}
    theirs = mail("Not mine.")
    theirs.replace_header("From", "Ana Lee <ANA@example.org>")
    files |= {"profile/3.eml": theirs.as_bytes(), "reference/b.txt": "x"}
    assert read(make(tmp_path, files))[1] == [
        ("mail_from_another_address", "profile/3.eml: ana@example.org")
    ]


def test_mail_that_cannot_be_decoded_is_reported(tmp_path):
    path = tmp_path / "profile" / "a.eml"
    make(tmp_path, {"profile/a.eml": "", "reference/b.txt": "x"})
    path.write_bytes(b"Content-Type: text/plain; charset=utf-8\n\nun gar\xe7on\n")
    assert read_eml(path).text is None
    path.write_bytes(b"Content-Type: text/plain; charset=nobody-knows\n\nun gar\xe7on\n")
    assert read_eml(path).text is None
    assert read(tmp_path)[1] == [("undecodable_mail", "profile/a.eml")]


@pytest.mark.parametrize("header", ["", "Content-Type: text/plain; charset=nobody-knows\n"])
def test_mail_without_a_known_character_set_is_utf8(tmp_path, header):
    make(tmp_path, {"a.eml": f"From: ana@example.org\n{header}\nSchöne Grüße"})
    assert read_eml(tmp_path / "a.eml").text == "Schöne Grüße"
