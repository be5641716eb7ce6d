/**
 * The pages for sign-in and consent, in plain HTML without scripts. Each method is a pure function from data to a response.
 *
 * @module
 */

import { quote } from "../../core/basics/quote.ts";
import { checkOptions, type OptionTable } from "../../core/protocol/check-options.ts";
import { KitError } from "../../core/protocol/errors.ts";
import { type Brand, checkBrand, imageSource, isLink } from "../../look/brand.ts";
import { Html, html } from "../../look/html.ts";
import { type Destination, findDestination, type ShownClient } from "./client.ts";
import { type ConsentData, consentBody } from "./consent.ts";
import { fill, type HtmlPage, isolated, plain, respond } from "./html.ts";
import { type AllowedClient, clientName, listEntries } from "./parts.ts";
import { type PageTexts, TEXTS } from "./texts.ts";

/** The wording and links of the pages for sign-in and consent. */
export interface SignInPagesOptions {
  /** Your wording. Texts that you omit are in English. @default English */
  readonly texts?: Partial<PageTexts>;
  /** Links at the end of each page, such as to your privacy policy. Each URL is an `https:` URL or a path. @default none */
  readonly links?: readonly { readonly text: string; readonly url: string }[];
}

const OPTIONS: OptionTable<SignInPagesOptions> = { texts: null, links: null };

const TEXT_OPTIONS = Object.fromEntries(Object.keys(TEXTS).map((name) => [name, null]));

/** The error pages with their HTTP statuses. */
const STATUSES = {
  expired: 400,
  formRefused: 403,
  declined: 403,
  notAdmitted: 403,
  unavailable: 503,
  requestInvalid: 400,
  refused: 400,
  tooMany: 429,
  notFound: 404,
  broken: 500,
} as const satisfies Partial<Record<keyof PageTexts, number>>;

/** The error that a page shows. */
export type PageError = keyof typeof STATUSES;

/** The data of an error page. */
export interface ErrorData {
  /** The URL with which the user can try again. */
  readonly retryUrl?: string | undefined;
  /** The URL with which the user can continue, for `refused`. Its host is shown. */
  readonly continueUrl?: string | undefined;
  /** The user, for `notAdmitted`. */
  readonly user?: string | undefined;
  /** A text for troubleshooting. It may be untrusted. */
  readonly detail?: string | undefined;
}

/** The data of the sign-in page. */
export interface SignInData {
  /** The client that requests access, if any. */
  readonly client?: ShownClient | undefined;
  /** The redirect URI of the client. */
  readonly redirectUri?: string | undefined;
  /** The identity providers, each with the URL that starts a sign-in. */
  readonly providers: readonly { readonly label: string; readonly url: string }[];
  /** The `Set-Cookie` values to send. */
  readonly cookies?: readonly string[] | undefined;
}

/** The data of the list of allowed clients. */
export interface AllowedData {
  /** The name or e-mail address of the signed-in user. */
  readonly user: string;
  /** The clients that the user has allowed. */
  readonly clients: readonly AllowedClient[];
  /** The URL to which the forms are sent. Their fields are `code` and either `revoke` (the id of an entry) or `sign-out`. */
  readonly action: string;
  /** The code of the forms. */
  readonly code: string;
  /** The `Set-Cookie` values to send. */
  readonly cookies?: readonly string[] | undefined;
}

/** The pages for sign-in and consent. */
export interface SignInPages {
  /** Lets the user choose an identity provider. It has links and not forms, because Chromium would block redirects to providers. */
  signIn(data: SignInData): Response;
  /** Asks the user whether a client may have access. Returns an error page if its redirect URI must not be used. */
  consent(data: ConsentData): Response;
  /** Lists the clients that the user has allowed. */
  allowed(data: AllowedData): Response;
  /** Confirms that the user has signed out. */
  signedOut(cookies?: readonly string[]): Response;
  /**
   * Sends the browser to a client after a form. It is a page with an automatic refresh and not a redirect, because Chromium applies
   * the `form-action` of the page with the form to all redirects that follow, including redirects of the client. The page also
   * tells users of desktop apps that they can close it.
   */
  goTo(redirectUrl: string, cookies?: readonly string[]): Response;
  /** Shows an error. */
  error(error: PageError, data?: ErrorData): Response;
}

/** A brand with its name, which the pages require. */
type NamedBrand = Brand & { readonly name: string };

function checkPagesOptions(brand: Brand, options: SignInPagesOptions): void {
  checkOptions("authorizationServer(): pages: ", options, OPTIONS);
  const { name } = brand;
  const { links = [] } = options;
  checkOptions("authorizationServer(): pages.texts: ", options.texts ?? {}, TEXT_OPTIONS);
  if (typeof name !== "string" || plain(name) === "") throw invalid("name", name, "write the name of your service");
  checkBrand("authorizationServer(): ", brand);
  for (const { url } of links) if (!isLink(url)) throw invalid("pages.links", url, "write an https URL or a path");
}

