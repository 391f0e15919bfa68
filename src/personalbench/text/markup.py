"""Removal of markup from text that was written for the web."""

import html
import re

_BLOCK = (
    "address|article|aside|blockquote|br|center|dd|div|dl|dt|fieldset|figcaption|figure|"
    "footer|form|h1|h2|h3|h4|h5|h6|header|hr|li|main|nav|ol|p|pre|section|table|tbody|td|"
    "tfoot|th|thead|title|tr|ul"
)
_INLINE = (
    "a|abbr|acronym|area|b|base|basefont|bdo|big|blink|body|button|cite|code|col|colgroup|"
    "del|dfn|em|embed|font|frame|frameset|head|html|i|iframe|img|input|ins|kbd|label|legend|"
    "link|map|marquee|meta|nobr|noscript|object|optgroup|option|param|q|s|samp|select|small|"
    "span|strike|strong|sub|sup|textarea|tt|u|var|wbr"
)

# Only what is a tag of HTML goes: `<3`, `a < b` and `<think>` are text.
_HIDDEN = re.compile(r"<!--.*?-->|<(script|style)\b[^<>]*>.*?</\1\s*>", re.DOTALL | re.IGNORECASE)
_BLOCK_TAG = re.compile(rf"</?(?:{_BLOCK})(?:\s[^<>]*)?/?>", re.IGNORECASE)
_INLINE_TAG = re.compile(rf"</?(?:{_INLINE}|o:p|st1:\w+)(?:\s[^<>]*)?/?>", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#[0-9]+|#[xX][0-9a-fA-F]+|[a-zA-Z][a-zA-Z0-9]*);")


def strip_markup(text: str) -> str:
    """Turn HTML into text.

    Tags of blocks become line ends and tags inside a line nothing; comments, scripts and
    styles go with their content. Entities are resolved until none is left, because pages
    that were escaped twice are common; an ampersand without a semicolon stays.
    """
    if "<" in text:
        text = _INLINE_TAG.sub("", _BLOCK_TAG.sub("\n", _HIDDEN.sub("", text)))
    if "&" in text:
        previous = ""
        while previous != text:
            previous = text
            text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
    return text
