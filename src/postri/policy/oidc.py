"""The table `[service.oidc]`: whose tokens the service takes beside its own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

from postri.errors import InputError, nearest
from postri.exact import shown
from postri.policy import values as v
from postri.policy.model import OidcPolicy
from postri.policy.section import Section

OIDC_NEEDS = {
    "issuer": 'who makes the tokens, such as issuer = "https://login.example.org"',
    "audience": 'what its tokens must be meant for, such as audience = "postri"',
}
# Signatures by a key that only the issuer has. None that whoever can verify could make as well.
ALGORITHMS = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "EdDSA",
)
READERS: Mapping[str, Callable[[str, Any], Any]] = {
    "name": v.a_name,
    "leeway": partial(v.some_seconds, high=300),
}


def read_oidc(section: Section, datasets: Collection[str]) -> OidcPolicy | None:
    """The table as values; None where something is wrong, which was noted."""
    section.refuse_others((*OIDC_NEEDS, *READERS, "algorithms", "required", "datasets"))
    issuer = section.need("issuer", v.an_issuer)
    audience = section.need("audience", v.a_name)
    found: dict[str, Any] = {key: section.get(key, read) for key, read in READERS.items()}
    found["algorithms"] = section.get("algorithms", partial(_some_of, known=ALGORITHMS))
    found["datasets"] = section.get("datasets", partial(_some_of, known=datasets))
    found["required"] = _required(section)
    if issuer is None or audience is None:
        return None
    given = {key: value for key, value in found.items() if value is not None}
    return OidcPolicy(issuer, audience, **given)


def _some_of(what: str, value: object, known: Collection[str]) -> tuple[str, ...]:
    """Some of these texts, each once."""
    names = tuple(v.a_text(f"each of {what}", each) for each in v.a_list(what, value))
    for name in names:
        if name not in known:
            raise InputError(f"{what} cannot have {shown(name)}; {nearest(name, known)}")
    return tuple(dict.fromkeys(names))


def _required(outer: Section) -> dict[str, str] | None:
    section = outer.section("required", {})
    if section is None:
        return None
    read = {claim: section.get(claim, v.a_name) for claim in section.values}
    return {claim: value for claim, value in read.items() if value is not None}
