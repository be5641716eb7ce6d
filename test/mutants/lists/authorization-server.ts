/** Changes to the authorization server. */
import type { Mutant } from "../mutant.ts";

const REQUESTS = ["test/worker/authorization-requests.test.ts"];
const TOKENS = ["test/worker/token-endpoint.test.ts"];
const CLIENTS = ["test/worker/client-documents.test.ts"];
const UPSTREAM = ["test/worker/upstream-tokens.test.ts"];
const ATTACKS = ["test/worker/authorization-attacks.test.ts"];
const ROWS = ["test/conformance/authorization-server.test.ts"];
const RATES = ["test/worker/authorization-rates.test.ts"];
const LOGINS = ["test/worker/oauth/login-attempts.test.ts"];

const folder = "src/authorization-server/";
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
const loads = `${folder}document-loads.ts`;
const clients = `${folder}clients.ts`;
const registration = `${folder}registration.ts`;
const forms = `${folder}forms.ts`;
const names = `${folder}names.ts`;
const server = `${folder}authorization-server.ts`;
const rates = `${folder}rates.ts`;

type Change = readonly [id: string, file: string, find: string, replace: string, tests: readonly string[]];

const CHANGES: readonly Change[] = [
  ["request-length", request, "if (length > QUERY_MAX)", "if (length > QUERY_MAX * 9)", REQUESTS],
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
    ATTACKS,
  ],
  ["consent-late", authorize, "|| Date.now() >= question.untilMs", "", REQUESTS],
  ["consent-denied", authorize, 'if (form.get("decision") !== "allow")', 'if (form.get("decision") === "")', REQUESTS],
  ["consent-beyond", authorize, "[...asked].filter((scope) => offered.includes(scope))", "[...asked]", REQUESTS],
  ["consent-silent", authorize, 'if (isSilent) return deny(visit, request, "login_required");', "", REQUESTS],
  ["consent-iss", authorize, "code, state, iss: issuer", "code, state", ROWS],
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
  ["sign-in-state", session, "pending.state !== state ||", "", ATTACKS],
  ["sign-in-late", session, "|| Date.now() >= pending.untilMs", "", REQUESTS],
  ["code-hash", grants, "|| code?.hash !== (await hashOf(secret))", "", ATTACKS],
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
    ATTACKS,
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
  ["refresh-not-kept", grants, "return [...stillKept(grant, kept.atMs), kept];", "return [];", TOKENS],
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
  ["access-resource", verify, "terms.resource !== resource ||", "", ATTACKS],
  [
    "access-live",
    verify,
    'if (!(await retryOnReset(() => server.users.call(object, "isLive", grant)))) return null;',
    "",
    TOKENS,
  ],
  ["access-bound", verify, "jkt === undefined ? {} : { cnf: { jkt } }", "{}", TOKENS],
  ["session-signed-out", user, "me.session === session &&", "", ATTACKS],
  ["user-sweep", user, "if (!me || (!hasGrants && Date.now() >= me.sessionUntilMs)) this.#end();", "", ATTACKS],
  ["user-database-left", user, "return this.#storage.deleteAll();", "return;", ATTACKS],
  ["user-deleted-early", user, "Math.max(...this.#grants.expiries(), me.sessionUntilMs)", "me.sessionUntilMs", ATTACKS],
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
  ["form-length", forms, "if (bytes > bytesMax)", "if (bytes < 0)", TOKENS],
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
    ATTACKS,
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
  ["document-kept", documents, "this.#clients.get(id) ?? this.#failures", "this.#failures", CLIENTS],
  ["client-registration-off", clients, "if (!this.#canRegister) return undefined;", "", ATTACKS],
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
  ["name-hidden", names, "plain(name, NAME_MAX)", "name.slice(0, NAME_MAX)", CLIENTS],
  ["name-long", names, "plain(name, NAME_MAX)", "plain(name, 9_999)", CLIENTS],
  ["open-redirector", authorize, 'client.source === "author" || !isElsewhere', "isElsewhere || !isElsewhere", ATTACKS],
  ["request-rewritten", request, "Math.max(search.length, String(searchParams).length)", "search.length", ATTACKS],
  ["scope-inherited", authorize, "Object.hasOwn(server.scopes, scope)", "scope in server.scopes", ATTACKS],
  [
    "grants-room",
    grants,
    "[...byClient.values()].toSorted((one, other) => other.length - one.length)",
    "[stored]",
    ATTACKS,
  ],
  ["revoked-meanwhile", grants, 'if (!this.get(id)) return invalid("The grant was revoked.");', "", ATTACKS],
  [
    "claims-too-long",
    grants,
    "if (answer.access_token.length > TEXT_MAX)",
    "if (answer.access_token.length < 1)",
    ATTACKS,
  ],
  ["callback-method", signIn, 'if (request.method !== "GET")', 'if (request.method === "")', ATTACKS],
  ["proxy-request", server, "origin === issuer ? request : new Request(url, request)", "request", ATTACKS],
  ["proxy-resource", server, "(options.issuer === undefined ? undefined : issuer + path)", "undefined", ATTACKS],
  ["proxy-rebinding", server, "isLocal && !isLoopback(splitUrl(url).hostname) ? undefined : issuer", "issuer", ATTACKS],
  ["rates-not-counted", rates, "const rate = kind && rates[kind];", "const rate = undefined;", RATES],
  ["rates-preflight", rates, 'if (!rate || request.method === "OPTIONS")', "if (!rate)", RATES],
  ["rates-one-counter", rates, "`OAuth ${kind}`", '"OAuth"', RATES],
  ["rates-without-time", rates, '429, { "Retry-After": String(seconds) }', "429, {}", RATES],
  ["attempts-of-network", rates, "(await add(networkName(request), rates.network)) ??", "", LOGINS],
  ["attempts-of-account", rates, "(await add(`account ${spellingOf(account)}`, rates.account))", "undefined", LOGINS],
  ["attempts-in-another-case", rates, ".toLowerCase()", "", LOGINS],
  ["attempts-in-another-width", rates, '.normalize("NFKC")', "", LOGINS],
  ["attempts-with-spaces", rates, '.replace(/[\\s\\p{Cf}]/gu, "")', "", LOGINS],
  ["login-too-old", `${folder}identity/own-login.ts`, "if (host) return host.showExpired();", "", LOGINS],
  ["document-of-nobody", loads, "waitUntil(outcome.catch(() => undefined));", "", CLIENTS],
  [
    "documents-of-a-network",
    loads,
    "each.network === network).length >= NETWORK_MAX",
    "false).length >= NETWORK_MAX",
    CLIENTS,
  ],
  ["documents-of-a-host", loads, "each.host === host).length >= HOST_MAX", "false).length >= HOST_MAX", CLIENTS],
  [
    "documents-and-failures",
    documents,
    "this.#failures.set(id, client)",
    "this.#clients.set(id, client as never)",
    CLIENTS,
  ],
  [
    "documents-of-one-host-go-first",
    `${folder}kept-documents.ts`,
    "const [most = []] = [...byHost.values()]",
    "const [most = []] = [[...this.#kept]]",
    CLIENTS,
  ],
  [
    "turns-of-cancelled-requests",
    "src/core/basics/turns.ts",
    "silent = turn.beats === beats ? silent + 1 : 0;",
    "",
    ["test/worker/cancelled-requests.test.ts"],
  ],
  ["turns-without-beats", "src/core/basics/turns.ts", "turn.beats += 1;", "", ["test/client/oauth/turns.test.ts"]],
];

export const AUTHORIZATION_SERVER: readonly Mutant[] = CHANGES.map(([id, file, find, replace, tests]) => {
  return { id: `as-${id}`, file, find, replace, tests };
});
