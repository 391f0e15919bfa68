"""A person's own words in e-mail: no headers, no quotations, no signatures."""

import mailbox
import re
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import NamedTuple

from personalbench.text.markup import strip_markup
from personalbench.text.normalise import normalise

_LANGUAGES = ["en", "de", "fr", "es", "it", "nl", "pl", "cs", "da", "sv", "ja", "ko", "zh"]

# A quotation between two parts of an answer, with the one or two lines that introduce it.
_QUOTATION = re.compile(r"(?:^[^\n>]*(?:\n[^\n>]+)?:\n\n?)?(?:^>.*(?:\n|\Z))+", re.MULTILINE)
_SIGNATURE = re.compile(r"^-- ?$.*|\n\s*Sent from my [\w ]{1,30}\.?\s*\Z", re.MULTILINE | re.DOTALL)


class Mail(NamedTuple):
    """One message.

    Attributes:
        text: What its sender wrote, normalised; None where it can't be decoded.
        thread: Id of the conversation: of its first message, as far as the headers tell.
        date: ISO date of sending.
    """

    text: str | None
    thread: str | None
    date: str | None


def read_eml(path: Path) -> Mail:
    """Read a file that holds one message."""
    return _read(message_from_bytes(path.read_bytes(), policy=policy.default))


def read_mbox(path: Path) -> Iterator[Mail]:
    """Read a mailbox, message by message."""
    box = mailbox.mbox(path, create=False)
    try:
        for key in box.iterkeys():
            yield _read(message_from_bytes(box.get_bytes(key), policy=policy.default))
    finally:
        box.close()


def own_text(body: str) -> str:
    """Return what the sender of a message wrote, normalised.

    The library finds where the quoted conversation below an answer begins; quotations
    between the lines of an answer, a signature after ``--`` and the device's line go too.
    """
    from mailparser_reply import EmailReplyParser

    replies = EmailReplyParser(languages=_LANGUAGES).read(normalise(body)).replies
    answer = replies[0].content if replies else ""
    return normalise(_SIGNATURE.sub("", _QUOTATION.sub("", answer)))


def _read(message: EmailMessage) -> Mail:
    references = str(message.get("References", "")).split()
    reply = str(message.get("In-Reply-To", "")).split()
    own = str(message.get("Message-ID", "")).split()
    thread = next(iter(references or reply or own), None)
    try:
        date = parsedate_to_datetime(str(message.get("Date", ""))).date().isoformat()
    except ValueError:
        date = None
    body = message.get_body(preferencelist=("plain", "html"))
    if body is None:
        return Mail("", thread, date)
    try:
        text = body.get_content()
    except LookupError:  # a character set that nobody knows
        return Mail(None, thread, date)
    if "\ufffd" in text:
        return Mail(None, thread, date)
    return Mail(
        own_text(strip_markup(text) if body.get_content_subtype() == "html" else text), thread, date
    )
