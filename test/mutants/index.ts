/** All mutants, by the room of `src` that they change. `npm run mutants` runs the tests against each of them. */
import { AUTH } from "./lists/auth.ts";
import { AUTHORIZATION_SERVER } from "./lists/authorization-server.ts";
import { CLI_ROOM } from "./lists/cli.ts";
import { CLIENT_ROOM } from "./lists/client.ts";
import { CLIENT_OAUTH } from "./lists/client-oauth.ts";
import { CLIENT_SKILLS } from "./lists/client-skills.ts";
import { CLIENT_TASKS } from "./lists/client-tasks.ts";
import { CALLS } from "./lists/core.ts";
import { DPOP } from "./lists/dpop.ts";
import { EDGES } from "./lists/edges.ts";
import { FEATURES } from "./lists/features.ts";
import { HTTP_ROOM } from "./lists/http.ts";
import { PARTS } from "./lists/parts.ts";
import { PROJECTS } from "./lists/projects.ts";
import { PROOFS } from "./lists/proofs.ts";
import { PROTOCOL } from "./lists/protocol.ts";
import { RARE } from "./lists/rare.ts";
import { RATES } from "./lists/rates.ts";
import { ROLE_CHANGES } from "./lists/roles.ts";
import { SAFE } from "./lists/safe.ts";
import { SERVING } from "./lists/serving.ts";
import { SESSIONS } from "./lists/sessions.ts";
import { SIGN_IN } from "./lists/sign-in.ts";
import { SKILLS } from "./lists/skills.ts";
import { STREAMS } from "./lists/streams.ts";
import type { EquivalentMutant, Mutant } from "./mutant.ts";

/** The mutants that the tests must notice. */
export const MUTANTS: readonly Mutant[] = [
  ...PROTOCOL,
  ...CALLS,
  ...FEATURES,
  ...EDGES,
  ...HTTP_ROOM,
  ...SESSIONS,
  ...PARTS,
  ...SERVING,
  ...STREAMS,
  ...RARE,
  ...ROLE_CHANGES,
  ...CLIENT_ROOM,
  ...CLIENT_SKILLS,
  ...CLIENT_OAUTH,
  ...CLIENT_TASKS,
  ...CLI_ROOM,
  ...PROJECTS,
  ...AUTH,
  ...AUTHORIZATION_SERVER,
  ...SAFE,
  ...DPOP,
  ...RATES,
  ...PROOFS,
  ...SIGN_IN,
  ...SKILLS,
];

/** Changes that were considered and make no difference. */
export const EQUIVALENT: readonly EquivalentMutant[] = [
  {
    id: "task-run-at-once-again",
    file: "src/worker/tasks/task-object.ts",
    find: "if (this.#running) return undefined;",
    replace: "",
    reason:
      "The runtime runs one alarm of an object at a time, and a task run by a Workflow joins the run in progress before it " +
      "gets here. The check is for alarms that mcp-edge/testing runs while the runtime runs one.",
  },
  {
    id: "page-cursor-of-another-list",
    file: "src/core/serve/pagination.ts",
    find: 'return value[0] === list && typeof value[1] === "string" &&',
    replace: 'return typeof value[0] === "string" && typeof value[1] === "string" &&',
    reason: "The comparison that follows encodes the cursor again for this list, so a cursor of another list differs.",
  },
  {
    id: "ladder-legacy-header-modern",
    file: "src/http/classify.ts",
    find: 'return rules?.era === "legacy" ? rules : unservedVersion(',
    replace: "return rules ? rules : unservedVersion(",
    reason:
      "A message whose header names a modern version is judged as a modern one and never gets here; a batch neither.",
  },
  {
    id: "as-redirect-end",
    file: "src/authorization-server/clients/redirects.ts",
    find: "(?=[/?]|$)/",
    replace: "/",
    reason:
      "What follows the port is compared as well, and a registered URI has no user name and no longer host there. The check " +
      "is for a reader, and for lists of URIs that were not checked when they were registered.",
  },
];
