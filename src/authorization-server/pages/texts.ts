/**
 * The wording of the pages. The texts are plain text with placeholders such as `{service}`.
 *
 * @module
 */

/** The texts of the pages, which can be replaced for another language or tone. */
export interface PageTexts {
  /** The language of the texts, as in the `lang` attribute. */
  readonly language: string;
  /** The heading of the sign-in page. Placeholder: `service`. */
  readonly signIn: string;
  /** Names the client that requests access. Placeholders: `client`, `host`. */
  readonly signInFor: string;
  /** The link to an identity provider. Placeholder: `provider`. */
  readonly continueWith: string;
  /** The heading of the consent page. Placeholders: `client`, `service`. */
  readonly consent: string;
  /** Warns that the client has chosen its name itself. */
  readonly unverified: string;
  /** Shown as the name of a client without a name. */
  readonly nameless: string;
  /** Introduces the host to which the browser returns. */
  readonly returnsTo: string;
  /** Explains a redirect to a program on this computer. Placeholder: `client`. */
  readonly onThisComputer: string;
  /** Explains a redirect to an app by its scheme. Placeholders: `client`, `scheme`. */
  readonly byScheme: string;
  /** Introduces the host that published the client's metadata. */
  readonly describedBy: string;
  /** Warns about a client with the same name as another client that the user has allowed. Placeholder: `host`. */
  readonly lookAlike: string;
  /** Warns about a client whose name contains the name of the service. Placeholder: `service`. */
  readonly imitation: string;
  /** Introduces the signed-in user. */
  readonly signedInAs: string;
  /** The link to sign in as another user. */
  readonly switchUser: string;
  /** Introduces the scopes. */
  readonly scopes: string;
  /** Shown if no scopes are requested. Placeholder: `service`. */
  readonly noScopes: string;
  /** The button that allows the access. */
  readonly allow: string;
  /** The button that denies the access. */
  readonly deny: string;
  /** The heading of the list of allowed clients. Placeholder: `service`. */
  readonly allowed: string;
  /** Shown if no client is allowed. */
  readonly noneAllowed: string;
  /** The date since which a client has been allowed. Placeholder: `date`. */
  readonly since: string;
  /** The button that revokes the access of a client. Placeholder: `client`. */
  readonly revoke: string;
  /** The button that signs out. */
  readonly signOut: string;
  /** The heading of the page after signing out. */
  readonly signedOut: string;
  /** Explains that clients keep their access. Placeholder: `service`. */
  readonly signedOutMeaning: string;
  /** The heading of the page that leads back to the client. */
  readonly returning: string;
  /** The link to the client. Placeholder: `host`. */
  readonly continueTo: string;
  /** The heading of all error pages. */
  readonly failed: string;
  /** The link that starts the sign-in again. */
  readonly tryAgain: string;
  /** The sign-in took too long, or was started in another browser. */
  readonly expired: string;
  /** A form was not sent from a page in this browser. */
  readonly formRefused: string;
  /** The user or the identity provider has declined the sign-in. */
  readonly declined: string;
  /** The user is not admitted. Placeholders: `user`, `service`. */
  readonly notAdmitted: string;
  /** The identity provider does not respond. */
  readonly unavailable: string;
  /** The request of the client is invalid, so the browser does not return to the client. */
  readonly requestInvalid: string;
  /** The request of the client was refused. A link to the client follows. */
  readonly refused: string;
  /** A rate was exceeded. */
  readonly tooMany: string;
  /** The page does not exist. */
  readonly notFound: string;
  /** An internal error of the server. */
  readonly broken: string;
  /** Introduces a detail for troubleshooting. Placeholder: `detail`. */
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
  returnsTo: "After your decision, you go to",
  onThisComputer:
    "This is a program on this computer. Any program on it could call itself {client}. Allow it only if you have just started the sign-in yourself.",
  byScheme:
    "An app on this device opens links that begin with {scheme}. Other apps could do so too. Allow it only if you have just started the sign-in yourself.",
  describedBy: "The app is described by",
  lookAlike: "You have allowed another app with this name before. That app returns to {host}.",
  imitation: "The name contains “{service}”. That does not mean that {service} made the app.",
  signedInAs: "You are signed in as",
  switchUser: "Use another account",
  scopes: "It will be able to:",
  noScopes: "Use {service} on your behalf",
  allow: "Allow",
  deny: "Deny",
  allowed: "Apps that may use {service} on your behalf",
  noneAllowed: "You have not allowed any app.",
  since: "Allowed since {date}",
  revoke: "Revoke access of {client}",
  signOut: "Sign out",
  signedOut: "You are signed out",
  signedOutMeaning: "Apps that you have allowed keep their access to {service} until you revoke it.",
  returning: "You can return to the app",
  continueTo: "Continue to {host}",
  failed: "That did not work",
  tryAgain: "Try again",
  expired: "This sign-in took too long, or was started in another browser. Start again in the app.",
  formRefused:
    "The form was not sent from this browser's own page. Nothing was changed. Go back, reload, and try again.",
  declined: "You were not signed in. Try again, or close this page.",
  notAdmitted: "You are signed in as {user}, but this account is not allowed to use {service}.",
  unavailable: "The service that signs you in does not respond. Try again in a few minutes.",
  requestInvalid: "The app sent an invalid request, so you are not sent back to it.",
  refused: "The app sent a request that cannot be fulfilled. If you know the site below, you can go back to it.",
  tooMany: "There were too many attempts. Wait a few minutes, then try again.",
  notFound: "This page does not exist.",
  broken: "Something went wrong on the server. Try again.",
  detail: "Detail: {detail}",
};
