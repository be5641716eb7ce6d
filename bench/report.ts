/**
 * Builds the table: one line per scenario, one column per contestant, then the target and whether mcp-edge meets it.
 */
import type { Contestant } from "./contestants.ts";
import { type Figures, SCENARIOS, type Scenario } from "./scenarios.ts";
import { medianOf, midmeanOf } from "./statistics.ts";

/** Measurements by scenario, then by contestant. */
export class Results {
  readonly #samples = new Map<string, Map<string, Figures[]>>();
  /** Failures, which are printed at the end. */
  readonly failures: string[] = [];

  add(scenario: string, contestant: string, figures: Figures): void {
    const ofScenario = this.#samples.get(scenario) ?? new Map<string, Figures[]>();
    this.#samples.set(scenario, ofScenario);
    ofScenario.set(contestant, [...(ofScenario.get(contestant) ?? []), figures]);
  }

  /** Runs one measurement. An error is recorded, and the run continues. */
  async measure(scenario: string, { name }: Contestant, run: () => Promise<Figures>): Promise<void> {
    try {
      this.add(scenario, name, await run());
    } catch (error) {
      this.failures.push(`${scenario}, ${name}: ${String(error).split("\n")[0]}`);
    }
  }

  /** The latest measurement. */
  last(scenario: string, contestant: string): Figures | undefined {
    return this.#samples.get(scenario)?.get(contestant)?.at(-1);
  }

  /** Medians over the rounds; undefined if the contestant did not take part. */
  of(scenario: string, contestant: string): Figures | undefined {
    const samples = this.#samples.get(scenario)?.get(contestant);
    if (!samples?.[0]) return undefined;
    const keys = Object.keys(samples[0]);
    return Object.fromEntries(
      keys.map((key) => [key, medianOf(samples.map((one) => one[key] ?? Number.NaN))]),
    ) as Figures;
  }

  /** The compared figure: the ratio to the floor or to the other scenario in the same round, if there is one. */
  compared({ key, floor, over }: Scenario, contestant: string): number | undefined {
    const samples = this.#samples.get(key)?.get(contestant);
    if (!samples) return undefined;
    if (!floor && !over) return medianOf(samples.map(({ value }) => value));
    const floors = this.#samples.get(over ?? key)?.get(floor ?? contestant);
    if (!floors) return undefined;
    return midmeanOf(samples.map(({ value }, round) => value / (floors[round]?.value ?? Number.NaN)));
  }

  toJson(contestants: readonly Contestant[]): object {
    return Object.fromEntries(
      SCENARIOS.map((scenario) => [
        scenario.key,
        Object.fromEntries(
          contestants.flatMap(({ name }) => {
            const figures = this.of(scenario.key, name);
            return figures ? [[name, { ...figures, compared: this.compared(scenario, name) }]] : [];
          }),
        ),
      ]),
    );
  }
}

export function tableOf(results: Results, contestants: readonly Contestant[]): string {
  const head = ["scenario", ...contestants.map(({ name }) => name), "target", "met"];
  const lines = SCENARIOS.flatMap((scenario) => {
    const cells = contestants.map(({ name }) => cellOf(results, scenario, name));
    if (cells.every((cell) => cell === "-")) return [];
    const ours = results.compared(scenario, scenario.ours);
    return [[titleOf(scenario), ...cells, targetOf(scenario), metOf(scenario, ours)]];
  });
  const rows = [head, head.map(() => "---"), ...lines];
  const widths = head.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const pad = (cell: string, column: number) =>
    cell === "---" ? "-".repeat(widths[column] ?? 3) : cell.padEnd(widths[column] ?? 0);
  return rows.map((row) => `| ${row.map(pad).join(" | ")} |`).join("\n");
}

function titleOf({ title, unit, floor, over }: Scenario): string {
  const divisor = floor ?? (over && "the modern call");
  return divisor ? `${title} (${unit}; over ${divisor})` : unit ? `${title} (${unit})` : title;
}

function cellOf(results: Results, scenario: Scenario, contestant: string): string {
  const figures = results.of(scenario.key, contestant);
  if (figures === undefined) return "-";
  const value = short(figures.value);
  const ratio = (scenario.floor ?? scenario.over) && results.compared(scenario, contestant);
  return ratio === undefined ? value : `${value} (${ratio.toFixed(2)})`;
}

function targetOf({ target }: Scenario): string {
  if (!target) return "";
  return "atLeast" in target ? `>= ${target.atLeast}` : `<= ${target.atMost}`;
}

function metOf({ target }: Scenario, ours: number | undefined): string {
  if (!target || ours === undefined) return "";
  return ("atLeast" in target ? ours >= target.atLeast : ours <= target.atMost) ? "yes" : "no";
}

function short(value: number): string {
  return Math.abs(value) >= 100 ? String(Math.round(value)) : String(Number(value.toFixed(2)));
}
