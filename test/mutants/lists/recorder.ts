/** The recorder of `mcp-edge dev`, and its page. */
import type { Mutant } from "../mutant.ts";

const ROUTES = {
  file: "src/node/record/routes.ts",
  tests: ["test/recorder/routes.test.ts"],
};

export const MUTANTS: readonly Mutant[] = [
  {
    id: "recorder-cut-request-failed",
    reason: "A client that leaves during an upload would be recorded as a failure of the server.",
    file: "src/node/record/proxy/proxied-connection.ts",
    find: "const exchange = this.#isAbandoned(inFlight) ? undefined : inFlight.exchange;",
    replace: "const exchange = inFlight.exchange;",
    tests: ["test/recorder/proxy.test.ts"],
    title: "leaves during its request",
  },
  {
    id: "recorder-any-host",
    reason: "A web page could read all calls by letting its own name resolve to this machine (DNS rebinding).",
    ...ROUTES,
    find: "if (!LOCAL_HOST.test(host)) return",
    replace: "if (false as boolean) return",
  },
  {
    id: "recorder-any-origin",
    reason: "A page of another origin could read all calls.",
    ...ROUTES,
    find: "if (origin !== undefined && origin !== `http://${host}`)",
    replace: "if (false as boolean)",
  },
  {
    id: "recorder-faults-by-forms",
    reason: "A form of any web page could cause faults and delete recorded calls.",
    ...ROUTES,
    find: 'if (!isReading && headers[DEV_HEADER.toLowerCase()] !== "1") return',
    replace: "if (false as boolean) return",
  },
  {
    id: "recorder-known-forms-of-secrets",
    reason: "Tokens in arguments and results would be stored and exported.",
    file: "src/recorder/redact/secrets.ts",
    find: "let shown = text.replace(SECRET_VALUE, REDACTED);",
    replace: "let shown = text;",
    tests: ["test/recorder/secrets.test.ts"],
  },
  {
    id: "recorder-repeated-secrets",
    reason: "A token that a server repeats in a result would be shown.",
    file: "src/recorder/redact/secrets.ts",
    find: "return shown.replace(RUN, (run) => this.#redactRun(run));",
    replace: "return shown;",
    tests: ["test/recorder/secrets.test.ts"],
  },
  {
    id: "recorder-curl-quotes",
    reason: "A tool's argument could run commands in the shell into which a user pastes the copied command.",
    file: "src/recorder/recording/curl.ts",
    find: "text.replaceAll(\"'\", `'\\\\''`)",
    replace: "text",
    tests: ["test/recorder/recording.test.ts"],
  },
  {
    id: "page-any-source",
    reason: "A result could load anything, such as a page with scripts, as its image.",
    file: "src/page-app/content/content-facts.ts",
    find: "/^(image|audio)\\/[\\w.+-]+(;[\\w=; -]+)?$/.test(type)",
    replace: "type.length > 0",
    tests: ["test/page-app/texts.test.ts"],
  },
  {
    id: "page-view-any-host",
    reason: "A view could add directives to its own policy, and load scripts from anywhere.",
    file: "src/page-app/content/view-policy.ts",
    find: 'typeof each === "string" && SOURCE.test(each)',
    replace: 'typeof each === "string"',
    tests: ["test/page-app/texts.test.ts"],
  },
];
