/**
 * The content of the consent page.
 *
 * @module
 */

import { type Html, html } from "../../look/html.ts";
import { type Destination, findPublisher, isImitation, type ShownClient } from "./client.ts";
import { fill, isolated } from "./html.ts";
import { clientName, type Shown, type ShownScope, scopeList } from "./parts.ts";

/** The data of the consent page. */
export interface ConsentData {
  /** The client that requests access. */
  readonly client: ShownClient;
  /** The redirect URI of the request, whose host is shown. */
  readonly redirectUri: string;
  /** The scopes that the client will receive, with the descriptions of the author. */
  readonly scopes: readonly ShownScope[];
  /** The name or e-mail address of the signed-in user. */
  readonly user: string;
  /** The URL where another user can sign in. */
  readonly switchUrl?: string | undefined;
  /** The host of an allowed client with a name that looks the same: see `findLookAlike`. */
  readonly lookAlikeHost?: string | undefined;
  /** The URL to which the form is sent. Its fields are `request`, `code`, and `decision`, which is `allow` or `deny`. */
  readonly action: string;
  /** The id of the pending request. */
  readonly request: string;
  /** The code that `codeFor()` of the browser returns for this form. */
  readonly code: string;
  /** The `Set-Cookie` values to send. */
  readonly cookies?: readonly string[] | undefined;
}

/** Creates the content of the page after its heading. */
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
