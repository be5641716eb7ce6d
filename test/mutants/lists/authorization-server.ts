/** Changes to the authorization server. */
import type { Mutant } from "../mutant.ts";

const REQUESTS = ["test/worker/authorization-requests.test.ts"];
const TOKENS = ["test/worker/token-endpoint.test.ts"];
const CLIENTS = ["test/worker/client-documents.test.ts"];
const UPSTREAM = ["test/worker/upstream-tokens.test.ts"];

const folder = "src/worker/oauth/";
const request = `${folder}authorization-request.ts`;
const redirects = `${folder}redirects.ts`;
const authorize = `${folder}authorize-route.ts`;
const allowed = `${folder}allowed-route.ts`;
const signIn = `${folder}sign-in.ts`;
const session = `${folder}browser-session.ts`;
const tokens = `${folder}token-route.ts`;
const credentials = `${folder}client-authentication.ts`;
const grants = `${folder}grants.ts`;
const successors = `${folder}successors.ts`;
const user = `${folder}user-object.ts`;
const upstream = `${folder}upstream.ts`;
const verify = `${folder}verify.ts`;
const documents = `${folder}client-document.ts`;
const clients = `${folder}clients.ts`;
const registration = `${folder}registration.ts`;
const forms = `${folder}forms.ts`;
const names = `${folder}names.ts`;

type Change = readonly [id: string, file: string, find: string, replace: string, tests: readonly string[]];

