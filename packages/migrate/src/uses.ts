/**
 * What handlers do with the context of the old kits, and what the program does with a server: notifications, questions and logs.
 *
 * @module
 */
import { type CallExpression, Node, type PropertyAccessExpression, SyntaxKind } from "ts-morph";
import type { Migration } from "./context.ts";
import { memberOf, textOf } from "./object-parts.ts";
import { usesOf } from "./scopes.ts";
import { oldClass, rangeOf, type Unit, unwrap } from "./unit.ts";

/** Members of the old contexts, with their names in this kit. */
const MEMBERS: Readonly<Record<string, string>> = {
  signal: "signal",
  requestId: "requestId",
  _meta: "meta",
  id: "requestId",
  inputResponses: "inputResponses",
};

/** Migrates one access of a member of a context. Returns whether the node was one. */
export function migrateContext(migration: Migration, unit: Unit, access: PropertyAccessExpression): boolean {
  const receiver = access.getExpression();
  const owner = contextClass(migration, receiver);
  if (owner === undefined) return false;
  if (access.getName() === "mcpReq") return true;
  const base = owner === "mcpReq" && Node.isPropertyAccessExpression(receiver) ? receiver.getExpression() : receiver;
  const name = access.getName();
  if (Object.hasOwn(MEMBERS, name)) {
    unit.replace(access, (nested) => `${nested(rangeOf(base))}.${MEMBERS[name]}`);
    return true;
  }
  const call = access.getParent();
  if (Node.isCallExpression(call) && call.getExpression() === access && migrateCall(migration, unit, call, base, name))
    return true;
  if (name === "sessionId") {
    migration.topics.add("sessions");
    if (isDropped(access)) return true;
    unit.replace(access, "undefined");
    unit.todo(access, "Handlers have no session id, because modern clients have no sessions.");
  } else if (name === "authInfo" || name === "http") {
    migration.topics.add("props");
    migrateAuth(unit, access, (nested) => nested(rangeOf(base)));
  } else {
    unit.todo(access, `The context has no ${name}.`);
  }
  return true;
}

/** Whether an expression is a context, or the part of it that is called `mcpReq` in the SDK v2. */
function contextClass(migration: Migration, node: Node): "extra" | "mcpReq" | undefined {
  const known = oldClass(node);
  if (known === "extra" || known === "mcpReq") return known;
  if (migration.plans.isContext(node)) return "extra";
  const isPart = Node.isPropertyAccessExpression(node) && node.getName() === "mcpReq";
  return isPart && migration.plans.isContext(node.getExpression()) ? "mcpReq" : undefined;
}

/** Whether the session id is an argument that is dropped, such as the one of `sendLoggingMessage`. */
function isDropped(access: Node): boolean {
  const call = access.getParent();
  if (!Node.isCallExpression(call)) return false;
  const callee = call.getExpression();
  return Node.isPropertyAccessExpression(callee) && callee.getName() === "sendLoggingMessage";
}

/** Members of the old `authInfo` that have the same name and type in `ctx.auth`. */
const AUTH_MEMBERS = new Set(["clientId", "scopes"]);

/** Migrates `extra.authInfo` and `ctx.http?.authInfo` to `ctx.auth`, whose members differ. `base` is the text of the context. */
export function migrateAuth(unit: Unit, access: PropertyAccessExpression, base: Text): void {
  const parent = access.getParent();
  const isPart =
    access.getName() === "http" && Node.isPropertyAccessExpression(parent) && parent.getName() === "authInfo";
  const whole = isPart ? parent : access;
  unit.replace(whole, (nested) => `${base(nested)}.auth`);
  const member = whole.getParent();
  if (Node.isPropertyAccessExpression(member) && AUTH_MEMBERS.has(member.getName())) return;
  unit.todo(access, "ctx.auth has issuer, subject, scopes, claims and clientId, but not the token.");
}

