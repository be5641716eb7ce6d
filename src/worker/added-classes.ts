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

/** The members that one entry of the option `use` adds to the app. */
export type AddedBy<Env, Entry> = ([Entry] extends [AddsClasses<{ readonly McpObject: unknown }>]
  ? WithMcpObject<Env>
  : unknown) &
  ([Entry] extends [AddsClasses<{ readonly McpTaskWorkflow: unknown }>] ? WithWorkflow : unknown);

/** The members that the entries of the option `use` add to the app. Entries of which the number is unknown add none. */
export type AddedClasses<Env, P extends readonly unknown[]> = P extends readonly [infer First, ...infer Rest]
  ? AddedBy<Env, First> & AddedClasses<Env, Rest>
  : P extends readonly [...infer Rest, infer Last]
    ? AddedClasses<Env, Rest> & AddedBy<Env, Last>
    : unknown;
