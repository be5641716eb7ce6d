/**
 * Chooses the media type of a file. A type is chosen only if the content fits it.
 *
 * @module
 */
import { isDetectable, signaturesOf } from "../safe/media.ts";
import type { ContentFacts } from "./content-facts.ts";
import { NAME_BYTES_MAX, shortenFileName } from "./file-name.ts";
import { formatBytes } from "./format-bytes.ts";

/** The media type for content of any kind. Content is never checked against it. */
export const ANY_TYPE = "application/octet-stream";

/** The forms of text in which browsers recognise markup. A first line of CSV may begin with any other word in brackets. */
const MARKUP = ["html", "svg", "xml"];

/** Types of text. The content must not begin in a form of `not`, and must begin in a form of `only`. */
const TEXTS: Readonly<Record<string, { readonly not?: readonly string[]; readonly only?: readonly string[] }>> = {
  "text/plain": {},
  "text/markdown": {},
  "text/csv": { not: MARKUP },
  "text/tab-separated-values": { not: MARKUP },
  "text/calendar": { not: MARKUP },
  "application/json": { only: ["json"] },
  "application/x-ndjson": { only: ["json"] },
  "application/yaml": { not: MARKUP },
  "text/xml": { only: [...MARKUP, "tag"] },
  "application/xml": { only: [...MARKUP, "tag"] },
  "text/html": { only: [...MARKUP, "tag"] },
};

const OFFICE = /^application\/vnd\.openxmlformats-officedocument\.[\w.]{1,100}$/;
/** Documents whose archive begins with their media type. */
const NAMED_ARCHIVE = /^application\/(vnd\.oasis\.opendocument\.[\w.-]{1,100}|epub\+zip)$/;

/** The types of extensions. The first extension of a type is the one that a name without a suitable extension receives. */
const EXTENSIONS: Readonly<Record<string, string>> = {
  txt: "text/plain",
  log: "text/plain",
  md: "text/markdown",
  csv: "text/csv",
  tsv: "text/tab-separated-values",
  ics: "text/calendar",
  json: "application/json",
  ndjson: "application/x-ndjson",
  jsonl: "application/x-ndjson",
  yaml: "application/yaml",
  yml: "application/yaml",
  xml: "application/xml",
  html: "text/html",
  htm: "text/html",
  docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  pptx: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  odt: "application/vnd.oasis.opendocument.text",
  ods: "application/vnd.oasis.opendocument.spreadsheet",
  odp: "application/vnd.oasis.opendocument.presentation",
  epub: "application/epub+zip",
  pdf: "application/pdf",
  zip: "application/zip",
  gz: "application/gzip",
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  avif: "image/avif",
  heic: "image/heic",
  bmp: "image/bmp",
  tif: "image/tiff",
  tiff: "image/tiff",
  ico: "image/x-icon",
  wav: "audio/wav",
  mp3: "audio/mpeg",
  m4a: "audio/mp4",
  ogg: "audio/ogg",
  flac: "audio/flac",
  mp4: "video/mp4",
  webm: "video/webm",
};

/** Extensions of files that an operating system or a browser runs when the user opens them, apart from usual source code. */
const PROGRAM =
  /^(app|bat|chm|cmd|com|command|cpl|desktop|dll|exe|hta|jar|jse|lnk|msi|pif|reg|scf|scr|svg|url|vb[es]|ws[fh])$/;

/** Returns the extensions of a type that are known, without their dots. */
export function extensionsOf(type: string): readonly string[] {
  return Object.keys(EXTENSIONS).filter((extension) => EXTENSIONS[extension] === type);
}

/**
 * Returns the name of a file with an extension that fits its type: handlers often return files under similar names. The wrong
 * extension of another type is replaced, and after any other one the right one is added. Plain text keeps an extension that is
 * neither that of another type nor that of a program.
 */
export function withExtension(name: string, type: string): string {
  const own = extensionsOf(type);
  const extension = extensionIn(name);
  const isOther = Object.hasOwn(EXTENSIONS, extension);
  const isKept = type === "text/plain" && extension !== "" && !isOther && !PROGRAM.test(extension);
  if (own[0] === undefined || own.includes(extension) || isKept) return name;
  return shortenFileName(`${isOther ? name.slice(0, -extension.length - 1) : name}.${own[0]}`, NAME_BYTES_MAX);
}

/** Returns the extension of a name in lower case, without its dot. An empty string if it has none. */
function extensionIn(name: string): string {
  return /.\.([a-z\d]+)$/i.exec(name)?.[1]?.toLowerCase() ?? "";
}

/** Names of types whose extension people may not know. */
const NAMES: Readonly<Record<string, string>> = {
  docx: "Word (DOCX)",
  xlsx: "Excel (XLSX)",
  pptx: "PowerPoint (PPTX)",
  txt: "text",
  md: "Markdown",
  gz: "gzip",
};

/** Returns the name of a media type for people. */
export function nameOfType(type: string): string {
  const [extension] = extensionsOf(type);
  if (extension !== undefined) return NAMES[extension] ?? extension.toUpperCase();
  const [family = "", subtype = ""] = type.split("/");
  if (subtype === "*") return family === "image" ? "images" : family;
  if (type === SVG) return "SVG";
  return type === ANY_TYPE ? "any file" : subtype.replace(/^(x-|vnd\.)+/, "");
}

