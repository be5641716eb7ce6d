/** Changes to the roles of objects, to the check of the configuration, and to notifications about tasks. */
import type { Mutant } from "../mutant.ts";

const ROLES = ["test/worker/roles.test.ts"];
const MISCONFIGURED = ["test/worker/misconfigured.test.ts"];
const UNSERVED = ["test/worker/unserved.test.ts"];
const TASKS = ["test/conformance/tasks.test.ts"];

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
    find: 'first.startsWith(prefix))?.[1] ?? "session";',
    replace: "first.startsWith(prefix))?.[1];",
    tests: ROLES,
  },
  {
    id: "role-guessed-by-alarm",
    file: "src/worker/object.ts",
    find: '(sql.exec(LOG).toArray()[0] && "session")',
    replace: '"session"',
    tests: UNSERVED,
  },
  {
    id: "unserved-waits-without-bound",
    file: "src/worker/object.ts",
    find: "const waitMs = Math.min((storage.kv.get<number>(UNSERVED) ?? UNSERVED_MS / 2) * 2, UNSERVED_MAX_MS);",
    replace: "const waitMs = UNSERVED_MS;",
    tests: UNSERVED,
  },
  {
    id: "unserved-not-continued",
    file: "src/worker/object.ts",
    find: "if (storage.kv.get(UNSERVED)) {",
    replace: "if (storage.kv.get(UNSERVED) === null) {",
    tests: UNSERVED,
  },
  {
    id: "task-alarm-too-early",
    file: "src/worker/tasks/task-object.ts",
    find: "if (alarmAtMs > latestMs && !this.#running) await this.#ctx.storage.setAlarm(atMs);",
    replace: "if (alarmAtMs > latestMs && !this.#running) await this.#ctx.storage.setAlarm(Date.now());",
    tests: ["test/worker/task-alarms.test.ts"],
  },
  {
    id: "service-binding-as-objects",
    file: "src/worker/bindings.ts",
    find: "return idFromName !== undefined && noSuchMethod === undefined;",
    replace: "return idFromName !== undefined;",
    tests: MISCONFIGURED,
  },
  {
    id: "name-taken-from-running-endpoint",
    file: "src/worker/bindings.ts",
    find: "else if (!isInRequest()) owners.set(name, undefined);",
    replace: "else owners.set(name, undefined);",
    tests: MISCONFIGURED,
  },
  {
    id: "problems-shown-to-everyone",
    file: "src/worker/problems.ts",
    find: "isLoopback(splitUrl(url).hostname)",
    replace: 'url !== ""',
    tests: MISCONFIGURED,
  },
  {
    id: "publishing-without-class",
    file: "src/worker/bindings.ts",
    find: 'if (!isNamespace(namespace)) throw new KitError("binding-missing", findProblems(env, place).join("\\n"));',
    replace: "",
    tests: MISCONFIGURED,
  },
  {
    id: "path-without-slash",
    file: "src/core/protocol/check-options.ts",
    find: 'if (value === undefined || String(value).startsWith("/")) return;',
    replace: "if (value !== null) return;",
    tests: MISCONFIGURED,
  },
  {
    id: "flag-not-checked",
    file: "src/worker/problems.ts",
    find: "if (isFirst && enable_request_signal === false)",
    replace: "if (enable_request_signal === false)",
    tests: MISCONFIGURED,
  },
  {
    id: "guard-never-asked",
    file: "src/http/endpoint.ts",
    find: "const misconfigured = this.#options.guard?.(env, request);",
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
    file: "src/core/protocol/change-notifications.ts",
    find: "task: new Set(tasks) }",
    replace: "task: new Set(elicitations) }",
    tests: ["test/features/notifications.test.ts"],
  },
  {
    id: "roots-unread",
    file: "src/core/ask/answers.ts",
    find: 'if (!Array.isArray(roots) || !roots.every((root) => isObject(root) && typeof root.uri === "string")) {',
    replace: "if (!Array.isArray(roots)) {",
    tests: ["test/features/question-builders.test.ts"],
  },
];
