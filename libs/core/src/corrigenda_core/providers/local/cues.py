"""The English words by which the local verifier tells a plain statement from everything else.

A word that is on no list is not understood. Between subject, predicate and object that makes the reading insufficient:
the verifier would rather ask for better evidence than accept what it has not read.
"""

from __future__ import annotations

from enum import Enum, auto


class Cue(Enum):
    """What a word between subject, predicate and object does to the reading."""

    LIGHT = auto()
    """Changes nothing: an article, an adverb of time."""
    COPULA = auto()
    """A form of "to be"."""
    PAST_COPULA = auto()
    DO = auto()
    """A form of "to do" that carries a bare verb."""
    DID = auto()
    HAVE = auto()
    """A form of "to have" before a participle."""
    NEGATION = auto()
    UNIVERSAL = auto()
    """Light by itself; behind a negation the reading is open ("does not always")."""
    SPECULATION = auto()
    PLAN = auto()
    PAST = auto()
    """Says that it was so, not that it is."""
    TO = auto()
    """Before a bare verb: a plan, unless the word before says otherwise ("used to", "continues to")."""
    CONTINUES = auto()
    """"continues to deploy" and "keeps deploying" are statements about now."""
    CEASED = auto()
    """"stopped deploying" is a negation."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _cues(**lists: str) -> dict[str, Cue]:
    return {word: Cue[name] for name, words in lists.items() for word in words.split()}


GAP_CUES = _cues(
    LIGHT="""
        a an the our its their this now currently still today again already really actually indeed also then presently
        nowadays ever since finally immediately directly officially automatically definitely certainly clearly
        successfully permanently simply both all longer more anymore
    """,
    COPULA="is are be been being 's 're 'm equals = : remains became becomes",
    PAST_COPULA="was were",
    DO="do does",
    DID="did",
    HAVE="has have having 've",
    NEGATION="not n't never no cannot without nowhere neither nor dont doesnt didnt isnt arent wasnt hasnt wont cant",
    UNIVERSAL="""
        always only usually normally generally exclusively necessarily entirely solely yet just every everywhere
    """,
    SPECULATION="""
        may might can could should would must ought shall maybe perhaps possibly probably presumably apparently
        allegedly reportedly supposedly supposed seemingly likely unlikely seems seem seemed appears appear appeared
        potentially hopefully theoretically hypothetically conceivably arguably either sometimes often occasionally
        rarely seldom hardly barely scarcely almost nearly partly partially temporarily mostly
    """,
    PLAN="""
        will 'll going about plans plan planned planning intends intend intended wants want wanted needs need scheduled
        expected expects due soon shortly eventually aims decided agreed
    """,
    PAST="had formerly previously once used earlier historically originally initially",
    TO="to",
    CONTINUES="continues continue continued keeps kept",
    CEASED="stopped stops stop ceased ceases quit quits",
)
"""Words that may stand between subject and predicate. Any other word there is not understood."""

OBJECT_GAP_CUES = {
    word: GAP_CUES[word]
    for word in _words(
        "a an the our its their this now currently still only always both either not n't never maybe perhaps possibly "
        "probably is are was were = :"
    )
}
"""Words that may stand between predicate and object."""

COPULA_GAP_CUES = {
    **GAP_CUES,
    **dict.fromkeys(_words("located based situated called named known in at of on by as to"), Cue.LIGHT),
}
"""Words that may stand between subject and object behind a predicate ("the capital of X is located in Y")."""

EMPHASIS = _words("\" ' ` * _ \u2018 \u2019 \u201c \u201d \u201e \u00ab \u00bb")
"""Marks that may stand around a name."""

QUESTION_OPENERS = _words(
    """
    do does did is are was were has have had can could should would will shall who what when where why how which whose
    am
    """
)

SENTENCE_SPECULATION = _words(
    """
    might maybe perhaps possibly probably presumably apparently allegedly reportedly supposedly seemingly likely
    unlikely seems seem seemed appears think thinks thought thinking believe believes believed guess guesses guessed
    suspect suspects suspected assume assumes assumed assuming assumption suppose supposing imagine pretend unsure
    uncertain unclear unconfirmed unverified rumour rumours rumor rumors hope hopes hoping hopefully wish wishes wonder
    wonders wondering speculate speculation hypothetically theory theoretically conceivably afaik iirc imo imho if
    unless whether provided except either fictional doubt doubts doubtful
    """
)
"""Anywhere in the sentence, outside the statement itself."""

SUFFIX_SPECULATION = _words("or when whenever")
"""Behind the object: an alternative, a condition."""

PREFIX_PLAN = _words(
    """
    plan plans planned planning proposal propose proposes proposed suggest suggests suggested suggestion recommend
    recommends recommended want wants wanted intend intends intended intention todo goal goals draft idea tomorrow let
    make please ensure
    """
)
"""In front of the statement: it is asked for or intended, not said to be so."""

REPORTS = _words(
    """
    say says said saying claim claims claimed claiming allege alleges alleged tell tells told argue argues argued
    according heard hear insist insists insisted assert asserts asserted write writes wrote quote quotes quoted tweet
    tweeted asked asks replied
    """
)
"""Somebody else's words, reported: the author of the evidence does not say it."""

