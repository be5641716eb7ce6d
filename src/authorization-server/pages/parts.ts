/**
 * Parts that several pages have.
 *
 * @module
 */

import { type Html, html } from "../../look/html.ts";
import { findDestination, type ShownClient } from "./client.ts";
import { fill, isolated, plain } from "./html.ts";
import type { PageTexts } from "./texts.ts";

/** A scope as pages show it. */
export interface Scope {
  /** The name in requests and tokens. */
  readonly name: string;
  /** Your description for users. @default the name */
  readonly description?: string | undefined;
}

/** A client that the user has allowed. */
export interface AllowedClient {
  /** The id of the entry, which the form sends. */
  readonly id: string;
  /** The client. */
  readonly client: ShownClient;
  /** The redirect URI that was used last. */
  readonly redirectUri: string;
  /** What it may do. */
  readonly scopes: readonly Scope[];
  /** When the user allowed it, in milliseconds since 1970. */
  readonly sinceMs: number;
}

/** The name of the service, and the wording of the author. */
export interface Shown {
  readonly name: string;
  readonly texts: PageTexts;
}

/** The name of a client, which cannot change how the text around it is shown. */
export function clientName({ name = "" }: ShownClient, texts: PageTexts): Html {
  return plain(name) === "" ? html`${texts.nameless}` : isolated(name);
}

/** A list of scopes. @param none Shown if there are none. */
export function scopeList(scopes: readonly Scope[], none: Html): Html {
  const items = scopes.map(({ name, description }) => html`<li>${description ?? isolated(name)}</li>`);
  return html`<ul>${items.length > 0 ? items : html`<li>${none}</li>`}</ul>`;
}

/** The list of allowed clients. @param form Returns the form with a button for an entry. */
export function listEntries(
  clients: readonly AllowedClient[],
  { texts, name: service }: Shown,
  form: (id: string, label: Html) => Html,
): Html {
  if (clients.length === 0) return html`<p>${texts.noneAllowed}</p>`;
  const entries = clients.map(({ id, client, redirectUri, scopes, sinceMs }) => {
    const name = clientName(client, texts);
    const date = new Date(sinceMs).toISOString().slice(0, 10);
    const since = fill(texts.since, { date: html`<time datetime="${date}">${date}</time>` });
    const list = scopeList(scopes, fill(texts.noScopes, { service }));
    return html`<section class="entry"><h2>${name}</h2><p><strong>${findDestination(redirectUri)?.host}</strong><br>${since}</p>${list}${form(id, fill(texts.revoke, { client: name }))}</section>`;
  });
  return html`${entries}`;
}
