/** Chromium without a window, for tests: one page, in which a test runs expressions. Over the DevTools protocol. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findProgram } from "./programs.ts";

interface Answer {
  readonly id?: number;
  /** The name of an event, which has no id. */
  readonly method?: string;
  readonly params?: { readonly entry?: { readonly level: string; readonly text: string } };
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly message: string };
}

/** A page or frame. */
interface Target {
  readonly targetId: string;
  readonly type: string;
}

/** The flag for a computer with a mouse. Without it, pages learn that there is none. */
export const WITH_MOUSE =
  "--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4";

/** A running browser with one page. */
export class Chromium implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #socket: WebSocket;
  readonly #pending = new Map<number, (answer: Answer) => void>();
  /** The errors that pages have reported, such as violations of their Content-Security-Policy. */
  readonly errors: string[] = [];
  /** Sessions of frames, by target. */
  readonly #frames = new Map<string, string>();
  #lastId = 0;
  #page: string | undefined;

  private constructor(child: ChildProcess, folder: string, socket: WebSocket) {
    this.#child = child;
    this.#folder = folder;
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      const answer = JSON.parse(String(data)) as Answer;
      const entry = answer.method === "Log.entryAdded" ? answer.params?.entry : undefined;
      if (entry?.level === "error") this.errors.push(entry.text);
      this.#pending.get(answer.id ?? 0)?.(answer);
    });
  }

  /** @param more Further flags of the program. */
  static async start(...more: readonly string[]): Promise<Chromium> {
    const folder = mkdtempSync(join(tmpdir(), "mcp-edge-chromium-"));
    // Without a sandbox, because the sandbox does not work for root.
    const flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-port=0"];
    // Pages of hosts with real names are served on this machine.
    flags.push("--host-resolver-rules=MAP *.example 127.0.0.1", `--user-data-dir=${folder}`);
    const child = spawn(
      findProgram("chromium", "chromium-browser", "google-chrome"),
      [...flags, ...more, "about:blank"],
      {
        stdio: ["ignore", "ignore", "pipe"],
      },
    );
    const socket = new WebSocket(await addressOf(child));
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve);
      socket.addEventListener("error", () => reject(new Error("Chromium refuses the connection.")));
    });
    return new Chromium(child, folder, socket);
  }

  /** Opens an address, and resolves when its page is loaded. */
  async open(url: string): Promise<void> {
    const { targetId } = await this.#send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.#send("Target.attachToTarget", { targetId, flatten: true });
    this.#page = String(sessionId);
    await this.#send("Log.enable", {});
    await this.goTo(url);
  }

  /** Opens an address in the same tab, and resolves when its page is loaded. */
  async goTo(url: string): Promise<void> {
    await this.#send("Page.navigate", { url });
    await this.run(
      "new Promise((loaded) => document.readyState === 'complete' ? loaded() : addEventListener('load', loaded))",
    );
  }

  /**
   * Runs an expression in the page, waits for its promise and returns its value as JSON.
   *
   * @throws {Error} what the expression throws.
   */
  async run(expression: string, session: string | undefined = this.#page): Promise<unknown> {
    const asked = { expression, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails } = (await this.#send("Runtime.evaluate", asked, session)) as {
      readonly result?: { readonly value?: unknown };
      readonly exceptionDetails?: { readonly exception?: { readonly description?: string }; readonly text?: string };
    };
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result?.value;
  }

  /** Presses and releases a key, as a keyboard does. */
  async press(key: "Tab" | "Enter" | " "): Promise<void> {
    const windowsVirtualKeyCode = { Tab: 9, Enter: 13, " ": 32 }[key];
    const text = { Tab: "", Enter: "\r", " ": " " }[key];
    const event = { key, code: key === " " ? "Space" : key, windowsVirtualKeyCode };
    await this.#send("Input.dispatchKeyEvent", {
      ...event,
      type: text ? "keyDown" : "rawKeyDown",
      ...(text ? { text } : {}),
    });
    await this.#send("Input.dispatchKeyEvent", { ...event, type: "keyUp" });
  }

  /** Clicks the middle of the element that a selector finds, with the mouse, as soon as it takes clicks. */
  async click(selector: string): Promise<void> {
    const place = await this.#middleOf(selector);
    await this.#send("Input.dispatchMouseEvent", { ...place, type: "mouseMoved" });
    const found = `document.querySelector(${JSON.stringify(selector)})`;
    await this.waitFor(`${found}.contains(document.elementFromPoint(${place.x}, ${place.y}))`);
    await this.#press(place);
  }

  /** Clicks there at once, without moving the mouse over the page before. */
  async clickSuddenly(selector: string): Promise<void> {
    await this.#press(await this.#middleOf(selector));
  }

  async #middleOf(selector: string): Promise<{ readonly x: number; readonly y: number }> {
    const middle = `(() => { const found = document.querySelector(${JSON.stringify(selector)}); found.scrollIntoView(); const { x, y, width, height } = found.getBoundingClientRect(); return { x: x + width / 2, y: y + height / 2 }; })()`;
    return (await this.run(middle)) as { readonly x: number; readonly y: number };
  }

  async #press(place: object): Promise<void> {
    const event = { ...place, button: "left", clickCount: 1 };
    await this.#send("Input.dispatchMouseEvent", { ...event, type: "mousePressed" });
    await this.#send("Input.dispatchMouseEvent", { ...event, type: "mouseReleased" });
  }

  /**
   * Runs an expression in the page's first frame, which must be in a process of its own, as sandboxed frames are. Returns its
   * value as JSON.
   *
   * @throws {Error} what the expression throws, or that there is no such frame yet.
   */
  async runInFrame(expression: string): Promise<unknown> {
    const { targetInfos } = (await this.#send("Target.getTargets", {})) as { readonly targetInfos: readonly Target[] };
    const frames = targetInfos.filter(({ type }) => type === "iframe");
    const frame = frames.find(({ targetId }) => this.#frames.has(targetId)) ?? frames[0];
    if (!frame) throw new Error("The page has no frame in a process of its own.");
    const session = this.#frames.get(frame.targetId) ?? (await this.#attach(frame));
    return this.run(expression, session);
  }

  async #attach({ targetId }: Target): Promise<string> {
    const { sessionId } = await this.#send("Target.attachToTarget", { targetId, flatten: true });
    const session = String(sessionId);
    this.#frames.set(targetId, session);
    // Also reports what went wrong before.
    await this.#send("Log.enable", {}, session);
    return session;
  }

  /** Sends an event of the DevTools domain `Input` to the page, which passes it on to its frames. */
  async input(event: `dispatch${string}Event`, params: object): Promise<void> {
    await this.#send(`Input.${event}`, params);
  }

  /** Sets what pages learn about their reader, such as `prefers-color-scheme`. */
  async setMedia(features: Readonly<Record<string, string>>): Promise<void> {
    const list = Object.entries(features).map(([name, value]) => ({ name, value }));
    await this.#send("Emulation.setEmulatedMedia", { features: list });
  }

  /** Removes all cookies. */
  async clearCookies(): Promise<void> {
    await this.#send("Network.clearBrowserCookies", {});
  }

  /** Waits until an expression is true, also while the page changes. @throws {Error} with the page, after 20 s. */
  async waitFor(expression: string): Promise<void> {
    const end = Date.now() + 20_000;
    while ((await this.run(expression).catch(() => false)) !== true) {
      if (Date.now() > end) {
        const shown = await this.run("location.href + '\\n' + document.body?.innerText").catch(String);
        throw new Error(`${expression} did not become true. The page is: ${shown}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#socket.close();
    this.#child.kill("SIGKILL");
    await ended;
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }

  async #send(method: string, params: object, sessionId = this.#page): Promise<Record<string, unknown>> {
    this.#lastId += 1;
    const id = this.#lastId;
    const answered = new Promise<Answer>((resolve) => this.#pending.set(id, resolve));
    this.#socket.send(JSON.stringify({ id, method, params, sessionId }));
    const { result, error } = await answered;
    this.#pending.delete(id);
    if (error) throw new Error(`${method}: ${error.message}`);
    return result ?? {};
  }
}

/** Returns the address of the DevTools, which the browser prints when it is ready. */
function addressOf(child: ChildProcess): Promise<string> {
  let output = "";
  return new Promise((resolve, reject) => {
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      const [, address] = /DevTools listening on (ws:\S+)/.exec(output) ?? [];
      if (address !== undefined) resolve(address);
    });
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`Chromium ended with ${code}: ${output}`)));
  });
}
