/**
 * The Content-Security-Policy of MCP Apps views.
 *
 * @module
 * @see io.modelcontextprotocol/ui, "UI Resource Format"
 */
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";

/** The hosts that a view requests access to, by purpose. */
export interface ViewHosts {
  readonly connect: readonly string[];
  readonly resource: readonly string[];
  readonly frame: readonly string[];
}

/** Matches a source that a policy may contain: a scheme and a host, without spaces, quotes and semicolons. */
const SOURCE = /^(https?|wss?):\/\/[\w.*-]+(:\d+)?$/;

/** Reads the hosts from `_meta` of a resource. Values that are not plain origins are omitted. */
export function readHosts(meta: unknown): ViewHosts {
  const ui = isObject(meta) && isObject(meta.ui) ? meta.ui : {};
  const csp: JsonObject = isObject(ui.csp) ? ui.csp : {};
  const sources = (value: unknown) =>
    (Array.isArray(value) ? value : []).filter((each): each is string => typeof each === "string" && SOURCE.test(each));
  return {
    connect: sources(csp.connectDomains),
    resource: sources(csp.resourceDomains),
    frame: sources(csp.frameDomains),
  };
}

/** Returns all hosts without duplicates. */
export function allHosts({ connect, resource, frame }: ViewHosts): readonly string[] {
  return [...new Set([...connect, ...resource, ...frame])];
}

const NONE: ViewHosts = { connect: [], resource: [], frame: [] };

/** Returns the document of a view, preceded by its policy. Without hosts, the view cannot load external resources. */
export function withPolicy(view: string, { connect, resource, frame }: ViewHosts = NONE): string {
  const resources = resource.join(" ");
  const policy = [
    "default-src 'none'",
    `script-src 'unsafe-inline' ${resources}`,
    `style-src 'unsafe-inline' ${resources}`,
    `img-src data: blob: ${resources}`,
    `font-src data: ${resources}`,
    `media-src data: blob: ${resources}`,
    `connect-src ${connect.join(" ") || "'none'"}`,
    `frame-src ${frame.join(" ") || "'none'"}`,
  ];
  // A policy only applies to elements after it, so it must precede the whole view.
  const head = `<!doctype html><meta http-equiv="Content-Security-Policy" content="${policy.join("; ")}">`;
  return head + view.replace(/^\s*<!doctype[^>]*>/i, "");
}
