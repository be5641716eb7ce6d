/**
 * What the consent page shows.
 *
 * @module
 */

import { type Html, html } from "../../look/html.ts";
import { type Destination, findPublisher, isImitation, type ShownClient } from "./client.ts";
import { fill, isolated } from "./html.ts";
import { clientName, type Scope, type Shown, scopeList } from "./parts.ts";

/** The data of the consent page. */
export interface ConsentData {
  /** The client that asks. */
  readonly client: ShownClient;
  /** The redirect URI of the request. Its host is shown. */
  readonly redirectUri: string;
  /** The scopes that the client will get, with your descriptions. */
  readonly scopes: readonly Scope[];
  /** The signed-in user, by name or address. */
  readonly user: string;
  /** The URL where another user can sign in. */
  readonly switchUrl?: string | undefined;
  /** The host of an allowed client with the same name: see `findLookAlike`. */
  readonly lookAlikeHost?: string | undefined;
  /** Where the form is sent. Its fields are `request`, `code`, and `decision`, which is `allow` or `deny`. */
  readonly action: string;
  /** The id of the pending request. */
  readonly request: string;
  /** The code of the form: `browser.codeFor(...)`. */
  readonly code: string;
  /** The `Set-Cookie` values to send. */
  readonly cookies?: readonly string[] | undefined;
}

/** Creates the part of the page below its heading. */
export function consentBody(data: ConsentData, { kind, host }: Destination, { name, texts }: Shown): Html {
  const { client, scopes, user, switchUrl, lookAlikeHost, action, request, code } = data;
  const shown = clientName(client, texts);
  const publisher = findPublisher(client.id);
  const warnings = [
    client.isVerified === true ? undefined : fill(texts.unverified),
    isImitation(client, name) ? fill(texts.imitation, { service: name }) : undefined,
    lookAlikeHost === undefined ? undefined : fill(texts.lookAlike, { host: html`<strong>${lookAlikeHost}</strong>` }),
    kind === "loopback" ? fill(texts.onThisComputer, { client: shown }) : undefined,
    kind === "scheme" ? fill(texts.byScheme, { client: shown, scheme: html`<code>${host}</code>` }) : undefined,
  ];
  const described = publisher && html`<dt>${texts.describedBy}</dt><dd>${publisher}</dd>`;
  const change = switchUrl && html` <a href="${switchUrl}">${texts.switchUser}</a>`;
  return html`<div class="note">${warnings.map((warning) => warning && html`<p>${warning}</p>`)}</div><dl><dt>${texts.returnsTo}</dt><dd><strong class="host">${host}</strong></dd>${described}<dt>${texts.signedInAs}</dt><dd>${isolated(user)}${change}</dd></dl><h2>${texts.scopes}</h2>${scopeList(scopes, fill(texts.noScopes, { service: name }))}<form method="post" action="${action}"><input type="hidden" name="request" value="${request}"><input type="hidden" name="code" value="${code}"><button name="decision" value="deny">${texts.deny}</button><button class="main" name="decision" value="allow">${texts.allow}</button></form>`;
}
