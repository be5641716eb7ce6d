/** Chromium without a window, for tests: one page, in which a test runs expressions. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, type CDPSession, type KeyInput, launch, type Page } from "puppeteer-core";
import { findProgram } from "./programs.ts";

/** The flag for a computer with a mouse. Without it, pages learn that there is none. */
export const WITH_MOUSE =
  "--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4";

/** The time, in milliseconds, after which an expression must be true. */
const PATIENCE_MS = 45_000;

/** A running browser with one page. */
export class Chromium implements AsyncDisposable {
  readonly #browser: Browser;
  /** The errors that pages and frames have reported, such as violations of their Content-Security-Policy. */
  readonly errors: string[] = [];
  #opened: { readonly page: Page; readonly session: CDPSession } | undefined;

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  /** @param more Additional flags of the program. */
  static async start(...more: readonly string[]): Promise<Chromium> {
    // Pages of hosts with real names are served on this machine. The sandbox does not work for root.
    const args = ["--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP *.example 127.0.0.1", ...more];
    const executablePath = findProgram("chromium", "chromium-browser", "google-chrome");
    return new Chromium(await launch({ executablePath, args, defaultViewport: null }));
  }

  /** Opens an address, and resolves when its page is loaded. */
  async open(url: string): Promise<void> {
    const page = await this.#browser.newPage();
    page.on("console", (message) => {
      if (message.type() === "error") this.errors.push(message.text());
    });
    const session = await page.createCDPSession();
    this.#opened = { page, session };
    await this.#watch(session);
    await this.goTo(url);
  }

  /** Collects what the browser itself reports about a page or frame. Frames of other origins have their own sessions. */
  async #watch(session: CDPSession): Promise<void> {
    session.on("Log.entryAdded", ({ entry }) => {
      if (entry.level === "error") this.errors.push(entry.text);
    });
    session.on("Target.attachedToTarget", ({ sessionId }) => {
      const frame = session.connection()?.session(sessionId);
      // A frame may be gone before it is watched.
      if (frame) this.#watch(frame).catch(() => undefined);
    });
    await session.send("Target.setAutoAttach", { autoAttach: true, waitForDebuggerOnStart: false, flatten: true });
    await session.send("Log.enable");
  }

  /** Opens an address in the same tab, and resolves when its page is loaded. */
  async goTo(url: string): Promise<void> {
    await this.#page.goto(url);
  }

  /**
   * Runs an expression in the page, waits for its promise and returns its value as JSON.
   *
   * @throws {Error} what the expression throws.
   */
  async run(expression: string): Promise<unknown> {
    return this.#page.evaluate(expression);
  }

  /** Presses and releases a key, as a keyboard does. */
  async press(key: KeyInput): Promise<void> {
    await this.#page.keyboard.press(key === " " ? "Space" : key);
  }

  /** Types text with the keyboard. */
  async type(text: string): Promise<void> {
    await this.#page.keyboard.type(text);
  }

  /** Clicks the middle of the element that a selector finds, with the mouse, as soon as it takes clicks. */
  async click(selector: string): Promise<void> {
    const { x, y } = await this.#middleOf(selector);
    await this.#page.mouse.move(x, y);
    const found = `document.querySelector(${JSON.stringify(selector)})`;
    await this.waitFor(`${found}.contains(document.elementFromPoint(${x}, ${y}))`);
    await this.#press({ x, y });
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
    await this.input("dispatchMouseEvent", { ...event, type: "mousePressed" });
    await this.input("dispatchMouseEvent", { ...event, type: "mouseReleased" });
  }

  /**
   * Runs an expression in the page's first frame. Returns its value as JSON.
   *
   * @throws {Error} what the expression throws, or that there is no frame yet.
   */
  async runInFrame(expression: string): Promise<unknown> {
    const [frame] = this.#page.mainFrame().childFrames();
    if (!frame) throw new Error("The page has no frame.");
    return frame.evaluate(expression);
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

  /** Sets the size of the page, in CSS pixels. */
  async resize(width: number, height: number, deviceScaleFactor = 1): Promise<void> {
    await this.#page.setViewport({ width, height, deviceScaleFactor });
  }

  /** Returns what axe finds in the page: for each problem its rule and the elements. */
  async findBarriers(): Promise<string[]> {
    if ((await this.run("typeof axe")) === "undefined") {
      const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
      await this.run(`${source};undefined`);
    }
    const found = await this.run(
      "axe.run(document, { iframes: false, resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html, any }) => html.slice(0, 200) + ' ' + any.map(({ message }) => message)).join(' | ')))",
    );
    return found as string[];
  }

  /** Returns a picture of the page, as PNG. */
  async screenshot(fullPage = false): Promise<Uint8Array> {
    return this.#page.screenshot({ fullPage });
  }

  /** Removes all cookies. */
  async clearCookies(): Promise<void> {
    await this.#send("Network.clearBrowserCookies", {});
  }

  /** Waits until an expression is true, also while the page changes. @throws {Error} with the page, after 45 s. */
  async waitFor(expression: string): Promise<void> {
    const end = Date.now() + PATIENCE_MS;
    while ((await this.run(expression).catch(() => false)) !== true) {
      if (Date.now() > end) {
        const shown = await this.run("location.href + '\\n' + document.body?.innerText").catch(String);
        throw new Error(`${expression} did not become true. The page is: ${shown}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close();
  }

  get #page(): Page {
    if (!this.#opened) throw new Error("No page is open.");
    return this.#opened.page;
  }

  async #send(method: string, params: object): Promise<void> {
    if (!this.#opened) throw new Error("No page is open.");
    // The tests choose the names of methods of the DevTools protocol.
    await this.#opened.session.send(method as never, params as never);
  }
}
