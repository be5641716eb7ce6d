/** Changes to the roles of objects, to the check of the configuration, and to notifications about tasks. */
import type { Mutant } from "../mutant.ts";

const ROLES = ["test/worker/roles.test.ts"];
const MISCONFIGURED = ["test/worker/misconfigured.test.ts"];
const TASKS = ["test/conformance/10-9-tasks.test.ts"];

export const ROLE_CHANGES: readonly Mutant[] = [
  {
    id: "role-task-unchecked",
    file: "src/worker/object.ts",
    find: "if (target !== this.#target && this.#isNoTask(target, method)) return undefined;",
    replace: "",
    tests: ROLES,
  },
  {
    id: "role-not-compared",
    file: "src/worker/object.ts",
    find: "const role = known === name ? this.#play(name) : undefined;",
    replace: "const role = known ? this.#play(name) : undefined;",
    tests: ROLES,
  },
  {
    id: "role-of-stored-session",
    file: "src/worker/roles.ts",
    find: 'return STORED.find(([prefix]) => first.startsWith(prefix))?.[1] ?? "session";',
    replace: "return STORED.find(([prefix]) => first.startsWith(prefix))?.[1];",
    tests: ROLES,
  },
  {
    id: "flag-not-checked",
    file: "src/worker/problems.ts",
    find: "if (enable_request_signal === false)",
    replace: "if (enable_request_signal === undefined)",
    tests: MISCONFIGURED,
  },
  {
    id: "guard-never-asked",
    file: "src/http/endpoint.ts",
    find: "const misconfigured = this.#options.guard?.(env);",
    replace: "const misconfigured = undefined;",
    tests: MISCONFIGURED,
  },
  {
    id: "middleware-skipped",
    file: "src/worker/edge.ts",
    find: "if (middleware.length === 0) skipRouter(app, path, handle);",
    replace: "skipRouter(app, path, handle);",
    tests: ["test/worker/middleware.test.ts"],
  },
  {
    id: "listen-without-tasks",
    file: "src/core/serve/subscriptions.ts",
    find: "{ ...filter, tasks: call.tasks?.ids }",
    replace: "{ ...filter }",
    tests: TASKS,
  },
  {
    id: "filter-tasks-as-elicitations",
    file: "src/core/protocol/notices.ts",
    find: "task: new Set(tasks) }",
    replace: "task: new Set(elicitations) }",
    tests: ["test/features/notices.test.ts"],
  },
  {
    id: "roots-unread",
    file: "src/core/ask/answers.ts",
    find: 'if (!Array.isArray(roots) || !roots.every((root) => isObject(root) && typeof root.uri === "string")) {',
    replace: "if (!Array.isArray(roots)) {",
    tests: ["test/features/question-builders.test.ts"],
  },
];
