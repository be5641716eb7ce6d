/** Tokens in files: rights, locks, and one refresh for several processes. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { fileStore } from "../../src/node/index.ts";
import type { Authority } from "../client/oauth/authority.ts";
import * as lab from "../client/oauth/lab.ts";
import { until } from "../http/wire.ts";
import { NODE } from "../oracle/node.ts";

let folder: string;
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), "mcp-edge-oauth-")), "tokens");
});
afterEach(() => rmSync(join(folder, ".."), { recursive: true }));

const files = (ending: string) => readdirSync(folder).filter((name) => name.endsWith(ending));
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

describe("values", () => {
  test("a value is in a file that only its owner can read, in a folder that only its owner can open", async () => {
    const store = fileStore(folder);
    await store.set("key", "value");
    expect(await fileStore(folder).get("key")).toBe("value");
    expect(modeOf(folder)).toBe("700");
    expect(files("").map((name) => modeOf(join(folder, name)))).toEqual(["600"]);
    await store.set("key", undefined);
    expect(await store.get("key")).toBeUndefined();
    expect(files("")).toEqual([]);
  });

  test("reading a store whose folder does not exist, or cannot be created, finds nothing and creates nothing", async () => {
    expect(await fileStore(folder).get("key")).toBeUndefined();
    expect(existsSync(folder)).toBe(false);
    writeFileSync(folder, "a file, in which no folder can be created");
    expect(await fileStore(join(folder, "tokens")).get("key")).toBeUndefined();
    await expect(fileStore(join(folder, "tokens")).set("key", "value")).rejects.toThrow("ENOTDIR");
  });

  test("a value is not stored in a file whose permissions were widened", async () => {
    const store = fileStore(folder);
    await store.set("key", "old");
    chmodSync(join(folder, files("")[0] ?? ""), 0o644);
    await store.set("key", "new");
    expect(files("").map((name) => modeOf(join(folder, name)))).toEqual(["600"]);
  });

  test("a value whose file is damaged counts as missing", async () => {
    const store = fileStore(folder);
    await store.set("key", "value");
    writeFileSync(join(folder, files("")[0] ?? ""), '{"key":');
    expect(await store.get("key")).toBeUndefined();
  });
});

test("unfinished files of a killed process are removed after a minute", async () => {
  const store = fileStore(folder);
  await store.set("key", "value");
  const [name = ""] = files("");
  const [old, recent] = ["00000000-0000-0000-0000-000000000000", "11111111-1111-1111-1111-111111111111"];
  for (const id of [old, recent]) writeFileSync(join(folder, `${name}.${id}`), "{");
  const past = new Date(Date.now() - 61_000);
  utimesSync(join(folder, `${name}.${old}`), past, past);
  await store.exclusive("key", async () => undefined);
  expect(files("").sort()).toEqual([name, `${name}.${recent}`]);
});

describe("locks", () => {
  /** Runs work that no other process runs at the same time, and reports whether that was so. */
  async function watched(stores: readonly { exclusive<T>(key: string, work: () => Promise<T>): Promise<T> }[]) {
    let running = 0;
    let most = 0;
    const work = async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running -= 1;
    };
    await Promise.all(stores.map((store) => store.exclusive("key", work)));
    return most;
  }

  test("a lock is held by one of several stores at a time, and leaves no file", async () => {
    expect(await watched(Array.from({ length: 8 }, () => fileStore(folder)))).toBe(1);
    expect(files("")).toEqual([]);
  });

  /** Returns the path of the lock, and the holder that this process writes into it. */
  async function example() {
    return fileStore(folder).exclusive("key", async () => {
      const lock = join(folder, files(".lock")[0] ?? "");
      return { lock, holder: JSON.parse(readFileSync(lock, "utf8")) as Record<string, unknown> };
    });
  }

  /** Returns the id of a process that has ended. */
  async function endedPid(): Promise<number | undefined> {
    const ended = spawn(NODE, ["-e", ""]);
    await new Promise((resolve) => ended.on("close", resolve));
    return ended.pid;
  }

  /** Makes a lock look as if its holder had last renewed it 31 seconds ago. Returns that time. */
  function age(lock: string): Date {
    const past = new Date(Date.now() - 31_000);
    utimesSync(lock, past, past);
    return past;
  }

  test("the lock of a process that has ended is free at once, even if several processes want it", async () => {
    const { lock, holder } = await example();
    writeFileSync(lock, JSON.stringify({ ...holder, id: "x", pid: await endedPid() }));
    // Its age alone would not make it free before the test ends.
    const later = new Date(Date.now() + 3_600_000);
    utimesSync(lock, later, later);
    expect(await watched(Array.from({ length: 8 }, () => fileStore(folder)))).toBe(1);
    expect(files("")).toEqual([]);
  });

  test.each([
    ["on another machine", { host: "elsewhere" }],
    ["in another container of this machine", { pidNamespace: "pid:[1]" }],
  ])("the lock of a process %s is free when it was not renewed", async (_where, place) => {
    const { lock, holder } = await example();
    writeFileSync(lock, JSON.stringify({ ...holder, id: "x", pid: await endedPid(), ...place }));
    let hasRun = false;
    const waiting = fileStore(folder).exclusive("key", async () => {
      hasRun = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(hasRun).toBe(false);
    age(lock);
    await waiting;
  });

  test("a lock is renewed by its holder every five seconds, but not by a holder that has lost it", async () => {
    // The renewals run when this test advances the intervals; nothing else uses them.
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const { lock, past } = await fileStore(folder).exclusive("key", async () => {
      const lock = join(folder, files(".lock")[0] ?? "");
      const isRecent = () => Date.now() - statSync(lock).mtimeMs < 30_000;
      age(lock);
      vi.advanceTimersByTime(5_000);
      await until("the holder has renewed its lock", isRecent);
      // Another process takes the lock, and hangs.
      rmSync(lock);
      writeFileSync(lock, JSON.stringify({ id: "other" }));
      const past = age(lock);
      vi.advanceTimersByTime(5_000);
      await new Promise((resolve) => setTimeout(resolve, 150));
      return { lock, past };
    });
    expect(statSync(lock).mtimeMs).toBe(past.getTime());
  });

  test("a lock is no longer awaited when it is no longer needed", async () => {
    const store = fileStore(folder);
    const lock = await store.exclusive("key", async () => join(folder, files(".lock")[0] ?? ""));
    writeFileSync(lock, JSON.stringify({ id: "x", pid: process.pid, host: hostname() }));
    const controller = new AbortController();
    const waiting = store.exclusive("key", async () => undefined, controller.signal);
    controller.abort(new Error("given up"));
    await expect(waiting).rejects.toThrow("given up");
  });

  test("a lock that was taken over is not removed by the holder that has lost it", async () => {
    const store = fileStore(folder);
    const other = JSON.stringify({ id: "other", pid: process.pid, host: hostname() });
    const lock = await store.exclusive("key", async () => {
      const file = join(folder, files(".lock")[0] ?? "");
      writeFileSync(file, other);
      return file;
    });
    expect(readFileSync(lock, "utf8")).toBe(other);
  });

  test("a lock rejects if the folder cannot be written", async () => {
    const file = join(folder, "..", "file");
    writeFileSync(file, "");
    await expect(fileStore(join(file, "tokens")).exclusive("key", async () => 1)).rejects.toThrow();
  });
});