function migrateCall(migration: Migration, unit: Unit, call: CallExpression, base: Node, name: string): boolean {
  const [first, second] = call.getArguments();
  switch (name) {
    case "sendNotification":
    case "notify":
      return migrateNotification(unit, call, first, base);
    case "log":
      unit.replace(
        call,
        (nested) =>
          `${nested(rangeOf(base))}.log(${call
            .getArguments()
            .map((each) => nested(rangeOf(each)))
            .join(", ")})`,
      );
      return true;
    case "elicitInput":
      return migrateElicit(migration, unit, call, (nested) => nested(rangeOf(base)));
    case "requestState": {
      const [type] = call.getTypeArguments();
      if (type && type.getText() !== "string") return false;
      unit.replace(call, (nested) => `${nested(rangeOf(base))}.requestState`);
      return true;
    }
    case "requestSampling":
      return migrateSample(migration, unit, call, first, (nested) => nested(rangeOf(base)));
    case "sendRequest":
    case "send": {
      const method = textOf(first, "method");
      const params = memberOf(first, "params");
      void second;
      if (method === "sampling/createMessage" && params)
        return migrateSample(migration, unit, call, params, (nested) => nested(rangeOf(base)));
      if (method === "elicitation/create" && params)
        return migrateElicit(migration, unit, call, (nested) => nested(rangeOf(base)), params);
      if (method === "roots/list") {
        unit.replace(call, (nested) => `(async () => ({ roots: await ${nested(rangeOf(base))}.listRoots() }))()`);
        return true;
      }
      return false;
    }
    default:
      return false;
  }
}

function migrateNotification(unit: Unit, call: CallExpression, message: Node | undefined, base: Node): boolean {
  const method = textOf(message, "method");
  const params = memberOf(message, "params");
  if (!params) return false;
  const part = (name: string) => memberOf(params, name);
  if (method === "notifications/progress") {
    const [progress, total, text] = [part("progress"), part("total"), part("message")];
    if (!progress) return false;
    unit.replace(call, (nested) => {
      const options = [total && `total: ${nested(rangeOf(total))}`, text && `message: ${nested(rangeOf(text))}`].filter(
        Boolean,
      );
      return `${nested(rangeOf(base))}.progress(${nested(rangeOf(progress))}${options.length > 0 ? `, { ${options.join(", ")} }` : ""})`;
    });
    return true;
  }
  if (method !== "notifications/message") return false;
  const [level, data, logger] = [part("level"), part("data"), part("logger")];
  if (!level || !data) return false;
  unit.replace(
    call,
    (nested) =>
      `${nested(rangeOf(base))}.log(${[level, data, logger]
        .filter((each) => each !== undefined)
        .map((each) => nested(rangeOf(each)))
        .join(", ")})`,
  );
  return true;
}

type Text = (nested: (range: { start: number; end: number }) => string) => string;

/** `elicitInput({ message, requestedSchema })` is `ctx.elicit(message, schema)`, and the mode `url` is `ctx.elicitUrl(message, url)`. */
function migrateElicit(
  migration: Migration,
  unit: Unit,
  call: CallExpression,
  context: Text,
  given = call.getArguments()[0],
): boolean {
  const message = memberOf(given, "message");
  const schema = memberOf(given, "requestedSchema");
  const url = memberOf(given, "url");
  const id = memberOf(given, "elicitationId");
  if (!message || !(schema || url)) return false;
  migration.topics.add("questions");
  unit.replace(call, (nested) => {
    const text = nested(rangeOf(message));
    if (schema) return `${context(nested)}.elicit(${text}, ${nested(rangeOf(schema))})`;
    const options = id ? `, { elicitationId: ${nested(rangeOf(id))} }` : "";
    return `${context(nested)}.elicitUrl(${text}, ${url ? nested(rangeOf(url)) : '""'}${options})`;
  });
  return true;
}

function migrateSample(
  migration: Migration,
  unit: Unit,
  call: CallExpression,
  params: Node | undefined,
  context: Text,
): boolean {
  if (!params) return false;
  migration.topics.add("questions");
  unit.replace(call, (nested) => `${context(nested)}.sample(${nested(rangeOf(params))})`);
  fixContent(unit, call);
  return true;
}

