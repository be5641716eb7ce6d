/**
 * mcp-edge/worker/token-store: a Durable Object that stores the tokens of MCP clients that run in Workers.
 *
 * @example
 * ```ts
 * import { hostedRedirect, oauth, objectStore } from "mcp-edge/client/oauth";
 * import { OAuthStoreObject } from "mcp-edge/worker/token-store";
 *
 * export class TokenObject extends OAuthStoreObject {}
 *
 * export const authOf = (tokens: DurableObjectNamespace<TokenObject>, user: string) =>
 *   oauth({ redirect: hostedRedirect("https://app.example.com/callback"), store: objectStore(tokens.getByName(user)) });
 * ```
 *
 * @module
 */

export { OAuthStoreObject } from "./store-object.ts";
