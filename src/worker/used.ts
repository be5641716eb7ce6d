/**
 * Reads the option `use` of `edge()` and sorts its entries into parts of this package, plugins and middleware.
 *
 * @module
 */
import type { MiddlewareHandler } from "hono";
import { quote } from "../core/basics/quote.ts";
import { describeType } from "../core/protocol/errors.ts";
import { isObject } from "../core/protocol/jsonrpc.ts";
import type { ObjectReference, ObjectsOptions } from "./bindings.ts";
import type {
  AnyPart,
  HonoEnv,
  HttpSsePart,
  KeysPart,
  NotificationsPart,
  ObjectsPart,
  OncePart,
  PagePart,
  SessionsPart,
  TasksPart,
} from "./parts.ts";
import type { Plugin } from "./plugin.ts";
import type { Problem } from "./problems.ts";
import type { ReplayPart } from "./services.ts";

/** The parts of an endpoint, by slot. */
export interface Slots<Env> {
  readonly sessions?: SessionsPart<Env>;
  readonly httpSse?: HttpSsePart;
  readonly page?: PagePart;
  readonly notifications?: NotificationsPart<Env>;
  readonly keys?: KeysPart<Env>;
  readonly once?: OncePart<Env>;
  readonly tasks?: TasksPart<Env>;
  readonly replay?: ReplayPart;
}

/** The sorted entries of the option `use`. */
export interface Used<Env> extends Slots<Env> {
  readonly plugins: readonly Plugin<Env>[];
  readonly middleware: readonly MiddlewareHandler<HonoEnv<Env>>[];
  readonly reference: ObjectReference;
  readonly problems: readonly Problem[];
}

/** Sorts the entries of the option `use`. */
export function readUse<Env>(use: unknown = []): Used<Env> {
  const problems: Problem[] = [];
  const wrong = (text: string) => problems.push(`[option-invalid] edge(): use${text}`);
  const plugins: Plugin<Env>[] = [];
  const middleware: MiddlewareHandler<HonoEnv<Env>>[] = [];
  const slots: Record<string, AnyPart<Env>> = {};
  if (!Array.isArray(use)) wrong(` is ${describeType(use)}; write a list.`);
  const entries = [use].flat() as (Plugin<Env> | AnyPart<Env> | MiddlewareHandler<HonoEnv<Env>>)[];
  entries.forEach((each, at) => {
    if (typeof each === "function") {
      // A plugin that was not called is a function too, and as middleware it would handle all requests.
      if (each.length < 2) wrong(`[${at}] is a function without (context, next); ${WRITE}`);
      middleware.push(each);
    } else if (!isObject(each as unknown) || !each.slot) {
      // Only the type is named, because clients receive this message and the value may be a misplaced secret.
      if (Array.isArray(use)) wrong(`[${at}] is ${describeType(each)}; ${WRITE}`);
    } else if (each.slot === "plugin") plugins.push(each);
    else {
      if (slots[each.slot]) wrong(` has two values for ${each.slot}; write one.`);
      slots[each.slot] = each;
    }
  });
  const { durable, ...own } = slots;
  const contained =
    durable?.slot === "durable" ? Object.fromEntries(durable.parts.map((part) => [part.slot, part])) : {};
  // Any other part that is listed beside durable() replaces the same part of durable().
  if (own.objects && contained.objects) wrong(": write objects() as options of durable().");
  const all = { ...contained, ...own } as Slots<Env> & { readonly objects?: ObjectsPart };
  if (all.httpSse && !all.sessions) wrong(": httpSse() needs sessions().");
  return { ...all, plugins, middleware, problems, reference: toReference(all.objects, wrong) };
}

const WRITE = "write a plugin such as durable(), or Hono middleware.";

const CLASS_NAME = "McpObject";

function toReference(
  { className = CLASS_NAME, binding, jurisdiction, locationHint }: ObjectsOptions = {},
  wrong: (text: string) => void,
): ObjectReference {
  if (!/^[a-z_$][\w$]*$/i.test(className))
    wrong(`: className is ${quote(String(className))}; write the name of a class.`);
  return { className, binding: binding ?? (className === CLASS_NAME ? "MCP" : undefined), jurisdiction, locationHint };
}
