/**
 * The metadata of the authorization server.
 *
 * @module
 * @see RFC 8414; RFC 9207; MCP 2026-07-28, basic/authorization
 */

import { PATHS, type Route } from "../server.ts";
import { jsonResponse, refuseMethod } from "./json-responses.ts";

const METHODS = ["none", "client_secret_basic", "client_secret_post"];

/** Serves the metadata document. */
export const metadataRoute: Route = async ({ request, server, issuer }) => {
  const scopes = Object.keys(server.scopes);
  const metadata = {
    issuer,
    authorization_endpoint: issuer + PATHS.authorize,
    token_endpoint: issuer + PATHS.token,
    revocation_endpoint: issuer + PATHS.revoke,
    registration_endpoint: server.canRegister ? issuer + PATHS.register : undefined,
    scopes_supported: scopes.length > 0 ? scopes : undefined,
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    token_endpoint_auth_methods_supported: METHODS,
    revocation_endpoint_auth_methods_supported: METHODS,
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
    dpop_signing_alg_values_supported: server.proofs.metadata.dpop_signing_alg_values_supported,
    ...server.enterprise?.metadata,
  };
  return refuseMethod(request, "GET, HEAD") ?? jsonResponse(metadata, 200, { "Cache-Control": "public, max-age=300" });
};
