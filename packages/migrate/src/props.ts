/**
 * The props of a user: plugins that pass them on to handlers as `ctx.auth.claims`, and `getMcpAuthContext()`, which reads them.
 *
 * @module
 */
import { Node, SyntaxKind } from "ts-morph";
import type { Migration } from "./context.ts";
import { freeName } from "./names.ts";
import { usesOf } from "./scopes.ts";
import type { Unit } from "./unit.ts";

/** The facts about the project on which the plugin depends. */
interface PropsSource {
  /** Whether the project has an `OAuthProvider`, which stores the props with each token. */
  readonly hasProvider: boolean;
  /** The type of the bindings. */
  readonly env: string;
  /** The type of the props. */
  readonly props?: string;
}

/** Returns the plugin for the option `use`, and the statements before it. */
export function propsPlugin(
  migration: Migration,
  unit: Unit,
  { hasProvider, env, props = "Record<string, unknown>" }: PropsSource,
): { readonly before: string; readonly use: string } {
  migration.topics.add("props");
  if (!hasProvider) {
    unit.need("mcp-edge/worker", "authenticate");
    const name = freeName(unit, ["withProps", "withMcpProps"]);
    return { before: authenticateLines(name, env, props).join(unit.newline) + unit.newline, use: name };
  }
  unit.need("mcp-edge/worker/auth", "bearer");
  unit.need("mcp-edge/worker/auth", "workersOAuthProvider");
  const verify = freeName(unit, ["verify", "verifyMcpToken"]);
  const lines = [
    "// The issuer names the authorization server in ctx.auth: write the URL of this Worker.",
    `const ${verify} = workersOAuthProvider({ claims: (props${isTyped(unit) ? `: ${props}` : ""}) => ({ ...props }) });`,
    "",
  ];
  return {
    before: lines.join(unit.newline),
    use: `bearer({ issuer: "https://mcp.example.com", ${verify === "verify" ? verify : `verify: ${verify}`} })`,
  };
}

const isTyped = (unit: Unit) => !/\.[cm]?jsx?$/.test(unit.path);

/** Returns the code of a plugin for a Worker that sets `ctx.props` itself. Props have no user id, so sessions are bound to their hash. */
function authenticateLines(name: string, env: string, props: string): string[] {
  return [
    "// The Worker has authenticated the request and set the props, which become the claims of the principal. Sessions are bound to the subject.",
    "// Replace the hash with the id of the user, which does not change when a token in the props is renewed.",
    `const ${name} = authenticate<${env}>(async (_request, _env, execution) => {`,
    `  const { props } = execution as { readonly props?: ${props} };`,
    '  if (!props || Object.keys(props).length === 0) return "anonymous";',
    '  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(JSON.stringify(props)));',
    '  const subject = Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("");',
    '  return { issuer: "https://mcp.example.com", subject, claims: { ...props } };',
    "});",
  ];
}

/** Migrates `getMcpAuthContext()` in handlers: its `props` are the claims of `ctx.auth`. */
export function migrateAuthContext(migration: Migration, unit: Unit): void {
  const isImported = unit.file
    .getImportDeclarations()
    .some(
      (each) =>
        /^agents\/mcp(\/server)?$/.test(each.getModuleSpecifierValue()) &&
        each.getNamedImports().some((one) => one.getName() === "getMcpAuthContext"),
    );
  if (!isImported) return;
  for (const call of unit.file.getDescendantsOfKind(SyntaxKind.CallExpression)) {
    if (call.getExpression().getText() !== "getMcpAuthContext") continue;
    const context = migration.plans.contextFor(call);
    if (context === undefined) {
      unit.todo(call, "ctx.auth of a handler has the props as its claims.");
      continue;
    }
    migration.usesProps = true;
    unit.replace(call, `${context}.auth`);
    const name = call.getParentIfKind(SyntaxKind.VariableDeclaration)?.getNameNode();
    for (const use of name ? usesOf(name) : [call]) {
      const access = use.getParent();
      if (!Node.isPropertyAccessExpression(access)) continue;
      if (access.getName() === "props") unit.replace(access.getNameNode(), "claims");
      else unit.todo(access, `ctx.auth has no ${access.getName()}.`);
    }
  }
}

/** Whether a file of the project creates an `OAuthProvider`. */
export function hasOAuthProvider(migration: Migration): boolean {
  return [...migration.units.keys()].some((file) => /new OAuthProvider\b/.test(file.getText()));
}
