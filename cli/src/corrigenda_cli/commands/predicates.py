"""`corrigenda predicates`: shows and loads shipped vocabularies, and keeps the registry of a team."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from corrigenda_cli.calling import KEY_VARIABLE, add_calling_options, called
from corrigenda_cli.exit_statuses import ExitStatus
from corrigenda_cli.help_text import add_command
from corrigenda_cli.registering import add_registry_parsers

if TYPE_CHECKING:
    from corrigenda_core.rpc.client import Client

    from corrigenda_cli.vocabulary import Vocabulary


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand."""
    actions = add_command(
        subparsers,
        "predicates",
        summary="show and load vocabularies, and keep a team's registry",
        examples=["corrigenda predicates list", "corrigenda predicates load software-teams"],
    ).add_subparsers(metavar="action", required=True)
    show = add_command(
        actions,
        "show",
        summary="print a vocabulary that comes with the product, to be changed and loaded",
        description="Prints the TOML text of a vocabulary; without a name, the names that there are.",
        examples=["corrigenda predicates show software-teams > ours.toml"],
    )
    show.add_argument("name", nargs="?", help="its name, such as software-teams")
    show.set_defaults(run=run_show)
    load = add_command(
        actions,
        "load",
        summary="register the predicates of a vocabulary in a team",
        description="Registers every predicate that the team does not have. One that it has in another form is left "
        f"alone and named, unless --update is given. Needs the key of an administrator in {KEY_VARIABLE}.",
        examples=["corrigenda predicates load software-teams", "corrigenda predicates load ours.toml --update"],
    )
    load.add_argument("vocabulary", help="the name of one that comes with the product, or the path of a TOML file")
    load.add_argument(
        "--update", action="store_true", help="register the next version of what the team has in another form"
    )
    add_calling_options(load)
    load.set_defaults(run=run_load)
    add_registry_parsers(actions)


def run_show(options: argparse.Namespace) -> int:
    """Prints a vocabulary or the names of all; exit status 0 done, 2 there is none of that name."""
    from corrigenda_cli.vocabulary import shipped_names, vocabulary_text

    names = shipped_names()
    if options.name is None:
        print("\n".join(names))
        return ExitStatus.DONE
    if options.name not in names:
        print(f"there is no vocabulary {options.name}; there are {', '.join(names)}", file=sys.stderr)
        return ExitStatus.USAGE
    print(vocabulary_text(options.name), end="")
    return ExitStatus.DONE


def run_load(options: argparse.Namespace) -> int:
    """Loads one; exit status 0 all there, 1 some differ, 2 no vocabulary, else why it was refused."""
    from corrigenda_cli.vocabulary import VocabularyError, parse_vocabulary, vocabulary_text

    try:
        vocabulary = parse_vocabulary(vocabulary_text(options.vocabulary))
    except VocabularyError as problem:
        print(f"no vocabulary: {problem}", file=sys.stderr)
        return ExitStatus.USAGE
    return called(options, lambda client: _loaded(options, client, vocabulary))


async def _loaded(options: argparse.Namespace, client: Client, vocabulary: Vocabulary) -> int:
    from corrigenda_cli.vocabulary_loading import register_vocabulary

    done = await register_vocabulary(client, vocabulary, update=options.update)
    if options.json:
        print(json.dumps(done))
    else:
        for what, keys in done.items():
            print(f"{what:<10} {len(keys):>3}  {' '.join(keys)}")
    return ExitStatus.FAILED if done["different"] else ExitStatus.DONE
