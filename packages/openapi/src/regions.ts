/**
 * Files that consist of regions, and what becomes of an author's changes when a file is written again.
 *
 * The record of a file has a hash of each region as it was generated, and one of the text around them. A part that is as it was
 * generated is replaced. A part that the author has changed is kept; if the API has changed there too, the new text is reported. The
 * author's order of the parts is kept too. A copy of a region belongs to the author.
 *
 * @module
 */
import { createHash } from "node:crypto";

/** The hashes of a generated file. */
export interface FileRecord {
  readonly around: string;
  readonly regions: Readonly<Record<string, string>>;
}

/** A part that both the author and the API have changed. */
export interface Conflict {
  readonly part: string;
  /** The author's text, which was kept. */
  readonly kept: string;
  /** The text for the present API. */
  readonly offered: string;
}

/** The outcome for a file. */
export interface Merged {
  readonly text: string;
  readonly conflicts: readonly Conflict[];
  /** The regions whose operation the API no longer has, but which the author has changed. */
  readonly orphans: readonly string[];
}

interface Piece {
  /** The name of the region; undefined for the text around regions. */
  readonly region: string | undefined;
  readonly text: string;
}

/** Returns the record of a generated text. */
export function recordOf(text: string): FileRecord {
  const pieces = split(text);
  const regions = pieces.flatMap(({ region, text: own }) => (region === undefined ? [] : [[region, hash(own)]]));
  return { around: hashAround(pieces), regions: Object.fromEntries(regions) };
}

/** Returns the names of the regions of a text. */
export function regionsOf(text: string): string[] {
  return split(text).flatMap(({ region }) => (region === undefined ? [] : [region]));
}

/** Returns a text without some of its regions. */
export function withoutRegions(text: string, names: ReadonlySet<string>): string {
  const kept = split(text).filter(({ region }) => region === undefined || !names.has(region));
  return kept.map((piece) => piece.text).join("");
}

/** Merges a newly generated text into the current one. */
export function merge(present: string, generated: string, record: FileRecord): Merged {
  const [old, fresh] = [split(present.replaceAll("\r\n", "\n")), split(generated)];
  const conflicts: Conflict[] = [];
  const isUntouched = hashAround(old) === record.around && hasOrderOf(old, record);
  const isSame = hashAround(fresh) === record.around || hashAround(fresh) === hashAround(old);
  if (hashAround(old) !== record.around && !isSame)
    conflicts.push({ part: "the text around the regions", kept: around(old), offered: around(fresh) });
  const orphans = old.flatMap(({ region, text }) => {
    if (region === undefined || fresh.some((each) => each.region === region)) return [];
    return isRecorded(record, region) && record.regions[region] !== hash(text) ? [region] : [];
  });
  const chosen = new Map<string, string>();
  for (const { region, text } of fresh) {
    if (region === undefined) continue;
    const own = old.find((each) => each.region === region)?.text;
    // The author has deleted the region.
    if (own === undefined && isRecorded(record, region)) continue;
    const isLost = own === undefined && !isUntouched && placeOfNew(old, record) < 0;
    if (isLost) conflicts.push({ part: region, kept: "", offered: text });
    else chosen.set(region, own === undefined ? text : choose({ region, own, text, record }, conflicts));
  }
  const text = isUntouched ? inFresh(old, fresh, chosen, record) : inOld(old, fresh, chosen, record);
  return { text, conflicts, orphans };
}

/** The current and the generated text of a file, with the record of the last generation. */
interface Texts {
  readonly present: string;
  readonly generated: string;
  readonly record: FileRecord;
}

/** Whether the author has changed a region, and the conflict if the API has changed it too. */
export function conflictOf(
  region: string,
  { present, generated, record }: Texts,
): { readonly isChanged: boolean; readonly conflict: Conflict | undefined } {
  const textIn = (file: string) => split(file).find((piece) => piece.region === region)?.text ?? "";
  const own = textIn(present.replaceAll("\r\n", "\n"));
  const conflicts: Conflict[] = [];
  choose({ region, own, text: textIn(generated), record }, conflicts);
  return { isChanged: !isRecorded(record, region) || hash(own) !== record.regions[region], conflict: conflicts[0] };
}

