/** Drives the page of `mcp-edge dev` in Chromium like a user. */
import { Chromium } from "../harness/chromium.ts";

/** Finds the element whose label is a text, or whose text begins with it. */
const FIND = `(text, selector) => [...document.querySelectorAll(selector)].find((each) => each.checkVisibility() && ((each.getAttribute("aria-label") ?? "").trim() === text || each.textContent.trim().startsWith(text)))`;
const PRESSABLE = "button, a, summary, label.check, [role=option], dialog button";

/** The page in one tab. */
export class PageDriver implements AsyncDisposable {
  readonly browser: Chromium;
  readonly #url: string;

  protected constructor(browser: Chromium, url: string) {
    this.browser = browser;
    this.#url = url;
  }

  /** Starts Chromium, and opens the page. */
  static async open(url: string): Promise<PageDriver> {
    const browser = await Chromium.start();
    await browser.open(url);
    await browser.resize(1400, 900);
    return new PageDriver(browser, url);
  }

  /** Reloads the page with settings of the client. @param hash The route. */
  async open(hash: string, settings: object = {}): Promise<void> {
    await this.browser.run(`localStorage.setItem("mcp-edge-page", JSON.stringify(${JSON.stringify(settings)}))`);
    await this.browser.goTo("about:blank");
    await this.browser.goTo(this.#url + hash);
    await this.browser.waitFor("document.querySelector('.top .tag')?.dataset.state === 'good'");
  }

  /** Opens a route without reloading the page. */
  async show(hash: string): Promise<void> {
    await this.browser.run(`location.hash = ${JSON.stringify(hash)}`);
  }

  /** Waits until the page shows text. */
  async sees(text: string, selector = "body"): Promise<void> {
    await this.browser.waitFor(
      `[...document.querySelectorAll(${JSON.stringify(selector)})].some((each) => each.innerText.includes(${JSON.stringify(text)}))`,
    );
  }

  /** Presses the button or link with a text. */
  async press(text: string, selector: string = PRESSABLE): Promise<void> {
    const found = `(${FIND})(${JSON.stringify(text)}, ${JSON.stringify(selector)})`;
    await this.browser.waitFor(`${found} !== undefined && !${found}.disabled`);
    await this.browser.run(`${found}.click()`);
  }

  /** Fills in the control with a label. */
  async fill(label: string, value: string | boolean): Promise<void> {
    const found = `(${CONTROL})(${JSON.stringify(label)})`;
    await this.browser.waitFor(`${found} !== undefined`);
    await this.browser.run(`(${SET})(${found}, ${JSON.stringify(value)})`);
  }

  /** Sets the value of the control that matches a selector. */
  async fillSelector(selector: string, value: string): Promise<void> {
    await this.browser.run(`(${SET})(document.querySelector(${JSON.stringify(selector)}), ${JSON.stringify(value)})`);
  }

  /** Types into the control with a label, key by key. */
  async typeInto(label: string, text: string): Promise<void> {
    const found = `(${CONTROL})(${JSON.stringify(label)})`;
    await this.browser.waitFor(`${found} !== undefined`);
    await this.browser.run(`${found}.focus()`);
    await this.browser.type(text);
  }

  /** Returns the texts of the elements that match a selector. */
  async texts(selector: string): Promise<string[]> {
    const expression = `[...document.querySelectorAll(${JSON.stringify(selector)})].map((each) => each.innerText.trim())`;
    return (await this.browser.run(expression)) as string[];
  }

  /** The errors that the browser has reported, apart from HTTP statuses. */
  get problems(): readonly string[] {
    return this.browser.errors.filter((text) => !text.includes("the server responded with a status of"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser[Symbol.asyncDispose]();
  }
}

const CONTROL = `(text) => {
  const label = [...document.querySelectorAll("label, legend")].find((each) => each.checkVisibility() && (each.firstChild?.textContent.trim() === text || each.innerText.trim() === text || each.innerText.trim().startsWith(text + "\\\\n")));
  return label?.control ?? undefined;
}`;

/** Sets a value like user input: through the setter of the element, with an event. */
const SET = `(control, value) => {
  if (typeof value === "boolean") { if (control.checked !== value) control.click(); return; }
  if (control.tagName === "SELECT") {
    const option = [...control.options].find((each) => each.text === value);
    if (!option) throw new Error("There is no option " + value);
    control.value = option.value;
    control.dispatchEvent(new Event("change", { bubbles: true }));
    return;
  }
  const prototype = control.tagName === "TEXTAREA" ? HTMLTextAreaElement.prototype : HTMLInputElement.prototype;
  Object.getOwnPropertyDescriptor(prototype, "value").set.call(control, value);
  control.dispatchEvent(new Event("input", { bubbles: true }));
}`;
