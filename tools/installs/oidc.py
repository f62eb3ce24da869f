"""With `oidc`: a token that an issuer has signed is one, and another text is none."""

from __future__ import annotations

import time

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from postri.policy.model import OidcPolicy
from postri.web.oidc import Issuer, IssuerKeys

ISSUER = "https://login.example.org"
key = ec.generate_private_key(ec.SECP256R1())
public = {**ECAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": "1", "use": "sig"}
issuer = Issuer(OidcPolicy(ISSUER, "postri"), IssuerKeys(lambda: [public]))
now = int(time.time())
claims = {"iss": ISSUER, "aud": "postri", "sub": "ann", "iat": now, "exp": now + 300}
token = issuer.verify(jwt.encode(claims, key, "ES256", {"kid": "1"}))
assert token is not None
assert issuer.verify("nonsense") is None
