"""The sentence forms of FactConsolidation: what a fact line says, how evidence says it plainly, how it is asked for.

One template per predicate, each made of the form of its facts, the form of the direct question about it, and the words
by which an indirect question asks for it. The typing errors in "univeristy" and "origianl" are the data's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

X, Y = "{x}", "{y}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """One predicate: ``fact`` and ``asked`` have places for the subject and, the former, for the object.

    ``phrase`` stands between subject and object in a plain sentence. ``cues`` are words of indirect questions.
    """

    key: str
    phrase: str
    fact: str
    asked: str
    cues: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """What one numbered line says."""

    number: int
    line: str
    subject: str
    template: Template
    object: str

    @property
    def sentence(self) -> str:
        """The plain sentence in the words of the predicate."""
        return f"{self.subject} {self.template.phrase} {self.object}."


def _t(key: str, phrase: str, fact: str, asked: str, *cues: str) -> Template:
    return Template(key=key, phrase=phrase, fact=fact, asked=asked, cues=cues)


TEMPLATES = (
    _t("head_of_state", "has the head of state", "The name of the current head of state in {x} is {y}.",
       "What is the name of the current head of state in {x}?",
       "head of state", "head of the state"),
    _t("head_of_government", "has the head of government", "The name of the current head of the {x} government is {y}.",
       "What is the name of the current head of the {x} government?",
       "head of government", "head of the government", "government"),
    _t("prime_minister", "has the prime minister", "The Prime Minister of {x} is {y}.",
       "Who is the Prime Minister of {x}?", "prime minister"),
    _t("president", "has the president", "The President of {x} is {y}.", "Who is the President of {x}?", "president"),
    _t("governor", "has the governor", "The Governor of {x} is {y}.", "Who is the Governor of {x}?", "governor"),
    _t("mayor", "has the mayor", "The Mayor of {x} is {y}.", "Who is the Mayor of {x}?", "mayor"),
    _t("headquarters_in", "has its headquarters in the city of",
       "The headquarters of {x} is located in the city of {y}.",
       "Which city is the headquarter of {x} located in?",
       "headquarters", "headquarter", "headquartered"),
    _t("continent", "is located in the continent of", "{x} is located in the continent of {y}.",
       "Which continent is {x} located in?", "continent"),
    _t("born_in", "was born in the city of", "{x} was born in the city of {y}.",
       "Which city was {x} born in?", "born", "birthplace", "birth", "place of birth"),
    _t("died_in", "died in the city of", "{x} died in the city of {y}.",
       "Which city did {x} die in?", "died", "die", "death", "place of death", "pass away", "passed away"),
    _t("worked_in", "worked in the city of", "{x} worked in the city of {y}.",
       "Which city did {x} work in?",
       "work in", "worked in", "work location", "location of work", "location of the work", "place of work"),
    _t("chairperson", "has the chairperson", "The chairperson of {x} is {y}.",
       "Who is the chairperson of {x}?", "chairperson", "chair", "chairman"),
    _t("director", "has the director", "The director of {x} is {y}.",
       "Who is the director of {x}?", "director", "directed", "manager", "managed", "director manager"),
    _t("chief_executive", "has the chief executive officer", "The chief executive officer of {x} is {y}.",
       "Who is the chief executive officer of {x}?", "chief executive officer", "ceo", "chief executive"),
    _t("head_coach", "has the head coach", "The head coach of {x} is {y}.",
       "Who is the head coach of {x}?", "head coach", "coach", "coached"),
    _t("position", "plays the position of", "{x} plays the position of {y}.",
       "What position does {x} play?", "position", "specialize", "specializes", "speciality", "specialty"),
    _t("married_to", "is married to", "{x} is married to {y}.",
       "Who is {x} married to?", "married", "spouse", "partner", "wife", "husband"),
    _t("author", "has the author", "The author of {x} is {y}.",
       "Who is the author of {x}?", "author", "wrote", "writer", "written by"),
    _t("educated_at", "was educated at", "The univeristy where {x} was educated is {y}.",
       "Which university was {x} educated at?",
       "educated", "university", "educational institution", "alma mater", "studied", "education"),
    _t("founded_in", "was founded in the city of", "{x} was founded in the city of {y}.",
       "Where was {x} founded?", "founded", "founding", "established", "come into existence", "place of founding"),
    _t("founded_by", "was founded by", "{x} was founded by {y}.",
       "Who founded {x}?", "founder", "founded", "founders", "established"),
    _t("sport", "is associated with the sport of", "{x} is associated with the sport of {y}.",
       "Which sport is {x} associated with?", "sport", "sports"),
    _t("capital", "has the capital", "The capital of {x} is {y}.",
       "What is the capital of {x}?", "capital", "capital city"),
    _t("citizen_of", "is a citizen of", "{x} is a citizen of {y}.",
       "What is the country of citizenship of {x}?",
       "citizenship", "citizen", "country of citizenship", "nationality", "country"),
    _t("music", "plays the music type of", "The type of music that {x} plays is {y}.",
       "What type of music does {x} play?", "type of music", "music genre", "genre", "music"),
    _t("developer", "was developed by", "{x} was developed by {y}.",
       "Who is the developer of {x}?", "developer", "developed", "developed by"),
    _t("religion", "is affiliated with the religion of", "{x} is affiliated with the religion of {y}.",
       "Which religion is {x} affiliated with?", "religion", "religious affiliation", "faith", "religious"),
    _t("performer", "was performed by", "{x} was performed by {y}.",
       "Who performed {x}?", "performed", "performer", "performed by", "singer"),
    _t("creator", "was created by", "{x} was created by {y}.",
       "Who was {x} created by?", "created", "creator", "created by"),
    _t("original_language", "has the original language", "The original language of {x} is {y}.",
       "What is the original language of {x}?", "original language", "language"),
    _t("speaks", "speaks the language of", "{x} speaks the language of {y}.",
       "What language does {x} speak?", "speak", "speaks", "spoken", "language"),
    _t("producer", "was produced by", "The company that produced {x} is {y}.",
       "Which company is {x} produced by?", "produced", "producer", "manufacturer", "manufactured", "produced by"),
    _t("employer", "is employed by", "{x} is employed by {y}.",
       "Who is the employer of {x}?", "employer", "employed", "employed by", "employs"),
    _t("child", "has the child", "{x}'s child is {y}.",
       "Who is {x}'s child?", "child", "son", "daughter"),
    _t("written_in", "was written in the language of", "{x} was written in the language of {y}.",
       "Which language was {x} written in?", "written in", "language"),
    _t("occupation", "works in the field of", "{x} works in the field of {y}.",
       "What kind of work does {x} do?",
       "occupation", "job title", "profession", "kind of work", "field of work", "field", "job"),
    _t("official_language", "has the official language", "The official language of {x} is {y}.",
       "What is the official language of {x}?", "official language", "official tongue", "language"),
    _t("created_in", "was created in the country of", "{x} was created in the country of {y}.",
       "Which country was {x} created in?",
       "country of origin", "origin", "originate", "originates", "originated", "originating country", "created in",
       "come from", "comes from", "came from", "country"),
    _t("famous_for", "is famous for", "{x} is famous for {y}.",
       "What is {x} famous for?", "famous for", "famous", "known for", "notable work"),
    _t("broadcaster", "has the original broadcaster", "The origianl broadcaster of {x} is {y}.",
       "Who is the original broadcaster of {x}?", "original broadcaster", "broadcaster", "broadcasted", "broadcast"),
)  # fmt: skip

_NUMBERED = re.compile(r"(\d+)\. (.+)")


def _pattern(form: str) -> re.Pattern[str]:
    parts = re.split(r"(\{[xy]\})", form)
    return re.compile("".join({X: "(?P<x>.+?)", Y: "(?P<y>.+)"}.get(part, re.escape(part)) for part in parts))


_FACTS = tuple((template, _pattern(template.fact)) for template in TEMPLATES)
_QUESTIONS = tuple((template, _pattern(template.asked)) for template in TEMPLATES)


def read_fact(line: str) -> Fact | None:
    """What a numbered line says; ``None`` if it is of no known form."""
    numbered = _NUMBERED.fullmatch(line)
    if numbered is None:
        return None
    for template, pattern in _FACTS:
        if found := pattern.fullmatch(numbered[2]):
            return Fact(
                number=int(numbered[1]), line=numbered[2], subject=found["x"], template=template, object=found["y"]
            )
    return None


def read_question(question: str) -> tuple[str, Template] | None:
    """Subject and predicate of a direct question; ``None`` if it is of no known form."""
    for template, pattern in _QUESTIONS:
        if found := pattern.fullmatch(question):
            return found["x"], template
    return None