/** A process that shares the folder. */
class Caller {
  readonly process: ChildProcessWithoutNullStreams;
  readonly #lines: AsyncIterator<string>;
  errors = "";

  constructor(url: string, calls: number) {
    const file = join(import.meta.dirname, "fixtures/oauth-caller.ts");
    this.process = spawn(NODE, [file, url, folder, String(calls)]);
    this.process.stderr.on("data", (data: Buffer) => {
      this.errors += data.toString();
    });
    this.#lines = createInterface({ input: this.process.stdout })[Symbol.asyncIterator]();
  }

  async line(): Promise<string> {
    const { value } = await this.#lines.next();
    return (value as string | undefined) ?? `ended: ${this.errors}`;
  }
}

/** Signs in, and starts processes that have connected with the same tokens. */
async function callers(count: number, calls: number): Promise<{ authority: Authority; all: readonly Caller[] }> {
  const authority = await lab.start();
  await lab.join(authority, { store: fileStore(folder) });
  const all = Array.from({ length: count }, () => new Caller(authority.url, calls));
  for (const caller of all) expect(await caller.line()).toBe("ready");
  authority.expire();
  return { authority, all };
}

const call = (all: readonly Caller[]) => {
  for (const caller of all) caller.process.stdin.write("go\n");
};

describe("five processes with one folder", () => {
  test("make ten calls on an expired token with one refresh", { tags: "long" }, async () => {
    const { authority, all } = await callers(5, 2);
    call(all);
    expect(await Promise.all(all.map((caller) => caller.line()))).toEqual(["2", "2", "2", "2", "2"]);
    expect(authority.attempts).toEqual(["authorization_code", "refresh_token"]);
  });

  test("sign in once if they connect without tokens at the same time", { tags: "long" }, async () => {
    const authority = await lab.start();
    const all = Array.from({ length: 5 }, () => new Caller(authority.url, 1));
    for (const caller of all) expect(await caller.line()).toBe("ready");
    call(all);
    expect(await Promise.all(all.map((caller) => caller.line()))).toEqual(["1", "1", "1", "1", "1"]);
    expect(authority.attempts).toEqual(["authorization_code"]);
    expect(authority.registrations).toHaveLength(1);
  });

  /** Kills the process that refreshes, as soon as its request has arrived. */
  async function killRefresher(authority: Authority, all: readonly Caller[], isSpent: boolean): Promise<Caller[]> {
    let killed: number | undefined;
    authority.onToken = async ({ isThere }) => {
      if (killed !== undefined) return undefined;
      const [lock = ""] = files(".lock");
      killed = (JSON.parse(readFileSync(join(folder, lock), "utf8")) as { pid: number }).pid;
      all.find((caller) => caller.process.pid === killed)?.process.kill("SIGKILL");
      await until("the process is gone", () => !isThere());
      return isSpent ? undefined : { status: 503 };
    };
    call(all);
    await until("a process was killed", () => killed !== undefined);
    return all.filter((caller) => caller.process.pid !== killed);
  }

  test("make their calls with one refresh if the one that refreshes is killed before the server has read it", {
    tags: "long",
  }, async () => {
    const { authority, all } = await callers(5, 2);
    const left = await killRefresher(authority, all, false);
    expect(await Promise.all(left.map((caller) => caller.line()))).toEqual(["2", "2", "2", "2"]);
    expect(authority.granted).toEqual(["authorization_code", "refresh_token"]);
    expect(authority.attempts).toEqual(["authorization_code", "refresh_token", "refresh_token"]);
  });

  test("make their calls with one sign-in if the one that refreshes is killed and its refresh token is spent", {
    tags: "long",
  }, async () => {
    const { authority, all } = await callers(5, 2);
    const left = await killRefresher(authority, all, true);
    expect(await Promise.all(left.map((caller) => caller.line()))).toEqual(["2", "2", "2", "2"]);
    expect(authority.granted).toEqual(["authorization_code", "refresh_token", "authorization_code"]);
  });
});
