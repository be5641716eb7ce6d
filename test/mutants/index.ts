/** The mutants, by what they put at risk. `npm run mutants` runs the tests against each of them. */
import { MUTANTS as AUTHORIZATION_SERVER } from "./lists/authorization-server.ts";
import { MUTANTS as ENTERPRISE } from "./lists/enterprise.ts";
import { MUTANTS as ENTERPRISE_FAULTS } from "./lists/enterprise-faults.ts";
import { MUTANTS as FILES } from "./lists/files.ts";
import { MUTANTS as LIMITS } from "./lists/limits.ts";
import { MUTANTS as MIGRATE } from "./lists/migrate.ts";
import { MUTANTS as OPENAPI } from "./lists/openapi.ts";
import { MUTANTS as PROTOCOL } from "./lists/protocol.ts";
import { MUTANTS as RECORDER } from "./lists/recorder.ts";
import { MUTANTS as REPLAY } from "./lists/replay.ts";
import { MUTANTS as SEALING } from "./lists/sealing.ts";
import { MUTANTS as SIGNING_IN } from "./lists/signing-in.ts";
import { MUTANTS as STRANGERS } from "./lists/strangers.ts";
import { MUTANTS as TELEMETRY } from "./lists/telemetry.ts";
import { MUTANTS as TOKENS } from "./lists/tokens.ts";
import type { Mutant } from "./mutant.ts";

/** The lists, by their file names. */
export const LISTS: Readonly<Record<string, readonly Mutant[]>> = {
  "authorization-server": AUTHORIZATION_SERVER,
  enterprise: ENTERPRISE,
  "enterprise-faults": ENTERPRISE_FAULTS,
  files: FILES,
  limits: LIMITS,
  migrate: MIGRATE,
  openapi: OPENAPI,
  protocol: PROTOCOL,
  recorder: RECORDER,
  replay: REPLAY,
  sealing: SEALING,
  "signing-in": SIGNING_IN,
  strangers: STRANGERS,
  telemetry: TELEMETRY,
  tokens: TOKENS,
};

/** The mutants that the tests must notice. */
export const MUTANTS: readonly Mutant[] = Object.values(LISTS).flat();