/** Returns what is accepted, for people: the names of the types, and the maximum size. */
export function describeAccepted(types: readonly string[] | undefined, bytesMax: number): string {
  return [...new Set((types ?? []).map(nameOfType)), `at most ${formatBytes(bytesMax)}`].join(", ");
}

/** Returns a media type in lower case and without parameters. */
export function plainType(type: string): string {
  return (type.split(";")[0] ?? "").trim().toLowerCase();
}

/** Whether content can be checked for a type. `type` is in lower case, and may be a family such as `image/*`. */
export function isCheckable(type: string): boolean {
  if (type === ANY_TYPE || Object.hasOwn(TEXTS, type)) return true;
  return (
    /^(image|audio|video|text)\/\*$/.test(type) || OFFICE.test(type) || NAMED_ARCHIVE.test(type) || isDetectable(type)
  );
}

/** Whether content fits a type. All content fits {@link ANY_TYPE}. */
export function fitsType(type: string, { detected, isText, form = "" }: ContentFacts): boolean {
  if (type === ANY_TYPE) return true;
  if (isTextType(type)) {
    const { not = [], only = [form] } = TEXTS[type] ?? {};
    // A PDF may consist of visible characters only.
    const isFit = only.includes(form) || form === "blank";
    return isText && detected !== "application/pdf" && isFit && !not.includes(form);
  }
  if (detected === undefined) return false;
  if (type.endsWith("/*")) return detected.startsWith(type.slice(0, -1));
  if (OFFICE.test(type)) return detected === "application/zip" && form === "office";
  if (NAMED_ARCHIVE.test(type)) return detected === "application/zip" && form === type;
  return signaturesOf(type).includes(detected);
}

/** What is known about a file when its type is chosen. */
export interface Described {
  readonly facts: ContentFacts;
  /** The type that the sender declares. */
  readonly declared?: string | undefined;
  /** The name of the file. */
  readonly name?: string | undefined;
  /** The types that are accepted. Undefined for all. */
  readonly types?: readonly string[] | undefined;
}

/** Declared types that say nothing about the content. Programs send them if they do not know the type. */
const VAGUE = /^(application\/octet-stream|application\/x-www-form-urlencoded|binary\/octet-stream|\*\/\*|)$/;

/**
 * Returns the type of a file, or why the file is refused: its content does not fit the declared type, or none of the
 * accepted types. A declared type that cannot be checked is ignored.
 */
export function chooseType({
  facts,
  declared = "",
  name = "",
  types,
}: Described): { type: string } | { problem: string } {
  const said = plainType(declared);
  const shown = shownType(facts);
  const what = describeContent(facts, types ?? [said]);
  const isForeignText = facts.isForeignText && [said, ...(types ?? [])].some(isTextType);
  if (!VAGUE.test(said) && isCheckable(said) && !fitsType(said, facts))
    return { problem: isForeignText ? NOT_UTF8 : `it is declared as ${nameOfType(said)}, but ${what}` };
  const extension = extensionIn(name);
  const byName = Object.hasOwn(EXTENSIONS, extension) ? EXTENSIONS[extension] : undefined;
  const isAccepted = (type: string) => !types || types.some((accepted) => covers(accepted, type));
  // Programs also declare any text as text/plain. The name says more.
  const candidates = [
    VAGUE.test(said) || said === "text/plain" ? "" : said,
    byName ?? "",
    said,
    ...(types ?? []),
    shown === SVG ? "application/xml" : shown,
  ];
  const type = candidates.find((each) => isConcrete(each) && isAccepted(each) && fitsType(each, facts));
  if (type !== undefined) return { type };
  if (isForeignText) return { problem: NOT_UTF8 };
  return { problem: `${what}; accepted are ${(types ?? []).map(nameOfType).join(", ")}` };
}

/** Describes the content of a refused file to its owner. */
function describeContent(facts: ContentFacts, wanted: readonly string[]): string {
  const shown = shownType(facts);
  // Office documents are ZIP archives, which few people know.
  if (shown === "application/zip" && wanted.includes(CSV))
    return "its content is an Excel workbook (or a ZIP archive). Save it as CSV (in Excel: CSV UTF-8)";
  return `its content is ${shown === ANY_TYPE ? "of no known format" : nameOfType(shown)}`;
}

const CSV = "text/csv";

/** Why text in another encoding is refused, and what its owner can do. */
export const NOT_UTF8 = "its text is not UTF-8. Save it as UTF-8 (in Excel: CSV UTF-8) and try again";

function isTextType(type: string): boolean {
  return type.startsWith("text/") || Object.hasOwn(TEXTS, type);
}

/** Whether an accepted type, which may be a family, includes a concrete type. */
function covers(accepted: string, type: string): boolean {
  return (
    accepted === type || accepted === ANY_TYPE || (accepted.endsWith("/*") && type.startsWith(accepted.slice(0, -1)))
  );
}

function isConcrete(type: string): boolean {
  return isCheckable(type) && !type.endsWith("/*");
}

/** SVG is shown by its own name, but counts as XML, because it is not safe like other images. */
const SVG = "image/svg+xml";

/** Returns the type that the content alone shows. */
function shownType({ detected, isText, form }: ContentFacts): string {
  if (detected === "application/zip" && form !== undefined && NAMED_ARCHIVE.test(form)) return form;
  if (detected !== undefined) return detected;
  if (!isText) return ANY_TYPE;
  if (form === "html") return "text/html";
  if (form === "svg") return SVG;
  return form === "xml" ? "application/xml" : "text/plain";
}
