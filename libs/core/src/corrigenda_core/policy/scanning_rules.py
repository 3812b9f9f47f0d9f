"""The rule lists of the scan of incoming text: what is looked for, family by family.

A list is data: a phrase is a chain of word lists, a marker is a literal text. The matching is in policy/scanning.py.
Ordinary sentences about systems talk of ignoring rules, printing tokens and sending credentials all day, so a phrase
that is an order to the reader weighs more than the same words in a description.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from corrigenda_core.domain.evidence import ScanVerdict

GUARDED, QUARANTINED, PASS = ScanVerdict.GUARDED, ScanVerdict.QUARANTINED, ScanVerdict.PASS


class ScanFamily(StrEnum):
    """What kind of thing a finding is."""

    ROLE_MARKUP = "role_markup"
    INSTRUCTION_OVERRIDE = "instruction_override"
    SECRET_EXTRACTION = "secret_extraction"
    TOOL_EXFILTRATION = "tool_exfiltration"
    ENCODED_PAYLOAD = "encoded_payload"
    HIDDEN_UNICODE = "hidden_unicode"


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """Words in this order inside one sentence, with at most ``gap`` other words between two steps.

    ``as_order`` is the verdict where the first word orders or asks the reader to do it, ``otherwise`` elsewhere.
    """

    family: ScanFamily
    name: str
    steps: tuple[frozenset[str], ...]
    gap: int
    as_order: ScanVerdict
    otherwise: ScanVerdict = PASS


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """A literal text, compared without regard to case, width, accents and invisible characters."""

    family: ScanFamily
    text: str
    verdict: ScanVerdict


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DISREGARD = _words("ignore disregard forget neglect")
_EARLIER = _words("previous prior above earlier preceding foregoing former original initial your system")
_ORDERS = _words("instruction instructions directive directives guideline guidelines programming")
_SAFETY = _words("guardrail guardrails safeguards restrictions prompt prompts") | _ORDERS
_UNRESTRICTED = _words("unrestricted uncensored unfiltered jailbroken")
_TELL = _words("reveal repeat recite disclose leak output print dump")
_SHOW = _words("show display share give expose")
_BETRAY = _words("reveal disclose leak exfiltrate steal")
_SECRETS = _words("password passwords credentials secrets passphrase")
_KEY_KINDS = _words("api private secret access ssh encryption signing")
_KEYS = _words("key keys token tokens")
_ASK = _words("give tell send show email print paste")
_SEND = _words("send post upload forward email transmit exfiltrate copy leak deliver")
_ALL_OF_IT = _words("all entire whole full every your")
_AGENT_STATE = _words("conversation conversations memory memories chat history transcript")
_LOOT = _AGENT_STATE | _SECRETS | _KEYS
_ADDRESS = _words("http https ftp www webhook @")

_OVERRIDE, _EXTRACT, _EXFILTRATE, _ROLE = (
    ScanFamily.INSTRUCTION_OVERRIDE,
    ScanFamily.SECRET_EXTRACTION,
    ScanFamily.TOOL_EXFILTRATION,
    ScanFamily.ROLE_MARKUP,
)

PHRASES: tuple[Phrase, ...] = (
    Phrase(
        family=_OVERRIDE,
        name="disregard_earlier_instructions",
        steps=(_DISREGARD, _EARLIER, _ORDERS | _words("prompt prompts")),
        gap=3,
        as_order=QUARANTINED,
        otherwise=GUARDED,
    ),
    Phrase(
        family=_OVERRIDE,
        name="disregard_all_instructions",
        steps=(_DISREGARD, _words("all any every"), _ORDERS),
        gap=2,
        as_order=QUARANTINED,
    ),
    Phrase(
        family=_OVERRIDE,
        name="disregard_what_was_told",
        steps=(_DISREGARD, _words("everything anything all what"), _words("told instructed taught")),
        gap=3,
        as_order=QUARANTINED,
    ),
    Phrase(
        family=_OVERRIDE,
        name="disregard_everything_above",
        steps=(_DISREGARD, _words("everything anything"), _words("above")),
        gap=1,
        as_order=GUARDED,
    ),
    Phrase(
        family=_OVERRIDE,
        name="override_safety",
        steps=(_words("override bypass disable evade"), _words("your safety"), _SAFETY),
        gap=2,
        as_order=QUARANTINED,
    ),
    Phrase(
        family=_OVERRIDE,
        name="do_not_follow",
        steps=(_words("not never"), _words("follow obey"), _EARLIER, _ORDERS | _words("prompt prompts")),
        gap=2,
        as_order=GUARDED,
        otherwise=GUARDED,
    ),
    Phrase(
        family=_OVERRIDE,
        name="unrestricted_persona",
        steps=(_words("pretend act behave become"), _UNRESTRICTED),
        gap=5,
        as_order=QUARANTINED,
    ),
    Phrase(
        family=_OVERRIDE,
        name="persona_without_restrictions",
        steps=(
            _words("pretend act behave"),
            _words("no without"),
            _words("restrictions guardrails filters limits rules"),
        ),
        gap=5,
        as_order=QUARANTINED,
    ),
    Phrase(
        family=_OVERRIDE,
        name="you_are_now_unrestricted",
        steps=(_words("you"), _words("are"), _words("now"), _UNRESTRICTED | _words("dan")),
        gap=1,
        as_order=QUARANTINED,
        otherwise=QUARANTINED,
    ),
    Phrase(
        family=_OVERRIDE,
        name="your_new_instructions",
        steps=(_words("your"), _words("new"), _words("instructions directives")),
        gap=1,
        as_order=GUARDED,
        otherwise=GUARDED,
    ),
    Phrase(
        family=_EXTRACT,
        name="reveal_system_prompt",
        steps=(_TELL | _words("tell"), _words("system hidden initial secret"), _words("prompt instructions")),
        gap=3,
        as_order=QUARANTINED,
    ),
    Phrase(
        family=_EXTRACT,
        name="show_system_prompt",
        steps=(_SHOW, _words("system hidden"), _words("prompt")),
        gap=3,
        as_order=GUARDED,
    ),
    Phrase(
        family=_EXTRACT,
        name="reveal_your_instructions",
        steps=(_TELL, _words("your"), _words("prompt") | _ORDERS),
        gap=2,
        as_order=QUARANTINED,
    ),
    Phrase(family=_EXTRACT, name="reveal_secrets", steps=(_BETRAY, _SECRETS), gap=4, as_order=QUARANTINED),
    Phrase(family=_EXTRACT, name="reveal_keys", steps=(_BETRAY, _KEY_KINDS, _KEYS), gap=3, as_order=QUARANTINED),
    Phrase(
        family=_EXTRACT,
        name="give_me_secrets",
        steps=(_ASK, _words("me us"), _SECRETS),
        gap=4,
        as_order=QUARANTINED,
    ),
    Phrase(
        family=_EXTRACT,
        name="give_me_keys",
        steps=(_ASK, _words("me us"), _KEY_KINDS, _KEYS),
        gap=3,
        as_order=QUARANTINED,
    ),
    Phrase(
        family=_EXFILTRATE,
        name="send_everything_to_address",
        steps=(_SEND, _ALL_OF_IT, _LOOT, _ADDRESS),
        gap=6,
        as_order=QUARANTINED,
    ),
    Phrase(
        family=_EXFILTRATE,
        name="use_tool_to_send",
        steps=(
            _words("call invoke use run execute"),
            _words("tool tools function shell browser terminal curl wget"),
            _SEND,
            _AGENT_STATE | _SECRETS,
        ),
        gap=5,
        as_order=GUARDED,
    ),
    Phrase(
        family=_ROLE,
        name="attention_of_the_model",
        steps=(_words("attention"), _words("ai llm"), _words("assistant assistants agent agents model models")),
        gap=0,
        as_order=GUARDED,
    ),
)

MARKERS: tuple[Marker, ...] = (
    *(
        Marker(family=_ROLE, text=text, verdict=QUARANTINED)
        for text in (
            "<|im_start|>", "<|start_header_id|>", "<|system|>", "<|developer|>", "<|assistant|>", "<|user|>", "[inst]",
            "<<sys>>",
        )
    ),
    *(
        Marker(family=_ROLE, text=text, verdict=GUARDED)
        for text in (
            "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "[/inst]", "<</sys>>", "<system>", "</system>", "<assistant>",
            "</assistant>", "<tool_call>", "<function_calls>", "<tool_result>", "### instruction:", "### system:",
        )
    ),
)  # fmt: skip

# What hides text from people but not from a model: a marker that opens it, what must follow, and within how many
# characters.
HIDING_MARKUP: tuple[tuple[str, str, int], ...] = (
    ("style=", "display:none", 200),
    ("style=", "visibility:hidden", 200),
    ("style=", "font-size:0", 200),
    ("style=", "opacity:0", 200),
    ("<!--", "instructions", 400),
    ("<!--", "assistant", 400),
    ("<!--", "prompt", 400),
)

# An image whose address is filled in by whoever renders it sends what it is filled with.
IMAGE_OPENING = "!["
IMAGE_ADDRESS = "](http"
IMAGE_PLACEHOLDERS = ("{", "$(", "<")
IMAGE_TEXT_CHARACTERS = 200
IMAGE_ADDRESS_CHARACTERS = 1000

# Words before a verb that leave it an order to the reader, and those that turn it into the opposite.
ORDER_OPENINGS = _words("please now then and you immediately kindly just instead also so always first")
ORDER_AUXILIARIES = _words("must should shall will")
DENIALS = _words("not never t cannot without")
ADDRESSEES = _words("you assistant ai agent agents model llm")

# Letters of other scripts that look like Latin ones; folded only in words that have Latin letters too.
LOOKALIKES = str.maketrans("ıаеорсухіјѕԁһӏԛԝмнткοαεικνρτυχ", "iaeopcyxijsdhlqwmhtkoaeikvptux")