interface Both {
  readonly region: string;
  readonly own: string;
  readonly text: string;
  readonly record: FileRecord;
}

function choose({ region, own, text, record }: Both, conflicts: Conflict[]): string {
  const recorded = isRecorded(record, region) ? record.regions[region] : undefined;
  // The hash ignores formatting, so the author's format is kept if nothing else has changed.
  if (hash(own) === recorded) return hash(text) === recorded ? own : text;
  if (hash(text) !== recorded && hash(text) !== hash(own)) conflicts.push({ part: region, kept: own, offered: text });
  return own;
}

/** Returns the merged text in the generated order, with the author's formatting. Regions that the author has added come last. */
function inFresh(
  old: readonly Piece[],
  fresh: readonly Piece[],
  chosen: ReadonlyMap<string, string>,
  record: FileRecord,
) {
  const added = old.filter(({ region, text }) => isAuthors(region, text, chosen, record));
  const last = fresh.findLastIndex(({ region }) => region !== undefined);
  return fresh
    .flatMap(({ region }, at) => {
      const own =
        region === undefined ? [formatted(old, fresh, at)] : chosen.has(region) ? [chosen.get(region) ?? ""] : [];
      return at === last ? [...own, ...added.map((each) => `\n${each.text}`)] : own;
    })
    .join("");
}

/** Returns the text between regions as the author has formatted it, if only its formatting was changed. */
function formatted(old: readonly Piece[], fresh: readonly Piece[], at: number): string {
  const text = fresh[at]?.text ?? "";
  const isPlace = (place: number) => {
    const [before, after] = [fresh[at - 1]?.region, fresh[at + 1]?.region];
    if (before === undefined) return place === 0;
    if (after === undefined) return place === old.length - 1;
    return old[place - 1]?.region === before || old[place + 1]?.region === after;
  };
  const same = old.find((each, place) => {
    return each.region === undefined && isPlace(place) && hash(each.text) === hash(text);
  });
  return same?.text ?? text;
}

/** Returns the merged text in the author's order. New regions follow the last generated one. */
function inOld(
  old: readonly Piece[],
  fresh: readonly Piece[],
  chosen: ReadonlyMap<string, string>,
  record: FileRecord,
) {
  const present = new Set(old.map(({ region }) => region));
  const added = fresh.filter(({ region }) => region !== undefined && !present.has(region) && chosen.has(region));
  const last = placeOfNew(old, record);
  const isKept = ({ region, text }: Piece) =>
    region === undefined || chosen.has(region) || isAuthors(region, text, chosen, record);
  const kept = old.flatMap((piece, at) => {
    const own = isKept(piece) && !isLeftOver(old, at, isKept) ? [chosen.get(piece.region ?? "") ?? piece.text] : [];
    return at === last ? [...own, ...added.map((each) => `\n${each.text}`)] : own;
  });
  return kept.join("");
}

/** Whether a piece is the empty line of a removed region: the line before it or, without one, the line after it. */
function isLeftOver(pieces: readonly Piece[], at: number, isKept: (piece: Piece) => boolean): boolean {
  const isEmpty = (piece: Piece | undefined) => piece?.region === undefined && piece?.text.trim() === "";
  const isRemoved = (piece: Piece | undefined) => piece !== undefined && !isKept(piece);
  if (!isEmpty(pieces[at])) return false;
  if (isRemoved(pieces[at + 1])) return true;
  return isRemoved(pieces[at - 1]) && !isEmpty(pieces[at - 2]);
}

/** Whether a region that is no longer generated was added or changed by the author. */
function isAuthors(region: string | undefined, text: string, chosen: ReadonlyMap<string, string>, record: FileRecord) {
  if (region === undefined || chosen.has(region)) return false;
  return !isRecorded(record, region) || record.regions[region] !== hash(text);
}