NEGATIONS = _words(
    """
    not n't never no nobody nothing none neither nor without cannot deny denies denied denying refuse refuses refused
    dispute disputes disputed disprove disproved refute refuted dont doesnt didnt isnt arent wasnt hasnt wont cant stop
    stopped unlike contrary instead false untrue wrong incorrect myth mistaken
    """
)
"""In front of the statement: what they negate is not clear, so the reading is insufficient."""

DENIALS = _words("false untrue wrong incorrect myth mistaken mistake lie outdated obsolete stale kidding joke")
"""Behind the statement, or in the next sentence: it is taken back."""
CONFIRMATIONS = _words("true correct right so accurate")
"""Behind a negation they take the statement back, too."""
REFERRING_BACK = _words("that this it which no not just only")
"""A next sentence that starts so may be about the statement."""

DENIED_PREFIXES = tuple(
    tuple(phrase.split())
    for phrase in (
        "not true that",
        "not correct that",
        "not right that",
        "not case that",
        "no longer true that",
        "no longer case that",
        "n't true that",
        "n't case that",
        "untrue that",
        "false that",
        "incorrect that",
        "wrong that",
    )
)
"""Directly in front of the statement, articles left out, they deny it."""

NO_LONGER = (("no", "longer"), ("not", "anymore"), ("not", "any", "more"), ("not", "any", "longer"))
"""Directly behind the object they deny it."""

FOREIGN_NEGATIONS = _words(
    """
    nicht nie niemals kein keine keinen ne pas jamais n'est nunca jam\u00e1s n\u00e3o non mai niet nooit geen ikke
    aldrig inte nu de\u011fil
    """
)

DETERMINERS = _words("a an the our its their his her my your this these those current entire whole")
"""They may stand directly in front of the subject without narrowing it."""

FACTIVES = _words(
    """
    that because since although though and but so hence therefore thus however currently now today confirm confirms
    confirmed know knows known note notes noted show shows showed shown found find finds see sees saw learned means
    remember record records recorded document documents documented verify verifies verified establish established
    announce announces announced state states stated update fyi yes indeed
    """
)
"""They may stand in front of the subject of a clause that is said to be so."""

RELATIVES = _words("that who whom which whose what where how why")

AFTER_OBJECT = _words(
    """
    and or but nor since until till from to in on at for with by as because so which that who when whenever while where
    whereas after before during now today again instead currently already always only too also via using through per if
    unless except then is are was were has not n't no every each daily weekly under over within without than rather
    and/or anymore any still yet directly automatically i we you it they he she this according due although though plus
    """
)
"""They may stand directly behind the object without making it a longer name."""

UNITS = _words("% \u2030 \u00b0 \u20ac $ \u00a3 \u00a5")
GLUE = _words("+ # - / \\ @ =")
"""Marks that make a longer name of the object, the latter when no space stands between."""

SENTENCE_CONTINUES = GAP_CUES.keys() | FACTIVES | RELATIVES | _words("of in on at for with by from as or")
"""In lower case behind a full stop: the stop belongs to a shortened word ("Apple Inc. is")."""

CLAUSE_BREAKS = _words(". ; and but while whereas although though because that which who then so")
"""Between a statement and words of time they part the two: the time may be that of the other clause."""
CLAUSE_MARKS = _words(", ( ) - \u2013 \u2014")
"""They part the two as well, if words that mean something stand between."""
