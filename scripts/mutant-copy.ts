/** A copy of the project in which one mutant at a time is applied and judged by its tests. */
import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { transform } from "esbuild";
import type { Mutant } from "../test/mutants/mutant.ts";
import { hasTimedOut, judgeReport, problemOf, type Report, type Verdict } from "./mutant-report.ts";
import { ROOT } from "./tools.ts";

/** A run that takes longer is killed. A test that hangs fails by its own timeout much earlier. */
const RUN_MS_MAX = 240_000;

/** The number of attempts for a mutant whose tests time out even without the change. */
const TRIES = 3;

export class MutantCopy {
  readonly #folder: string;
  readonly #root: string;
  /** For each set of tests, the problem they have without any change; undefined if they pass. */
  readonly #baselines = new Map<string, Promise<string | undefined>>();

  readonly #isFast: boolean;

  private constructor(folder: string, isFast: boolean) {
    this.#folder = folder;
    this.#isFast = isFast;
    this.#root = join(folder, "project");
  }

  /**
   * Copies every file that git tracks or does not ignore. Installed packages and the built package are shared.
   *
   * @param isFast Whether only the tests of `npm test` run, without those that have the tag `long`.
   */
  static async create(isFast: boolean): Promise<MutantCopy> {
    const copy = new MutantCopy(mkdtempSync(join(tmpdir(), "mcp-edge-mutants-")), isFast);
    const listed = execFileSync("git", ["ls-files", "-co", "--exclude-standard"], { cwd: ROOT, encoding: "utf8" });
    const paths = listed.split("\n").filter((path) => path !== "" && existsSync(join(ROOT, path)));
    for (const path of paths) {
      mkdirSync(dirname(join(copy.#root, path)), { recursive: true });
      cpSync(join(ROOT, path), join(copy.#root, path));
    }
    // Some tests ask git for the files of a folder.
    execFileSync("git", ["init", "--quiet"], { cwd: copy.#root });
    execFileSync("git", ["add", "--force", "--pathspec-from-file=-"], { cwd: copy.#root, input: paths.join("\n") });
    for (const shared of ["node_modules", "dist"]) {
      if (existsSync(join(ROOT, shared))) symlinkSync(join(ROOT, shared), join(copy.#root, shared));
    }
    // Tests read the specification's schemas from a folder beside the project if it exists.
    const beside = join(ROOT, "..", "shared");
    if (existsSync(beside)) symlinkSync(beside, join(copy.#folder, "shared"));
    return copy;
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Applies a mutant, runs its tests, and restores the file. */
  async judge(mutant: Mutant): Promise<Verdict> {
    const startedAtMs = Date.now();
    const [outcome, detail] = await this.#judge(mutant);
    return { outcome, detail, durationMs: Date.now() - startedAtMs };
  }

  async #judge(mutant: Mutant): Promise<[Verdict["outcome"], string]> {
    const path = join(this.#root, mutant.file);
    if (!existsSync(path)) return ["invalid", "The file does not exist."];
    const original = readFileSync(path, "utf8");
    const count = original.split(mutant.find).length - 1;
    if (count !== 1) return ["invalid", `The text to replace occurs ${count} times.`];
    const problem = await this.#baseline(mutant);
    if (problem) return ["invalid", `Without the change: ${problem}`];
    const changed = original.split(mutant.find).join(mutant.replace);
    const syntax = await transform(changed, { loader: "ts" }).catch(() => undefined);
    if (!syntax) return ["invalid", "The change does not parse."];
    for (let tries = 0; tries < TRIES; tries += 1) {
      const report = await this.#runWith(mutant, path, changed, original);
      if (!hasTimedOut(report)) return judgeReport(report);
      // On a busy machine a time-out says nothing about the change, unless the tests pass without it right afterwards.
      if (!problemOf(await this.#run(mutant))) return judgeReport(report);
    }
    return ["invalid", `The tests timed out ${TRIES} times, and without the change as well.`];
  }

  async #runWith(mutant: Mutant, path: string, changed: string, original: string): Promise<Report | undefined> {
    writeFileSync(path, changed);
    try {
      return await this.#run(mutant);
    } finally {
      writeFileSync(path, original);
    }
  }

  /** Returns the problem that the tests of a mutant have before it is applied, or undefined if they pass. */
  #baseline(mutant: Mutant): Promise<string | undefined> {
    const key = JSON.stringify([mutant.tests, mutant.title]);
    const known = this.#baselines.get(key) ?? this.#runPatiently(mutant).then(problemOf);
    this.#baselines.set(key, known);
    return known;
  }

  /** Runs the tests of a mutant again if they time out. */
  async #runPatiently(mutant: Mutant, tries = TRIES): Promise<Report | undefined> {
    const report = await this.#run(mutant);
    return tries > 1 && hasTimedOut(report) ? this.#runPatiently(mutant, tries - 1) : report;
  }

  #run({ tests, title }: Mutant): Promise<Report | undefined> {
    const output = join(this.#folder, "report.json");
    rmSync(output, { force: true });
    const filter = title === undefined ? [] : ["-t", title];
    const args = [
      "run",
      ...tests,
      ...filter,
      ...(this.#isFast ? ["--tags-filter=!long"] : []),
      "--bail=1",
      "--reporter=json",
      `--outputFile=${output}`,
      "--maxWorkers=1",
    ];
    // The project's own Node comes first in PATH, as in npm scripts.
    const env = { ...process.env, PATH: `${join(ROOT, "node_modules/.bin")}:${process.env.PATH ?? ""}` };
    const child = spawn("vitest", args, { cwd: this.#root, stdio: "ignore", detached: true, env });
    return new Promise((resolve) => {
      const timer = setTimeout(() => child.pid && process.kill(-child.pid, "SIGKILL"), RUN_MS_MAX);
      child.on("exit", () => {
        clearTimeout(timer);
        resolve(existsSync(output) ? (JSON.parse(readFileSync(output, "utf8")) as Report) : undefined);
      });
    });
  }
}
