/**
 * The layout of the page: the top bar, the sidebar, the main panel, and the recorded calls.
 *
 * @module
 */
import { effect, signal } from "@preact/signals";
import type { JSX } from "preact";
import { Confirmation } from "../panels/confirm.tsx";
import { Panel } from "../panels/panel.tsx";
import { Questions } from "../panels/questions.tsx";
import { info, status } from "../state/connection.ts";
import { questions } from "../state/questions.ts";
import { linkTo, route } from "../state/route.ts";
import { serverName } from "../state/server-name.ts";
import { TimelinePane } from "../timeline/pane.tsx";
import { Announcer } from "./announce.tsx";
import { Icon } from "./icon.tsx";
import { Shortcuts, showShortcuts } from "./shortcuts.tsx";
import { Sidebar } from "./sidebar.tsx";

export function Shell(): JSX.Element {
  return (
    <main class="shell" data-pane={pane.value}>
      <button type="button" class="skip" onClick={() => document.getElementById("open")?.focus()}>
        Skip to content
      </button>
      <TopBar />
      <Sidebar />
      <div class="open" id="open" tabIndex={-1}>
        <Questions />
        <Panel />
      </div>
      <TimelinePane />
      <Tabs />
      <Confirmation />
      <Shortcuts />
      <Announcer />
    </main>
  );
}

type Pane = "offer" | "open" | "calls";

/** The part that is visible on small screens. */
const pane = signal<Pane>("offer");

// A newly opened panel or question becomes visible.
effect(() => {
  pane.value = route.value.kind === "" && questions.value.length === 0 ? "offer" : "open";
});

const TABS: readonly (readonly [Pane, string])[] = [
  ["offer", "Server"],
  ["open", "Details"],
  ["calls", "Calls"],
];

/** Tabs that select the visible part on small screens. */
function Tabs(): JSX.Element {
  return (
    <nav class="tabs" aria-label="Page sections">
      {TABS.map(([each, text]) => (
        <button
          type="button"
          key={each}
          aria-pressed={pane.value === each}
          onClick={() => {
            pane.value = each;
          }}
        >
          {text}
        </button>
      ))}
    </nav>
  );
}

function TopBar(): JSX.Element {
  const { value } = status;
  const { version } = (value.is === "connected" && value.client.server.info) || { version: "" };
  return (
    <header class="top">
      <h1 class="name">
        <a href={linkTo("")}>
          {serverName()} <small>{version}</small>
        </a>
      </h1>
      <code class="about">{info.value?.endpoint.url}</code>
      <Connection />
      {questions.value.length > 0 && (
        <span class="tag" data-state="ask">
          <Icon name="ask" /> {questions.value.length} to answer
        </span>
      )}
      <button type="button" class="quiet" onClick={showShortcuts} aria-keyshortcuts="?">
        Keys <kbd>?</kbd>
      </button>
    </header>
  );
}

function Connection(): JSX.Element {
  const { value } = status;
  const [icon, text] =
    value.is === "connected"
      ? (["good", value.client.server.protocolVersion] as const)
      : value.is === "failed"
        ? (["bad", "Not connected"] as const)
        : (["wait", "Connecting"] as const);
  return (
    <a class="tag" data-state={icon} href={linkTo("settings")}>
      <Icon name={icon} /> {text}
    </a>
  );
}
