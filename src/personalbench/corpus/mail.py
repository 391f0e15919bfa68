"""A person's own words in e-mail: no headers, no quotations, no signatures."""

import mailbox
import re
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage, MIMEPart
from email.utils import parseaddr, parsedate_to_datetime
from pathlib import Path
from typing import NamedTuple

from personalbench.text.markup import strip_markup
from personalbench.text.normalise import normalise

_LANGUAGES = ["en", "de", "fr", "es", "it", "nl", "pl", "cs", "da", "sv", "ja", "ko", "zh"]

# The innermost quotation of an HTML body.
_BLOCKQUOTE = re.compile(
    r"<blockquote\b[^<>]*>(?:(?!<blockquote\b).)*?</blockquote\s*>", re.DOTALL | re.IGNORECASE
)
# What a mail program writes above a quotation names a time, an address or the verb.
_ATTRIBUTION = re.compile(
    r"(?:\d|@|\b(?:wrote|writes|schrieb|écrit|escribió|scritto|schreef|skrev|escreveu))[^\n]*:$"
)
_TIME_OR_ADDRESS = re.compile(r"\d|@")
# A line that introduces a message handed on, where the header below it is cut away.
_SEPARATOR = re.compile(
    r"\n+(?:[-_]{3,}[^\n]*|(?:Begin forwarded|Anfang der weitergeleiteten|Début du message|"
    r"Inicio del mensaje|Inizio messaggio)[^\n]*:)\Z"
)
_SIGNATURE = re.compile(r"^-- ?$.*", re.MULTILINE | re.DOTALL)
_LIST_FOOTER = re.compile(r"^_{40,}\n[^\n]*\bmailing list\b.*", re.MULTILINE | re.DOTALL)
_DEVICE = re.compile(
    r"(?:\A|\n)(?:Sent from |Get Outlook for |Gesendet (?:von|mit) |Von meinem |Envoyé de |"
    r"Enviado desde |Inviato da |Verzonden vanaf )[^\n]{1,60}\s*\Z"
)

# Bodies may hold lines that begin with "From ", which not every program escapes.
_ENVELOPE = re.compile(rb"From \S+ .*\d\d:\d\d")
_ESCAPED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)


class Mail(NamedTuple):
    """One message.

    Attributes:
        text: What its sender wrote, normalised; None where it can't be decoded.
        sender: The address it is from, in lower case; may be empty.
        thread: Id of the conversation: of its first message, as far as the headers tell.
        date: ISO date of sending.
    """

    text: str | None
    sender: str
    thread: str | None
    date: str | None


def read_eml(path: Path) -> Mail:
    """Read a file that holds one message."""
    return _read(path.read_bytes())


def read_mbox(path: Path) -> Iterator[Mail]:
    """Read a mailbox, message by message."""
    box = mailbox.mbox(path, create=False)
    try:
        message = b""
        for key in box.iterkeys():
            piece = box.get_bytes(key, from_=True)
            if message and _ENVELOPE.match(piece):
                yield _read_enveloped(message)
                message = b""
            message += piece + b"\n"
        if message:
            yield _read_enveloped(message)
    finally:
        box.close()


def own_text(body: str) -> str:
    """Return what the sender of a message wrote, normalised.

    Quoted lines go with what introduces them, then what follows the header of another
    message, a signature after ``--``, the footer of a mailing list and the device's line.
    """
    text = _without_quotations(normalise(body))
    text = _SIGNATURE.sub("", _LIST_FOOTER.sub("", _before_other_messages(text)))
    return normalise(_DEVICE.sub("", text.rstrip()))


def _without_quotations(text: str) -> str:
    kept: list[str] = []
    quoting = False
    for line in text.split("\n"):
        quoted = line.startswith(">")
        if quoted and not quoting:
            kept = _without_attribution(kept)
        elif not quoted:
            kept.append(line)
        quoting = quoted
    return "\n".join(kept)


def _without_attribution(lines: list[str]) -> list[str]:
    """Drop the line above a quotation that says whose it is; it may be broken in two."""
    end = len(lines)
    while end and not lines[end - 1]:
        end -= 1
    if not end or not lines[end - 1].endswith(":"):
        return lines
    paragraph = 1
    while paragraph < end and lines[end - 1 - paragraph]:
        paragraph += 1
    if paragraph == 2 and re.search(r"\d", lines[end - 2]):
        return lines[: end - 2]
    return lines[: end - 1] if _ATTRIBUTION.search(lines[end - 1]) else lines


def _before_other_messages(text: str) -> str:
    """Cut where the header of another message stands: one that is answered or handed on."""
    from mailparser_reply import EmailReplyParser

    message = EmailReplyParser(languages=_LANGUAGES).read(text)
    for reply in message.replies:
        # The library also takes prose for a header: "On Sunday my brother wrote:".
        if reply.headers and _TIME_OR_ADDRESS.search(reply.headers):
            before = message.text[: message.text.index(reply.headers)].rstrip()
            return _SEPARATOR.sub("", f"\n{before}")
    return text


def _read_enveloped(message: bytes) -> Mail:
    """Read a message of a mailbox, with the line that separates it from the one before."""
    return _read(_ESCAPED_FROM.sub(rb"\1", message.partition(b"\n")[2]))


def _read(data: bytes) -> Mail:
    message = message_from_bytes(data, policy=policy.default)
    references = str(message.get("References", "")).split()
    reply = str(message.get("In-Reply-To", "")).split()
    own = str(message.get("Message-ID", "")).split()
    try:
        date = parsedate_to_datetime(str(message.get("Date", ""))).date().isoformat()
    except ValueError:
        date = None
    return Mail(
        text=_text(message),
        sender=parseaddr(str(message.get("From", "")))[1].lower(),
        thread=next(iter(references or reply or own), None),
        date=date,
    )


def _text(message: EmailMessage) -> str | None:
    for subtype in ("plain", "html"):
        body = message.get_body(preferencelist=(subtype,))
        text = "" if body is None else _decode(body)
        if text is None:
            return None
        if text.strip():
            return own_text(_html_text(text) if subtype == "html" else text)
    return ""


def _decode(body: MIMEPart) -> str | None:
    """Decode a body by its character set, or as UTF-8 where that fails."""
    try:
        text: str = body.get_content()
    except LookupError:  # a character set that nobody knows
        text = "\ufffd"
    if "\ufffd" not in text:
        return text
    try:
        return bytes(body.get_payload(decode=True)).decode()
    except UnicodeDecodeError:
        return None


def _html_text(html: str) -> str:
    """Turn an HTML body into text; a quotation becomes a quoted line."""
    found = 1
    while found:
        html, found = _BLOCKQUOTE.subn("<br>&gt;<br>", html)
    return strip_markup(html)
