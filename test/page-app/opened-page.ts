/** The page of `mcp-edge dev` in Chromium, with a server on workerd and a stub of the recorder. */
import { buildPageApp } from "../../scripts/page-app.ts";
import { ROOT } from "../../scripts/tools.ts";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { Chromium } from "../harness/chromium.ts";
import { RecorderStub } from "../harness/recorder-stub.ts";
import { PageDriver } from "./page-driver.ts";

export class OpenedPage extends PageDriver {
  readonly worker: TestWorker;
  readonly recorder: RecorderStub;

  private constructor(worker: TestWorker, recorder: RecorderStub, browser: Chromium) {
    super(browser, recorder.page());
    this.worker = worker;
    this.recorder = recorder;
  }

  /** @param entry The path of the server, relative to the root of the repository. */
  static async start(entry: string): Promise<OpenedPage> {
    await buildPageApp(`${ROOT}dist/page-app`);
    const worker = await startWorker({ entry, objects: ["McpObject"] });
    const recorder = await RecorderStub.start(worker.origin);
    const browser = await Chromium.start();
    await browser.open(recorder.page());
    await browser.resize(1400, 900);
    return new OpenedPage(worker, recorder, browser);
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    await this.recorder[Symbol.asyncDispose]();
    await this.worker.stop();
  }
}
