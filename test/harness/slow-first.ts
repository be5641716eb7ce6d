/** The order in which the test files run. */
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * The files that take longest, slowest first. Most of them wait rather than compute, so they run beside the others. Started last, they
 * would run alone.
 */
const SLOWEST = [
  "docs/tutorial",
  "recorder/copied-tests",
  "scripts/soak",
  "scripts/cost",
  "agent-tasks/agent-tasks",
  "docs/blocks",
  "cli/bridge",
  "cli/check",
  "cli/add",
  "docs/examples",
  "docs/snippets",
  "chaos/deploys",
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
