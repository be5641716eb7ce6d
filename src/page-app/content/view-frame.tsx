/**
 * Shows a view of MCP Apps in a sandboxed frame with an opaque origin, which can only run scripts and use forms.
 *
 * @module
 */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import { confirmCall } from "../panels/confirm.tsx";
import { Fold } from "../parts/fold.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Mistake } from "../parts/panel-frame.tsx";
import { connected } from "../state/connection.ts";
import { JsonTree } from "./json-tree.tsx";
import { type ViewCall, ViewHost } from "./view-host.ts";
import { allHosts, readHosts, type ViewHosts, withPolicy } from "./view-policy.ts";

/** Returns the URI of a tool's view. */
export function viewOf(meta: JsonObject | undefined): string | undefined {
  const ui = isObject(meta?.ui) ? meta.ui.resourceUri : undefined;
  const uri = ui ?? meta?.["ui/resourceUri"];
  return typeof uri === "string" && uri.startsWith("ui://") ? uri : undefined;
}

interface View {
  readonly html: string;
  readonly hosts: ViewHosts;
}

/** Loads and shows the view of a tool. */
export function ViewPanel({ uri, call }: { readonly uri: string; readonly call: ViewCall }): JSX.Element {
  const { value, problem } = useLoaded(() => readView(uri), [uri]);
  const isAllowed = useSignal(false);
  if (!value) return problem ? <Mistake text={problem} /> : <p class="about">Reading the view…</p>;
  const wanted = allHosts(value.hosts);
  return (
    <div class="view">
      {wanted.length > 0 && !isAllowed.value && (
        <p class="about">
          The view wants to load from {wanted.join(", ")}.{" "}
          <button
            type="button"
            class="quiet"
            onClick={() => {
              isAllowed.value = true;
            }}
          >
            Allow these hosts
          </button>
        </p>
      )}
      <Frame
        key={String(isAllowed.value)}
        html={withPolicy(value.html, isAllowed.value ? value.hosts : undefined)}
        call={call}
      />
    </div>
  );
}

async function readView(uri: string): Promise<View> {
  const { contents } = await connected().readResource(uri);
  const [first] = contents;
  if (!first) throw new Error("The resource is empty.");
  const html =
    "text" in first ? first.text : new TextDecoder().decode(Uint8Array.from(atob(first.blob), (c) => c.charCodeAt(0)));
  return { html, hosts: readHosts(first._meta) };
}

function Frame({ html, call }: { readonly html: string; readonly call: ViewCall }): JSX.Element {
  const frame = useRef<HTMLIFrameElement>(null);
  const host = useMemo(
    () => new ViewHost((message) => frame.current?.contentWindow?.postMessage(message, "*"), SERVICES, call),
    [],
  );
  // The frame begins to load when it is inserted, and says only once that it is ready. Other effects run later.
  useLayoutEffect(() => {
    const receive = ({ source, data }: MessageEvent<unknown>) => {
      // The origin of the frame is opaque, so only its window identifies it.
      if (source !== frame.current?.contentWindow) return;
      if (data === "mcp-edge: ready") frame.current?.contentWindow?.postMessage({ html }, "*");
      else void host.receive(data);
    };
    addEventListener("message", receive);
    return () => {
      host.close();
      removeEventListener("message", receive);
    };
  }, []);
  return (
    <>
      <iframe
        ref={frame}
        title={`View of ${call.tool.title ?? call.tool.name}`}
        sandbox="allow-scripts allow-forms"
        src="view.html"
        style={{ height: `${host.height.value}px` }}
      />
      <Link host={host} />
      <Done host={host} />
    </>
  );
}

const SERVICES = {
  callTool: async (name: string, args: JsonObject) => {
    const client = connected();
    const tool = (await client.tools().all()).find((each) => each.name === name);
    if (!tool) throw new Error(`The server has no tool ${name}.`);
    if (!(await confirmCall(tool, args))) throw new Error("The user refused the call.");
    return client.callTool(tool, args);
  },
  request: (method: string, params: JsonObject) => connected().request(method, params),
};

/** Asks the user whether to open a link, and shows its complete URL. */
function Link({ host }: { readonly host: ViewHost }): JSX.Element | null {
  const { value: link } = host.link;
  if (!link) return null;
  const isWeb = /^https?:\/\//.test(link.url);
  return (
    <p class="note">
      The view wants to open <code>{link.url}</code>{" "}
      {isWeb && (
        <a class="button" href={link.url} target="_blank" rel="noopener noreferrer" onClick={() => link.decide(true)}>
          Open
        </a>
      )}{" "}
      <button type="button" onClick={() => link.decide(false)}>
        {isWeb ? "Refuse" : "Not a web page: refuse"}
      </button>
    </p>
  );
}

function Done({ host }: { readonly host: ViewHost }): JSX.Element | null {
  const { value: done } = host.done;
  if (done.length === 0) return null;
  return (
    <Fold title={`View activity (${done.length})`}>
      <ul>
        {done.map((text, at) => (
          <li key={at}>{text}</li>
        ))}
      </ul>
      {host.context.value !== undefined && (
        <>
          Model context: <JsonTree value={host.context.value} />
        </>
      )}
    </Fold>
  );
}