/** Whether the regions are those that were generated, in the same order. */
function hasOrderOf(pieces: readonly Piece[], { regions }: FileRecord): boolean {
  const names = pieces.flatMap(({ region }) => (region === undefined ? [] : [region]));
  return JSON.stringify(names) === JSON.stringify(Object.keys(regions));
}

/** Returns the index of the last generated region. Regions of the author do not count, because they may be outside of the function. */
function placeOfNew(pieces: readonly Piece[], record: FileRecord): number {
  return pieces.findLastIndex(({ region }) => region !== undefined && isRecorded(record, region));
}

function isRecorded({ regions }: FileRecord, region: string): boolean {
  return Object.hasOwn(regions, region);
}

function around(pieces: readonly Piece[]): string {
  return pieces
    .filter(({ region }) => region === undefined)
    .map(({ text }) => text)
    .join("");
}

/** Hashes the text around regions and the positions of the regions. Adjacent regions count as one. */
function hashAround(pieces: readonly Piece[]): string {
  const placed = pieces.map(({ region, text }) => (region === undefined ? text : "\n// #region\n")).join("");
  return hash(placed.replace(/(?:\/\/ #region\s+)+/g, "// #region\n"));
}

/** Hashes the tokens of a text, so that another formatter of code does not change the hash, but every other change does. */
function hash(text: string): string {
  return createHash("sha256")
    .update(JSON.stringify(tokensOf(text)))
    .digest("hex")
    .slice(0, 32);
}

const TOKENS =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\[\s\S])*`|[\w$]+|\n|[^\S\n]+|[\s\S]/g;

/**
 * Returns the tokens without what formatters add and remove: white space, semicolons, commas at the end of lists, the first `|` of a
 * union, and parentheses around the only parameter of a function.
 */
function tokensOf(text: string): string[] {
  const all = (text.match(TOKENS) ?? []).filter((token) => token.trim() !== "" && token !== ";");
  const isDropped = (token: string, at: number) => {
    const [before = "", next = ""] = [all[at - 1], all[at + 1]];
    if (token === ",") return /^[)\]}>]$/.test(next);
    if (token === "|") return /^[:=(<,]$/.test(before);
    if (token === "(") return isOnly(all, at);
    return token === ")" && isOnly(all, at - 2);
  };
  return all.filter((token, at) => !isDropped(token, at)).map(plainToken);
}

/** Whether a parenthesis begins the only parameter of a function, such as `(a) => b`. */
function isOnly(tokens: readonly string[], at: number): boolean {
  const [open, name = "", close, equals, arrow] = tokens.slice(Math.max(at, 0), Math.max(at, 0) + 5);
  const isCall = /^[\w$)\]]+$/.test(tokens[at - 1] ?? "") && tokens[at - 1] !== "async" && tokens[at - 1] !== "return";
  return (
    at >= 0 && !isCall && open === "(" && /^[A-Za-z_$][\w$]*$/.test(name) && [close, equals, arrow].join("") === ")=>"
  );
}

/** Writes a string with double quotes, and a comment without the spaces around it. */
function plainToken(token: string): string {
  if (!/^(?:"|')./.test(token)) return token.trim();
  const inner = token.slice(1, -1).replace(/\\(["'])/g, "$1");
  return `"${inner}"`;
}

/** Splits a text into regions and the text around them. An unfinished region ends with the file. */
function split(text: string): Piece[] {
  const pieces: Piece[] = [];
  const names = new Set<string>();
  let region: string | undefined;
  let lines: string[] = [];
  const end = () => {
    if (lines.length > 0) pieces.push({ region, text: lines.join("") });
    lines = [];
  };
  for (const line of text.match(/[^\n]*\n|[^\n]+$/g) ?? []) {
    const name = /^\s*\/\/ #region (.*?)\s*$/.exec(line)?.[1];
    // The second region with the same name is a copy, which belongs to the author.
    if (region === undefined && name !== undefined && !names.has(name)) {
      end();
      region = name;
      names.add(name);
    }
    lines.push(line);
    if (region !== undefined && /^\s*\/\/ #endregion\b/.test(line)) {
      end();
      region = undefined;
    }
  }
  end();
  return pieces;
}
