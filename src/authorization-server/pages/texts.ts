/**
 * The wording of the pages. Every text is plain text, in which places such as `{service}` are filled.
 *
 * @module
 */

/** The texts of the pages, for another language or another tone. */
export interface PageTexts {
  /** The language of the texts, as in the `lang` attribute. */
  readonly language: string;
  /** The heading of the sign-in page. Place: `service`. */
  readonly signIn: string;
  /** Says who asked for the sign-in. Places: `client`, `host`. */
  readonly signInFor: string;
  /** The link to a provider. Place: `provider`. */
  readonly continueWith: string;
  /** The heading of the consent page. Places: `client`, `service`. */
  readonly consent: string;
  /** Marks what a client says about itself. */
  readonly unverified: string;
  /** The name of a client that has none. */
  readonly nameless: string;
  /** Introduces the host to which the browser returns. */
  readonly returnsTo: string;
  /** Explains a redirect to a program on this computer. Place: `client`. */
  readonly onThisComputer: string;
  /** Explains a redirect to an app by its scheme. Places: `client`, `scheme`. */
  readonly byScheme: string;
  /** Introduces the host that published the client's metadata. */
  readonly describedBy: string;
  /** Warns about a client with the name of another one that the user has allowed. Place: `host`. */
  readonly lookAlike: string;
  /** Warns about a client whose name contains that of the service. Place: `service`. */
  readonly imitation: string;
  /** Introduces the signed-in user. */
  readonly signedInAs: string;
  /** The link to sign in as another user. */
  readonly switchUser: string;
  /** Introduces the scopes. */
  readonly scopes: string;
  /** Shown in place of scopes if there are none. Place: `service`. */
  readonly noScopes: string;
  /** The button that allows. */
  readonly allow: string;
  /** The button that denies. */
  readonly deny: string;
  /** The heading of the list of allowed clients. Place: `service`. */
  readonly allowed: string;
  /** Shown if no client is allowed. */
  readonly noneAllowed: string;
  /** Says since when a client is allowed. Place: `date`. */
  readonly since: string;
  /** The button that revokes. Place: `client`. */
  readonly revoke: string;
  /** The button that signs out. */
  readonly signOut: string;
  /** The heading after signing out. */
  readonly signedOut: string;
  /** What signing out means. Place: `service`. */
  readonly signedOutMeaning: string;
  /** The heading while the browser returns to the client. */
  readonly returning: string;
  /** The link to the client. Place: `host`. */
  readonly continueTo: string;
  /** The heading of every error. */
  readonly failed: string;
  /** The link that begins the sign-in again. */
  readonly tryAgain: string;
  /** The sign-in took too long, or was begun in another browser. */
  readonly expired: string;
  /** A form was not sent by the page of this browser. */
  readonly formRefused: string;
  /** The user, or the identity provider, declined. */
  readonly declined: string;
  /** The user may not use the service. Places: `user`, `service`. */
  readonly notAdmitted: string;
  /** The identity provider does not answer. */
  readonly unavailable: string;
  /** The request of the client is not valid. */
  readonly requestInvalid: string;
  /** The request of the client cannot be served. A link to the client follows. */
  readonly refused: string;
  /** A rate is reached. */
  readonly tooMany: string;
  /** Nothing is here. */
  readonly notFound: string;
  /** An error of the server. */
  readonly broken: string;
  /** Introduces a detail for the person who looks for the cause. Place: `detail`. */
  readonly detail: string;
}

/** The English texts. */
export const TEXTS: PageTexts = {
  language: "en",
  signIn: "Sign in to {service}",
  signInFor: "{client} asks for access. You return to {host} afterwards.",
  continueWith: "Continue with {provider}",
  consent: "Allow {client} to use {service}?",
  unverified: "The app chose this name itself. Nobody has checked it.",
  nameless: "An app without a name",
  returnsTo: "After your answer you go to",
  onThisComputer:
    "This is a program on this computer. Every program on it could call itself {client}. Allow it only if you have just started the sign-in yourself.",
  byScheme:
    "An app on this device opens links that begin with {scheme}. Other apps could do so too. Allow it only if you have just started the sign-in yourself.",
  describedBy: "The app is described by",
  lookAlike: "You have allowed another app with this name before. That one returns to {host}.",
  imitation: "The name contains “{service}”. That does not mean that {service} made the app.",
  signedInAs: "You are signed in as",
  switchUser: "Use another account",
  scopes: "It will be able to:",
  noScopes: "Use {service} in your name",
  allow: "Allow",
  deny: "Deny",
  allowed: "Apps that may use {service} in your name",
  noneAllowed: "You have allowed no app.",
  since: "Allowed since {date}",
  revoke: "Revoke access of {client}",
  signOut: "Sign out",
  signedOut: "You are signed out",
  signedOutMeaning: "Apps that you have allowed keep their access to {service} until you revoke it.",
  returning: "You can return to the app",
  continueTo: "Continue to {host}",
  failed: "That did not work",
  tryAgain: "Try again",
  expired: "This sign-in took too long, or was begun in another browser. Begin again in the app.",
  formRefused:
    "The form was not sent from this browser's own page. Nothing was changed. Go back, reload, and try again.",
  declined: "You were not signed in. Try again, or close this page.",
  notAdmitted: "You are signed in as {user}, but this account may not use {service}.",
  unavailable: "The service that signs you in does not answer. Try again in a few minutes.",
  requestInvalid: "The app sent a request that is not valid, so you are not sent back to it.",
  refused: "The app sent a request that cannot be served. If you know the site below, you can go back to it.",
  tooMany: "That was tried too often. Wait a few minutes, then try again.",
  notFound: "There is no page here.",
  broken: "Something went wrong on the server. Try again.",
  detail: "Detail: {detail}",
};
