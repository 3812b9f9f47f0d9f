"""Builds the ingest service: the only place that makes its objects."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from corrigenda.admin.v1 import admin_service_pb2, admin_service_pb2_grpc
from corrigenda.ingest.v1 import ingest_service_pb2, ingest_service_pb2_grpc
from corrigenda_core.deciding import OwnerDecisions
from corrigenda_core.persistence.team_clock import PLANNED_ONCE
from corrigenda_core.policy.time_words import decide_time_bounds
from corrigenda_core.providers.extraction_validation import ValidatedExtractor
from corrigenda_core.providers.metrics import ProviderMetrics
from corrigenda_core.providers.selection import make_extractor, make_verifier
from corrigenda_core.providers.validation import ValidatedVerifier
from corrigenda_core.rpc.server import ServiceBinding
from corrigenda_core.security.caller_cache import Authenticator
from corrigenda_core.serving import Foundation, make_authenticator, open_foundation, page_tokens, serve

from corrigenda_ingest.config import IngestSettings
from corrigenda_ingest.handlers import AdminHandlers, IngestHandlers
from corrigenda_ingest.impact_tokens import ImpactTokens
from corrigenda_ingest.outside import OutsideLook
from corrigenda_ingest.proposing import Proposer
from corrigenda_ingest.use_cases.administration import Administration
from corrigenda_ingest.use_cases.adopt_evidence import AdoptEvidence
from corrigenda_ingest.use_cases.correct_entity_resolution import CorrectEntityResolution
from corrigenda_ingest.use_cases.erase_evidence import EraseEvidence
from corrigenda_ingest.use_cases.forget import Forget
from corrigenda_ingest.use_cases.get_placement import GetPlacement
from corrigenda_ingest.use_cases.keys import Keys
from corrigenda_ingest.use_cases.list_alerts import ListAlerts
from corrigenda_ingest.use_cases.list_keys import ListKeys
from corrigenda_ingest.use_cases.list_sources import ListSources
from corrigenda_ingest.use_cases.preflight_remember import PreflightRemember
from corrigenda_ingest.use_cases.profiles import Profiles
from corrigenda_ingest.use_cases.register_predicate import RegisterPredicate
from corrigenda_ingest.use_cases.register_source import RegisterSource
from corrigenda_ingest.use_cases.remember import Remember
from corrigenda_ingest.use_cases.remember_many import RememberMany
from corrigenda_ingest.use_cases.remember_stream import RememberStream
from corrigenda_ingest.use_cases.resolve_placement import ResolvePlacement
from corrigenda_ingest.use_cases.scan_conflicts import ScanConflicts
from corrigenda_ingest.use_cases.teams import Teams
from corrigenda_ingest.verification_tokens import VerificationTokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """What reads evidence."""

    verifier: ValidatedVerifier
    extractor: ValidatedExtractor


@asynccontextmanager
async def open_models(foundation: Foundation, settings: IngestSettings) -> AsyncIterator[Models]:
    """Makes them and releases them again."""
    metrics = ProviderMetrics(foundation.registry)
    models = Models(
        verifier=make_verifier(settings, decide_time_bounds, metrics.of("verifier")),
        extractor=make_extractor(settings, decide_time_bounds, metrics.of("extractor")),
    )
    try:
        yield models
    finally:
        await models.verifier.close()
        await models.extractor.close()


def bindings(
    foundation: Foundation, settings: IngestSettings, authenticator: Authenticator, models: Models
) -> list[ServiceBinding]:
    """What the process serves; ``authenticator`` forgets the keys that it revokes."""
    tokens = page_tokens(settings)
    pepper = settings.key_pepper.get_secret_value().encode()
    verdicts = VerificationTokens(settings.page_token_key.get_secret_value().encode(), now=foundation.now)
    look = OutsideLook(
        reader=foundation.reader,
        proposer=Proposer(reader=foundation.reader, extractor=models.extractor),
        verifier=models.verifier,
        tokens=verdicts,
        new_ids=foundation.new_ids,
    )
    administration = Administration(runner=foundation.runner, new_ids=foundation.new_ids, now=foundation.now)
    decisions = OwnerDecisions(reader=foundation.reader, runner=foundation.runner, new_ids=foundation.new_ids)
    ingest = IngestHandlers(
        remember=Remember(look=look, runner=foundation.runner),
        remember_stream=RememberStream(RememberMany(look=look, runner=foundation.runner)),
        preflight_remember=PreflightRemember(look=look, reader=foundation.reader, tokens=verdicts),
        get_placement=GetPlacement(reader=foundation.reader),
        adopt_evidence=AdoptEvidence(
            reader=foundation.reader,
            runner=foundation.runner,
            verifier=models.verifier,
            new_ids=foundation.new_ids,
        ),
        resolve_placement=ResolvePlacement(
            reader=foundation.reader,
            runner=foundation.runner,
            verifier=models.verifier,
            new_ids=foundation.new_ids,
        ),
        correct_entity_resolution=CorrectEntityResolution(
            reader=foundation.reader,
            runner=foundation.runner,
            tokens=ImpactTokens(settings.page_token_key.get_secret_value().encode(), now=foundation.now),
            new_ids=foundation.new_ids,
        ),
        forget=Forget(decisions=decisions, new_ids=foundation.new_ids),
    )
    admin = AdminHandlers(
        teams=Teams(administration=administration, reader=foundation.reader),
        profiles=Profiles(administration=administration, reader=foundation.reader, page_tokens=tokens),
        keys=Keys(
            administration=administration,
            pepper=pepper,
            forget=authenticator.forget,
        ),
        list_keys=ListKeys(reader=foundation.reader, page_tokens=tokens, now=foundation.now),
        register_source=RegisterSource(administration=administration),
        list_sources=ListSources(reader=foundation.reader, page_tokens=tokens),
        register_predicate=RegisterPredicate(administration=administration),
        scan_conflicts=ScanConflicts(reader=foundation.reader, runner=foundation.runner, new_ids=foundation.new_ids),
        erase_evidence=EraseEvidence(runner=foundation.runner, new_ids=foundation.new_ids, pepper=pepper),
        list_alerts=ListAlerts(reader=foundation.reader, page_tokens=tokens),
    )
    return [
        ServiceBinding(
            descriptor=ingest_service_pb2.DESCRIPTOR.services_by_name["IngestService"],
            register=lambda server: ingest_service_pb2_grpc.add_IngestServiceServicer_to_server(ingest, server),
        ),
        ServiceBinding(
            descriptor=admin_service_pb2.DESCRIPTOR.services_by_name["AdminService"],
            register=lambda server: admin_service_pb2_grpc.add_AdminServiceServicer_to_server(admin, server),
        ),
    ]


async def run_service(settings: IngestSettings) -> None:
    """Serves until the process is told to stop."""
    async with (
        open_foundation(settings, "ingest", reading=PLANNED_ONCE) as foundation,
        open_models(foundation, settings) as models,
    ):
        authenticator = make_authenticator(foundation, settings)
        served = bindings(foundation, settings, authenticator, models)
        await serve(foundation, settings, served, authenticator=authenticator)
