/**
 * Elements that several pages share.
 *
 * @module
 */

import { type Html, html } from "../../look/html.ts";
import { findDestination, type ShownClient } from "./client.ts";
import { fill, isolated, plain } from "./html.ts";
import type { PageTexts } from "./texts.ts";

/** A scope as the pages display it. */
export interface ShownScope {
  /** The name of the scope in requests and tokens. */
  readonly name: string;
  /** The description for users. @default the name */
  readonly description?: string | undefined;
}

/** A client that the user has allowed. */
export interface AllowedClient {
  /** The id of the entry, which the form contains. */
  readonly id: string;
  /** The client. */
  readonly client: ShownClient;
  /** The redirect URI of the newest grant. */
  readonly redirectUri: string;
  /** The scopes of the client. */
  readonly scopes: readonly ShownScope[];
  /** When the user allowed it, in milliseconds since 1970. */
  readonly sinceMs: number;
}

/** The name of the service, and the wording of the author. */
export interface Shown {
  readonly name: string;
  readonly texts: PageTexts;
}

/** Returns the name of a client, sanitized so that it cannot change how the text around it is displayed. */
export function clientName({ name = "" }: ShownClient, texts: PageTexts): Html {
  return plain(name) === "" ? html`${texts.nameless}` : isolated(name);
}

/** Returns a list of scopes. @param none The text for an empty list. */
export function scopeList(scopes: readonly ShownScope[], none: Html): Html {
  const items = scopes.map(({ name, description }) => html`<li>${description ?? isolated(name)}</li>`);
  return html`<ul>${items.length > 0 ? items : html`<li>${none}</li>`}</ul>`;
}

/** Returns the list of allowed clients. @param form Returns the form with the button of an entry. */
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
