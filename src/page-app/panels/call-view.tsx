/**
 * The running and finished calls of a tool, a prompt or a resource.
 *
 * @module
 */
import { useSignal, useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import type { CallToolResult, GetPromptResult, Progress, ReadResourceResult, Tool } from "../../client/index.ts";
import { Blocks, Contents } from "../content/blocks.tsx";
import { withoutDouble } from "../content/content-facts.ts";
import { JsonTree } from "../content/json-tree.tsx";
import { ModelView } from "../content/model-view.tsx";
import { ViewPanel, viewOf } from "../content/view-frame.tsx";
import { announce } from "../parts/announce.tsx";
import { Copy } from "../parts/copy.tsx";
import { Fold } from "../parts/fold.tsx";
import { Icon } from "../parts/icon.tsx";
import { Switch } from "../parts/switch.tsx";
import { clock, duration } from "../parts/text.ts";
import { type Call, calls, type Outcome } from "../state/calls.ts";
import { linkTo } from "../state/route.ts";
import { findEntry } from "../state/timeline.ts";

/** A call, and its tool if it is a tool call. */
interface ShownCall {
  readonly made: Call;
  readonly tool: Tool | undefined;
}

/** Shows the calls with a key, newest first. The result of the newest call is open. */
export function CallList({ of, tool }: { readonly of: string; readonly tool?: Tool }): JSX.Element {
  const own = calls.value.filter(({ key }) => key === of);
  return (
    <>
      {own.map((made, at) => (
        <CallView key={made.id} made={made} tool={tool} isNewest={at === 0} />
      ))}
    </>
  );
}

function CallView({ made, tool, isNewest }: ShownCall & { readonly isNewest: boolean }): JSX.Element {
  useSignalEffect(() => {
    const { value } = made.outcome;
    if (value) announce(describe(value)[1]);
  });
  const { value: outcome } = made.outcome;
  const result = outcome?.kind === "result" && <ResultView made={made} tool={tool} outcome={outcome} />;
  return (
    <section class="call" aria-label="Result">
      <CallHead made={made} outcome={outcome} />
      {outcome === undefined && <Waiting made={made} />}
      <Logs made={made} />
      {result && (isNewest ? result : <Fold title="Result">{result}</Fold>)}
      {outcome?.kind === "error" && <ErrorView outcome={outcome} />}
    </section>
  );
}

/** Returns the icon and the text for the outcome of a call. */
function describe(outcome: Outcome | undefined): readonly ["good" | "bad" | "stop" | "wait", string] {
  if (outcome === undefined) return ["wait", "Running"];
  if (outcome.kind === "cancelled") return ["stop", "Cancelled"];
  if (outcome.kind === "error") return ["bad", "Error"];
  return outcome.result.isError === true ? ["bad", "The tool failed"] : ["good", "Done"];
}

function CallHead({ made, outcome }: { readonly made: Call; readonly outcome: Outcome | undefined }): JSX.Element {
  const [icon, text] = describe(outcome);
  const { value: ended } = made.endedAtMs;
  const entry = findEntry(made);
  return (
    <header>
      <h2 data-state={icon}>
        <Icon name={icon} /> {text}
      </h2>
      {ended !== undefined && <span class="about">{duration(ended - made.startedAtMs)}</span>}
      <span class="about">{clock(made.startedAtMs).slice(0, 8)}</span>
      {entry && (
        <a href={linkTo("call", entry.id)}>
          <Icon name="flow" /> View trace
        </a>
      )}
    </header>
  );
}

function Waiting({ made }: { readonly made: Call }): JSX.Element {
  const { value: progress } = made.progress;
  return (
    <div class="waiting">
      {progress ? <ProgressView progress={progress} /> : <progress aria-label="Waiting for the result" />}
      <button type="button" onClick={() => made.cancel()}>
        <Icon name="stop" /> Cancel
      </button>
    </div>
  );
}

function ProgressView({ progress: { progress, total, message } }: { readonly progress: Progress }): JSX.Element {
  return (
    <div class="progress">
      <progress {...(total !== undefined && { max: total, value: progress })} aria-label={message ?? "Progress"} />
      <span class="about">
        {total === undefined ? progress : `${progress} of ${total}`} {message}
      </span>
    </div>
  );
}

function Logs({ made }: { readonly made: Call }): JSX.Element | null {
  const { value: logs } = made.logs;
  if (logs.length === 0) return null;
  return (
    <Fold title={`Log messages (${logs.length})`}>
      <ul class="logs">
        {logs.map(({ level, logger, data }, at) => (
          <li key={at}>
            <b>{level}</b> {logger} {typeof data === "string" ? data : JSON.stringify(data)}
          </li>
        ))}
      </ul>
    </Fold>
  );
}

function ErrorView({
  outcome: { message, code, data },
}: {
  readonly outcome: Extract<Outcome, { kind: "error" }>;
}): JSX.Element {
  return (
    <div class="note">
      <p>
        {code !== undefined && <code>{code}</code>} {message}
      </p>
      {data !== undefined && <JsonTree value={data} />}
    </div>
  );
}

type Form = "both" | "json";

function ResultView({
  made,
  tool,
  outcome,
}: ShownCall & { readonly outcome: Extract<Outcome, { kind: "result" }> }): JSX.Element {
  const form = useSignal<Form>("both");
  const { result } = outcome;
  return (
    <>
      <div class="bar">
        <Switch
          label="Show the result as"
          value={form.value}
          options={[
            ["both", "Result"],
            ["json", "JSON"],
          ]}
          onChange={(next) => {
            form.value = next;
          }}
        />
        <Copy text={() => JSON.stringify(result, null, 2)} label="Copy JSON" />
      </div>
      {form.value === "json" ? (
        <JsonTree value={result} open={3} />
      ) : (
        <Rendered made={made} tool={tool} result={result} />
      )}
    </>
  );
}

function Rendered({ made, tool, result }: ShownCall & { readonly result: object }): JSX.Element {
  if ("messages" in result) return <Messages result={result as GetPromptResult} />;
  if ("contents" in result)
    return (
      <>
        {(result as ReadResourceResult).contents.map((each, at) => (
          <Contents key={at} contents={each} />
        ))}
      </>
    );
  const called = result as CallToolResult;
  const view = viewOf(tool?._meta);
  return (
    <div class="sides">
      <section>
        <h3>Users see</h3>
        {view !== undefined && tool && <ViewPanel uri={view} call={{ tool, args: made.args, result: called }} />}
        <Blocks content={withoutDouble(called)} />
        {called.structuredContent !== undefined && (
          <div class="block">
            <small>structured result</small>
            <JsonTree value={called.structuredContent} open={3} />
          </div>
        )}
      </section>
      <ModelView result={called} />
    </div>
  );
}

function Messages({ result: { messages, description } }: { readonly result: GetPromptResult }): JSX.Element {
  return (
    <>
      {description && <p class="description">{description}</p>}
      {messages.map(({ role, content }, at) => (
        <div class={`message ${role}`} key={at}>
          <h3>{role === "user" ? "User" : "Assistant"}</h3>
          <Blocks content={[content]} />
        </div>
      ))}
    </>
  );
}
