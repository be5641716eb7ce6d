/**
 * The classes that the entries of `use` add to the app, for the Worker to export. Types only.
 *
 * @module
 */
import type { WorkflowEntrypoint } from "cloudflare:workers";
import type { WithMcpObject } from "./object.ts";

declare const CLASSES: unique symbol;

/** An entry of the option `use` that adds classes to the app. */
export interface AddsClasses<Classes> {
  /** Declares the classes. Only the type has this member. */
  readonly [CLASSES]?: Classes;
}

/** A Workflow class as the Worker exports it. */
export type WorkflowClass = new (ctx: ExecutionContext, env: unknown) => WorkflowEntrypoint<unknown, unknown>;

/** The class that `workflows()` adds to the app, for the Worker to export. */
export interface WithWorkflow {
  /** The Workflow class: `export class McpTaskWorkflow extends app.McpTaskWorkflow {}`. */
  readonly McpTaskWorkflow: WorkflowClass;
}

/** Whether an entry of a list certainly adds classes. A list of unknown length does not. */
type Has<P extends readonly unknown[], Classes> = P extends readonly [infer First, ...infer Rest]
  ? [First] extends [AddsClasses<Classes>]
    ? true
    : Has<Rest, Classes>
  : P extends readonly [...infer Rest, infer Last]
    ? [Last] extends [AddsClasses<Classes>]
      ? true
      : Has<Rest, Classes>
    : false;

/** The members that the entries of the option `use` add to the app. */
export type AddedClasses<Env, P extends readonly unknown[]> = (Has<P, { readonly McpObject: unknown }> extends true
  ? WithMcpObject<Env>
  : unknown) &
  (Has<P, { readonly McpTaskWorkflow: unknown }> extends true ? WithWorkflow : unknown);