/** The content of a sampling result has the type `unknown`, because newer clients may send several blocks. */
function fixContent(unit: Unit, call: CallExpression): void {
  const declaration = call.getFirstAncestorByKind(SyntaxKind.VariableDeclaration);
  const awaited = call.getParent();
  if (!declaration || !Node.isAwaitExpression(awaited) || unwrap(declaration.getInitializer()) !== awaited) return;
  const readsContent = usesOf(declaration.getNameNode()).some((use) => {
    const access = use.getParent();
    return Node.isPropertyAccessExpression(access) && access.getName() === "content";
  });
  if (!readsContent) return;
  unit.need("mcp-edge", "type ContentBlock");
  unit.replace(awaited, (nested) => `(${nested(rangeOf(awaited))}) as { readonly content: ContentBlock }`);
}

/** Methods of a server that have another name in this kit, each with the member of the argument that is passed on. */
const SENT: Readonly<Record<string, readonly [name: string, member?: string]>> = {
  sendToolListChanged: ["toolsChanged"],
  sendPromptListChanged: ["promptsChanged"],
  sendResourceListChanged: ["resourcesChanged"],
  sendResourceUpdated: ["resourceUpdated", "uri"],
};

/** Migrates a call of a method of a server, or of the low-level server in it, other than definitions. Returns whether it was known. */
export function migrateServerCall(
  migration: Migration,
  unit: Unit,
  call: CallExpression,
  callee: PropertyAccessExpression,
): boolean {
  const name = callee.getName();
  const server = highLevel(callee.getExpression());
  const [first] = call.getArguments();
  const sent = Object.hasOwn(SENT, name) ? SENT[name] : undefined;
  if (sent) {
    const [method, member] = sent;
    const value = member === undefined ? undefined : memberOf(first, member);
    if (member !== undefined && !value) return false;
    fixChain(unit, call);
    unit.replace(call, (nested) => `${nested(rangeOf(server))}.${method}(${value ? nested(rangeOf(value)) : ""})`);
    return true;
  }
  switch (name) {
    case "sendLoggingMessage": {
      const [level, data, logger] = ["level", "data", "logger"].map((each) => memberOf(first, each));
      if (!level || !data) return false;
      const context = migration.plans.contextFor(call);
      fixChain(unit, call);
      const parts = [level, data, ...(logger ? [logger] : [])];
      unit.replace(
        call,
        (nested) =>
          `${context ?? nested(rangeOf(server))}.log(${parts.map((each) => nested(rangeOf(each))).join(", ")})`,
      );
      return true;
    }
    case "elicitInput":
    case "createMessage":
    case "listRoots": {
      const context = migration.plans.contextFor(call);
      if (context === undefined) return false;
      if (name === "elicitInput") return migrateElicit(migration, unit, call, () => context);
      if (name === "createMessage") return migrateSample(migration, unit, call, first, () => context);
      unit.replace(call, `${context}.listRoots().then((roots) => ({ roots: [...roots] }))`);
      return true;
    }
    case "registerCapabilities": {
      migration.topics.add("capabilities");
      const statement = call.getFirstAncestorByKind(SyntaxKind.ExpressionStatement);
      if (!statement) return false;
      unit.remove(statement);
      return true;
    }
    case "getClientCapabilities":
    case "getClientVersion": {
      const context = migration.plans.contextFor(call);
      if (context === undefined) return false;
      unit.replace(call, name === "getClientVersion" ? `${context}.client.info` : `${context}.client.capabilities`);
      return true;
    }
    default:
      return false;
  }
}

/** Removes `.catch(...)` and `.then(...)` after a call that no longer returns a Promise. */
function fixChain(unit: Unit, call: CallExpression): void {
  const access = call.getParent();
  const outer = access?.getParent();
  if (!Node.isPropertyAccessExpression(access) || access.getName() !== "catch" || !Node.isCallExpression(outer)) return;
  unit.replace(outer, (nested) => nested(rangeOf(call)));
}

/** Returns the high-level server. In the old SDKs, `server.server` is its low-level part. */
function highLevel(node: Node): Node {
  const inner = unwrap(node) ?? node;
  if (
    Node.isPropertyAccessExpression(inner) &&
    inner.getName() === "server" &&
    oldClass(inner.getExpression()) === "mcpServer"
  ) {
    return inner.getExpression();
  }
  return node;
}
