/** The order in which the test files run. */
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take minutes. They run beside the others if they start first, and would run alone if they started last. */
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
