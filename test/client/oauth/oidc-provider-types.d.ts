/** The part of oidc-provider that the tests use. */
declare module "oidc-provider" {
  import type { IncomingMessage, ServerResponse } from "node:http";

  /** See the documentation of oidc-provider. */
  export type Configuration = object;

  interface Grant {
    addOIDCScope(scope: string): void;
    addResourceScope(resource: string, scope: string): void;
    save(): Promise<string>;
  }

  interface Token {
    readonly aud?: string;
    readonly jkt?: string;
  }

  interface Interaction {
    readonly prompt: { readonly name: string };
    readonly params: Readonly<Record<string, unknown>>;
    readonly session?: { readonly accountId?: string };
  }

  export default class Provider {
    constructor(issuer: string, configuration: Configuration);
    readonly Grant: new (options: {
      accountId: string;
      clientId: string;
    }) => Grant;
    readonly AccessToken: { find(token: string): Promise<Token | undefined> };
    readonly ClientCredentials: { find(token: string): Promise<Token | undefined> };
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>;
    on(event: string, listener: (context: { oidc: { params?: Record<string, unknown> } }) => void): void;
    interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<Interaction>;
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>;
  }
}
