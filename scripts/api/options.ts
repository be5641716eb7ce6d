/** Generates the reference of options from the doc comments of the interfaces whose names end in Options. */

import { TEXTS } from "../../src/authorization-server/pages/texts.ts";
import { DEFAULT_LIMITS } from "../../src/core/index.ts";
import { ROOT } from "../tools.ts";
import type { Entry, Member, PublicName } from "./surface.ts";

export const OPTIONS_FILE = `${ROOT}docs/reference/options.md`;

const HEADER = `# Options

This file is generated from doc comments by \`npm run docs:reference\`. Options without "required" may be left out. A function that is
given an option that does not exist, or a number out of its range, throws a \`KitError\` with the code \`options-invalid\`, which
names the option, its value and what to write. Only \`edge()\` does not throw: its endpoint answers every request with 500 and
the reason "misconfigured", and the log names the mistakes as \`[option-unknown]\` or \`[option-invalid]\`. A request for a
loopback host is answered with the same list.
`;

/** Further interfaces that are options. */
const MORE = new Set(["Limits", "CacheHint", "OriginRules", "PageTexts"]);

/** Defaults that are constants of the package. */
const DEFAULTS: Readonly<Record<string, Readonly<Record<string, number | string>>>> = {
  Limits: { ...DEFAULT_LIMITS },
  PageTexts: { ...TEXTS },
};

/** Returns the text of the document. */
export function optionsDocument(entries: readonly Entry[]): string {
  const shown = new Set<string>();
  const sections = entries.flatMap(({ module, names }) => {
    const own = names.filter((name) => isOptions(name) && !shown.has(`${name.file} ${name.name}`));
    for (const { file, name } of own) shown.add(`${file} ${name}`);
    return own.length > 0 ? [`## ${module}\n`, ...own.map(sectionOf)] : [];
  });
  return [HEADER, ...sections].join("\n");
}

function isOptions({ name, isExported, text }: PublicName): boolean {
  return isExported && text.includes("interface ") && (name.endsWith("Options") || MORE.has(name));
}

function sectionOf({ name, doc, members, inherited }: PublicName): string {
  const rows = [...members, ...inherited].map((member) => rowOf(member, DEFAULTS[name]?.[member.name]));
  return [
    `### ${name}\n`,
    `${inline(doc)}\n`,
    "| option | type | default | meaning |",
    "| --- | --- | --- | --- |",
    ...rows,
    "",
  ].join("\n");
}

/** @param value The default, if it is a constant of the package. */
function rowOf(member: Member, value: number | string | undefined): string {
  const { name, type, text, doc, tags } = member;
  const fallback = defaultOf(member, value);
  return `| \`${name}\` | ${codeOf(type ?? text)} | ${cell(inline(fallback))} | ${cell(meaningOf(doc, tags))} |`;
}

/** Returns the default of an option. @param value The default, if it is a constant of the package. */
export function defaultOf({ tags, isOptional }: Member, value: number | string | undefined): string {
  const given = value?.toLocaleString("en-US") ?? tags.find(([tag]) => tag === "default")?.[1];
  return given ?? (isOptional ? "" : "required");
}

/** Returns the text of a doc comment with its references. */
export function meaningOf(doc: string, tags: Member["tags"]): string {
  const see = tags.filter(([tag]) => tag === "see").map(([, text]) => `See ${text}.`);
  return inline([doc, ...see].join(" "));
}

/** Converts text to one line. TypeDoc links become code. */
export function inline(text: string): string {
  return text
    .replaceAll(/\{@link (?:import\([^)]*\)\.)?([^}]+)\}/g, "`$1`")
    .replaceAll(/\s*\n\s*/g, " ")
    .trim();
}

/** A bar would end the cell of a table. */
export function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}

function codeOf(type: string): string {
  return `\`${cell(type.replaceAll(/import\("[^"]+"\)\./g, "").replaceAll(/\s+/g, " "))}\``;
}
