/**
 * Reads the option `use` of `edge()`: sorts what it lists into the parts of the kit, plugins and middleware.
 *
 * @module
 */
import type { MiddlewareHandler } from "hono";
import { quote } from "../core/basics/quote.ts";
import { describeType } from "../core/protocol/errors.ts";
import { isObject } from "../core/protocol/jsonrpc.ts";
import type { ObjectPlace, PlaceOptions } from "./bindings.ts";
import type {
  HonoEnv,
  KeysPart,
  NotificationsPart,
  OncePart,
  PagePart,
  Part,
  RoutesPart,
  SessionsPart,
  TasksPart,
} from "./parts.ts";
import type { Plugin, Use } from "./plugin.ts";
import type { Problem } from "./problems.ts";
import type { ReplayPart } from "./runtime.ts";

/** The parts of the kit that an endpoint has, by their slot. */
export interface Slots<Env> {
  readonly sessions?: SessionsPart<Env, object>;
  readonly httpSse?: RoutesPart;
  readonly page?: PagePart;
  readonly notifications?: NotificationsPart<Env, object>;
  readonly keys?: KeysPart<Env, object>;
  readonly once?: OncePart<Env, object>;
  readonly tasks?: TasksPart<Env, object, object>;
  readonly replay?: ReplayPart;
}

/** What the option `use` lists. */
export interface Used<Env> extends Slots<Env> {
  readonly plugins: readonly Plugin<Env>[];
  readonly middleware: readonly MiddlewareHandler<HonoEnv<Env>>[];
  readonly place: ObjectPlace;
  readonly problems: readonly Problem[];
}

/** Sorts what the option `use` lists. */
export function readUse<Env>(use: unknown = []): Used<Env> {
  const problems: Problem[] = [];
  const wrong = (text: string) => problems.push(`[option-invalid] edge(): use${text}`);
  const plugins: Plugin<Env>[] = [];
  const middleware: MiddlewareHandler<HonoEnv<Env>>[] = [];
  const slots: Record<string, Part<Env>> = {};
  if (!Array.isArray(use)) wrong(` is ${describeType(use)}; write a list.`);
  ([use].flat() as Use<Env>[]).forEach((each, at) => {
    if (typeof each === "function") {
      // A plugin that was not called is a function too, and would take every request.
      if (each.length < 2) wrong(`[${at}] is a function without (context, next); ${WRITE}`);
      middleware.push(each);
    } else if (!isObject(each as unknown) || !each.slot) {
      // Only the type is named, because clients receive this text and the value may be a misplaced secret.
      if (Array.isArray(use)) wrong(`[${at}] is ${describeType(each)}; ${WRITE}`);
    } else if (each.slot === "plugin") plugins.push(each);
    else {
      if (slots[each.slot]) wrong(` has two values for ${each.slot}; write one.`);
      slots[each.slot] = each;
    }
  });
  const { durable, place, ...own } = slots;
  const parts = durable?.slot === "durable" ? durable.parts : [];
  const all = { ...Object.fromEntries(parts.map((part) => [part.slot, part])), ...own } as Slots<Env> & {
    readonly place?: PlaceOptions;
  };
  if (all.httpSse && !all.sessions) wrong(": httpSse() needs sessions().");
  return {
    ...all,
    plugins,
    middleware,
    problems,
    place: toPlace((place as PlaceOptions | undefined) ?? all.place, wrong),
  };
}

const WRITE = "write a plugin such as durable(), or Hono middleware.";

const CLASS_NAME = "McpObject";

function toPlace(
  { className = CLASS_NAME, binding, jurisdiction, locationHint }: PlaceOptions = {},
  wrong: (text: string) => void,
): ObjectPlace {
  if (!/^[A-Za-z_$][\w$]*$/.test(className))
    wrong(`: className is ${quote(String(className))}; write the name of a class.`);
  return { className, binding: binding ?? (className === CLASS_NAME ? "MCP" : undefined), jurisdiction, locationHint };
}
