/** The order in which the test files run. */
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Test files that take long. They run beside the others if they start first. Vitest starts the shortest files last, so a short one that
 * takes long would run alone at the end.
 */
const SLOWEST = [
  "docs/tutorial",
  "scripts/soak",
  "scripts/cost",
  "conformance/official-client",
  "chaos/deploys",
  "agent-tasks/agent-tasks",
  "recorder/copied-tests",
  "docs/blocks",
  "cli/bridge",
  "cli/check",
  "worker/state",
  "testing/separate-project",
  "worker/tasks-random",
  "worker/durable-calls-random",
  "worker/company-tenants",
  "worker/released-resume",
  "worker/task-runs",
  "worker/tenants",
].map((name) => `/test/${name}.test.ts`);

/** Starts the slowest files first, and leaves the order of the others to Vitest. */
export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = SLOWEST.findIndex((name) => moduleId.endsWith(name));
      return at < 0 ? SLOWEST.length : at;
    };
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => rank(one) - rank(other));
  }
}