const CHANGES: readonly Change[] = [
  ["request-length", request, "if (search.length > QUERY_MAX)", "if (search.length > QUERY_MAX * 9)", REQUESTS],
  ["request-two-clients", request, 'if (ids.length !== 1 || id === "")', 'if (id === "")', REQUESTS],
  ["request-two-redirects", request, "if (uris.length !== 1 || !isRegistered(", "if (!isRegistered(", REQUESTS],
  ["request-any-redirect", request, "|| !isRegistered(redirectUri, client.redirectUris)", "", REQUESTS],
  ["request-twice", request, "searchParams.getAll(name).length > 1", "false", REQUESTS],
  ["request-object", request, 'if (parameters.has("request"))', 'if (parameters.has("requests"))', REQUESTS],
  ["request-object-url", request, 'if (parameters.has("request_uri"))', 'if (parameters.has("requests"))', REQUESTS],
  ["request-response-type", request, 'parameters.get("response_type") !== "code"', "false", REQUESTS],
  ["request-response-mode", request, '(parameters.get("response_mode") ?? "query") !== "query"', "false", REQUESTS],
  ["request-plain", request, 'parameters.get("code_challenge_method") !== "S256" ||', "", REQUESTS],
  ["request-challenge", request, "|| !HASH.test(challenge)", "", REQUESTS],
  ["request-resource", request, "asked !== undefined && !isSameUrl(asked, resource)", "false", REQUESTS],
  ["request-fragment", request, '!text.includes("#") &&', "", REQUESTS],
  ["request-scope", request, "scope !== undefined && !SCOPE.test(scope)", "false", REQUESTS],
  ["request-jkt", request, "jkt !== undefined && !HASH.test(jkt)", "false", REQUESTS],
  ["redirect-host", redirects, "host !== registeredHost", "false", REQUESTS],
  [
    "redirect-path",
    redirects,
    "uri.slice(start.length) === registered.slice(registeredStart.length)",
    "true",
    REQUESTS,
  ],
  ["redirect-end", redirects, "(?=[/?]|$)/", "/", REQUESTS],
  [
    "redirect-http",
    redirects,
    'isLoopback(hostname) ? undefined : "uses http: for a host that is not loopback"',
    "undefined",
    CLIENTS,
  ],
  ["redirect-fragment", redirects, 'if (uri.includes("#"))', 'if (uri.includes("##"))', CLIENTS],
  ["redirect-user", redirects, 'if (username !== "" || password !== "")', 'if (password !== "")', CLIENTS],
  ["redirect-scheme", redirects, "|| !schemes.includes(protocol.slice(0, -1))", "", CLIENTS],
  ["consent-always", authorize, 'if (isKnown && !prompt.includes("consent"))', "if (isKnown)", REQUESTS],
  ["consent-never", authorize, "const isKnown = !needsConsent(", "const isKnown = true || !needsConsent(", REQUESTS],
  [
    "consent-of-another",
    authorize,
    "if (user?.userId !== question.user || user.session !== question.session)",
    "if (!user)",
    REQUESTS,
  ],
  ["consent-late", authorize, "|| Date.now() >= question.untilMs", "", REQUESTS],
  ["consent-denied", authorize, 'if (form.get("decision") !== "allow")', 'if (form.get("decision") === "")', REQUESTS],
  ["consent-beyond", authorize, "[...asked].filter((scope) => offered.includes(scope))", "[...asked]", REQUESTS],
  ["consent-silent", authorize, 'if (isSilent) return deny(visit, request, "login_required");', "", REQUESTS],
  ["consent-iss", authorize, "code, state, iss: issuer", "code, state", ["test/worker/authorization-server.test.ts"]],
  [
    "error-iss",
    authorize,
    "error_description: description, state, iss: issuer",
    "error_description: description, state",
    REQUESTS,
  ],
  ["allowed-form", allowed, "if (!form) return pages.error", "if (form === null) return pages.error", REQUESTS],
  ["allowed-all", allowed, '"forget", user.session, clientId)', '"forget", user.session, "none")', REQUESTS],
  ["sign-in-other-provider", signIn, "!found || found.pending.provider !== provider.id", "!found", REQUESTS],
  ["sign-in-banned", signIn, "if (!(await policy.offeredTo(user)))", "if (!user)", REQUESTS],
  ["sign-in-state", session, "pending.state !== state ||", "", REQUESTS],
  ["sign-in-late", session, "|| Date.now() >= pending.untilMs", "", REQUESTS],
  ["code-hash", grants, "|| code?.hash !== (await hashOf(secret))", "", TOKENS],
  [
    "code-client",
    grants,
    'if (grant.client.id !== request.clientId) return invalid("The code',
    'if (!grant) return invalid("The code',
    TOKENS,
  ],
  ["code-redirect", grants, "code.redirectUri !== request.redirectUri", "false", TOKENS],
  ["code-verifier", grants, "code.challenge !== request.challenge", "false", TOKENS],
  ["code-key", grants, "code.jkt !== undefined && code.jkt !== request.jkt", "false", TOKENS],
  ["code-twice", grants, "if (grant.refresh !== undefined) {", "if (grant.refresh === null) {", TOKENS],
  [
    "code-late",
    tokens,
    "return handle && Date.now() < handle.expiresAtMs ? handle : undefined;",
    "return handle;",
    TOKENS,
  ],
  [
    "token-resource",
    grants,
    "if (request.resource === undefined || request.resource === resource)",
    "if (resource)",
    TOKENS,
  ],
  [
    "refresh-client",
    grants,
    'if (grant.client.id !== request.clientId) return invalid("The refresh',
    'if (!grant) return invalid("The refresh',
    TOKENS,
  ],
  ["refresh-key", grants, "grant.jkt !== undefined && grant.jkt !== request.jkt", "false", TOKENS],
  [
    "refresh-unbound",
    grants,
    "const bound = request.isPublic ? request.jkt : undefined;",
    "const bound = undefined;",
    TOKENS,
  ],
  [
    "refresh-all-bound",
    grants,
    "const bound = request.isPublic ? request.jkt : undefined;",
    "const bound = request.jkt;",
    TOKENS,
  ],
  ["refresh-scope", grants, "if (beyond !== undefined)", 'if (beyond === "")', TOKENS],
  ["refresh-reuse", grants, "if (!kept) {", 'if (!kept && id === "") {', TOKENS],
  ["refresh-other-request", grants, "if (kept.request !== request.fingerprint)", 'if (kept.request === "")', TOKENS],
  ["refresh-same", grants, "if (isSameAnswer(kept, nowMs)) return answer;", "", TOKENS],
  ["refresh-not-kept", grants, "kept: [...stillKept(grant, kept.atMs), kept]", "kept: []", TOKENS],
  [
    "refresh-kept-minute",
    successors,
    "at === kept.length - 1 || nowMs - atMs < SAME_MS",
    "at === kept.length - 1",
    TOKENS,
  ],
  [
    "refresh-kept-newest",
    successors,
    "at === kept.length - 1 || nowMs - atMs < SAME_MS",
    "nowMs - atMs < SAME_MS",
    TOKENS,
  ],
  [
    "refresh-kept-always",
    successors,
    "at === kept.length - 1 || nowMs - atMs < SAME_MS",
    "at >= 0 || atMs === nowMs",
    TOKENS,
  ],
  ["refresh-same-always", successors, "return nowMs - atMs < SAME_MS;", "return nowMs >= atMs;", TOKENS],
  [
    "grant-expiry",
    grants,
    "return grant && Date.now() < grant.expiresAtMs ? grant : undefined;",
    "return grant;",
    TOKENS,
  ],
  ["revoke-foreign", grants, "if (this.get(id)?.client.id === clientId)", "if (clientId)", TOKENS],
  ["access-resource", verify, "terms.resource !== resource ||", "", TOKENS],
  [
    "access-live",
    verify,
    'if (!(await retryOnReset(() => server.users.call(object, "isLive", grant)))) return null;',
    "",
    TOKENS,
  ],
  ["access-bound", verify, "jkt === undefined ? {} : { cnf: { jkt } }", "{}", TOKENS],
  ["session-signed-out", user, "me.session === session &&", "", REQUESTS],
  [
    "user-sweep",
    user,
    "if (me && !hasGrants && me.sessionUntilMs <= Date.now()) this.#storage.kv.delete(ME);",
    "",
    TOKENS,
  ],
  [
    "credentials-secret",
    credentials,
    "secret === undefined || !(await isSecret(secret, client.secretHash))",
    "secret === undefined",
    TOKENS,
  ],
  [
    "credentials-none",
    credentials,
    "secret === undefined || !(await isSecret(secret, client.secretHash))",
    "secret !== undefined && !(await isSecret(secret, client.secretHash))",
    TOKENS,
  ],
  ["credentials-two", credentials, "if (basic && posted !== undefined)", 'if (basic && posted === "")', TOKENS],
  [
    "credentials-other-id",
    credentials,
    'if (basic && (form.get("client_id") ?? clientId) !== clientId)',
    'if (basic && clientId === "")',
    TOKENS,
  ],
  [
    "credentials-public-secret",
    credentials,
    'return secret === undefined ? { clientId, isPublic: true } : failed("The client has no secret.");',
    "return { clientId, isPublic: true };",
    TOKENS,
  ],
  ["form-twice", forms, "if (form.size !== parameters.size)", "if (form.size < 0)", TOKENS],
  ["form-length", forms, 'if (Number(request.headers.get("Content-Length")) > bytesMax)', "if (bytesMax < 0)", TOKENS],
  ["form-type", forms, "if (!/^application", "if (/^never/.test(type) && !/^application", TOKENS],
  ["upstream-twice", upstream, "this.#renewing ??= this.#renew()", "this.#renewing = this.#renew()", UPSTREAM],
  ["upstream-early", upstream, "upstreamExpiresAtMs - EARLY_MS", "upstreamExpiresAtMs", UPSTREAM],
  ["upstream-revoked", upstream, "if (this.#me.get()?.upstream === before.upstream) this.#me.end();", "", UPSTREAM],
  ["upstream-outage", upstream, "if (!isRevoked) {", "if (isRevoked === null) {", UPSTREAM],
  [
    "upstream-first-token",
    upstream,
    "me?.provider === provider && tokens.refreshToken === undefined",
    "me === undefined",
    UPSTREAM,
  ],
  ["upstream-unchecked", upstream, "Date.now() - me.checkedAtMs >= CHECK_MS", "false", UPSTREAM],
  ["upstream-checked-often", upstream, "Date.now() - me.checkedAtMs >= CHECK_MS", "true", UPSTREAM],
  [
    "upstream-grant",
    user,
    'this.#grants.get(grant) ? this.#upstream.tokens() : { problem: "revoked" }',
    "this.#upstream.tokens()",
    UPSTREAM,
  ],
  [
    "document-https",
    documents,
    'if (protocol !== "https:" && !isHere)',
    'if (protocol === "ftp:" && !isHere)',
    CLIENTS,
  ],
  [
    "document-user",
    documents,
    'if (username !== "" || password !== "" || id.includes("#"))',
    'if (password !== "")',
    CLIENTS,
  ],
  ["document-form", documents, 'if (pathname === "/" || href !== id)', "if (href === undefined || !pathname)", CLIENTS],
  ["document-long", documents, "id.length > URL_MAX ||", "", CLIENTS],
  ["document-id", documents, "if (client_id !== id)", "if (client_id === undefined)", CLIENTS],
  [
    "document-secret",
    documents,
    "if (document.client_secret !== undefined)",
    "if (document.client_secret === null)",
    CLIENTS,
  ],
  ["document-method", documents, "if (!isPublic(document))", "if (isPublic(document) === null)", CLIENTS],
  ["document-methods", documents, '|| (Array.isArray(all) && all.includes("none"))', "", CLIENTS],
  ["document-redirects-max", documents, "|| redirect_uris.length > REDIRECTS_MAX", "", CLIENTS],
  [
    "document-redirects",
    documents,
    "redirect_uris.filter((uri) => findRedirectProblem(uri, schemes) === undefined)",
    "redirect_uris.filter((uri) => uri)",
    CLIENTS,
  ],
  ["document-status", documents, "if (response.status !== 200)", "if (response.status === 404)", CLIENTS],
  ["document-kept", documents, "if (kept && Date.now() < kept.untilMs) return kept.client;", "", CLIENTS],
  ["client-registration-off", clients, "if (!this.#canRegister) return undefined;", "", CLIENTS],
  ["client-registration-late", clients, "|| registered.expiresAtMs <= Date.now()", "", CLIENTS],
  [
    "registration-redirects",
    registration,
    "redirect_uris.length > REDIRECTS_MAX",
    "redirect_uris.length > 99",
    CLIENTS,
  ],
  ["registration-method", registration, "if (!METHODS.includes(method))", 'if (method === "")', CLIENTS],
  ["registration-grants", registration, "if (unsupported !== undefined)", "if (unsupported === null)", CLIENTS],
  ["name-hidden", names, 'name.replace(HIDDEN, "")', "name", CLIENTS],
  ["name-long", names, "[...clean].slice(0, NAME_MAX)", "[...clean]", CLIENTS],
];

export const AUTHORIZATION_SERVER: readonly Mutant[] = CHANGES.map(([id, file, find, replace, tests]) => {
  return { id: `as-${id}`, file, find, replace, tests };
});