/**
 * Creates the pages of an authorization server.
 *
 * @throws {KitError} `options-invalid` naming the option.
 */
export function signInPages(brand: NamedBrand, options: SignInPagesOptions = {}): SignInPages {
  checkPagesOptions(brand, options);
  const { name } = brand;
  const texts: PageTexts = { ...TEXTS, ...options.texts };
  const shown = { name, texts };
  const show = createLayout(brand, options, texts);
  const goOn = (href: string, { host }: Destination) =>
    html`<p><a href="${href}">${fill(texts.continueTo, { host })}</a></p>`;
  const error: SignInPages["error"] = (why, { retryUrl, continueUrl = "", user, detail } = {}) => {
    const text = fill(texts[why], { service: name, user: isolated(user ?? "") });
    const next = findDestination(continueUrl);
    const more =
      detail === undefined ? undefined : html`<p>${fill(texts.detail, { detail: isolated(detail, 300) })}</p>`;
    const retry = retryUrl === undefined ? undefined : html`<p><a href="${retryUrl}">${texts.tryAgain}</a></p>`;
    return show(fill(texts.failed), html`<p>${text}</p>${retry}${next && goOn(continueUrl, next)}${more}`, {
      status: STATUSES[why],
    });
  };
  return {
    signIn: ({ client, redirectUri, providers, cookies }) => {
      const destination = findDestination(redirectUri ?? "");
      const asked = { client: client && clientName(client, texts), host: html`<strong>${destination?.host}</strong>` };
      const why = client && destination ? html`<p>${fill(texts.signInFor, asked)}</p>` : undefined;
      const choices = providers.map(
        ({ label, url }) =>
          html`<li><a class="button" href="${url}">${fill(texts.continueWith, { provider: label })}</a></li>`,
      );
      const heading = fill(texts.signIn, { service: name });
      return show(heading, html`${why}<ul class="choice">${choices}</ul>`, { cookies });
    },
    consent: (data) => {
      const destination = findDestination(data.redirectUri);
      if (destination === undefined) return error("requestInvalid", { detail: "redirect_uri" });
      const client = clientName(data.client, texts);
      const heading = fill(texts.consent, { client, service: name });
      return show(heading, consentBody(data, destination, shown), { hasForms: true, cookies: data.cookies });
    },
    allowed: ({ user, clients, action, code, cookies }) => {
      const form = (field: string, value: string, label: Html) =>
        html`<form method="post" action="${action}"><input type="hidden" name="code" value="${code}"><button name="${field}" value="${value}">${label}</button></form>`;
      const entries = listEntries(clients, shown, (id, label) => form("revoke", id, label));
      const body = html`<p>${texts.signedInAs} ${isolated(user)}</p>${entries}${form("sign-out", "1", fill(texts.signOut))}`;
      return show(fill(texts.allowed, { service: name }), body, { hasForms: true, cookies });
    },
    signedOut: (cookies) => {
      const meaning = fill(texts.signedOutMeaning, { service: name });
      return show(fill(texts.signedOut), html`<p>${meaning}</p>`, { cookies });
    },
    goTo: (redirectUrl, cookies) => {
      const destination = findDestination(redirectUrl);
      if (destination === undefined) return error("requestInvalid", { detail: "redirect_uri" });
      const { href } = new URL(redirectUrl);
      const head = html`<meta http-equiv="refresh" content="0;url=${href}">`;
      return show(fill(texts.returning), goOn(href, destination), { head, cookies });
    },
    error,
  };
}

/** Returns the function that creates a page with the logo of the brand and the links of the options. */
function createLayout(brand: NamedBrand, { links = [] }: SignInPagesOptions, { language }: PageTexts) {
  const { name, logo } = brand;
  const header = logo === undefined ? undefined : html`<img src="${logo}" alt="${name}">`;
  const footer = links.map(({ text, url }) => html`<a href="${url}">${text}</a>`);
  return (heading: Html, body: Html, more: Partial<HtmlPage> = {}) =>
    respond({
      language,
      // Tags are removed from the title. The texts of the heading are escaped, so every "<" begins a tag.
      title: html`${name}: ${new Html(heading.toString().replace(/<[^>]*>/g, ""))}`,
      brand,
      imageSource: logo && imageSource(logo),
      ...more,
      body: html`${header}<h1>${heading}</h1>${body}${links.length > 0 ? html`<footer>${footer}</footer>` : undefined}`,
    });
}

function invalid(option: string, value: unknown, what: string): KitError {
  return new KitError("options-invalid", `authorizationServer(): ${option} is ${quote(String(value))}; ${what}.`);
}
