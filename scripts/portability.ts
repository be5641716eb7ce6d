/** Finds code that works only on some operating systems: paths that are built by hand, shells, and programs that are batch files on Windows. */

interface Rule {
  readonly pattern: RegExp;
  readonly instead: string;
}

const FOLDER = String.raw`(?:\w*[fF]older|directory|dir|root|home|cwd\(\)|homedir\(\)|tmpdir\(\)|dirname\([^()]*\))`;

const RULES: readonly Rule[] = [
  { pattern: new RegExp(String.raw`\$\{[\w.#]*\b${FOLDER}\}[/\\]`), instead: "join() of node:path" },
  { pattern: new RegExp(String.raw`\b${FOLDER} \+ ["'\`][/\\]`), instead: "join() of node:path" },
  { pattern: /\.url\)\.pathname\b/, instead: "fileURLToPath() of node:url, or import.meta.filename" },
  { pattern: /\benv\.HOME\b/, instead: "homedir() of node:os" },
  { pattern: /["'`]\/(?:tmp|dev\/null)\b/, instead: "tmpdir() of node:os, or devNull" },
  { pattern: /\bshell: true\b/, instead: "findProgram(), which needs no shell" },
  {
    pattern: /\b(?:spawn|spawnSync|execFile|execFileSync)\(\s*["'](?:npm|npx|pnpm|yarn)["']/,
    instead: "findProgram()",
  },
];

/** Returns a line for each place in a source that is not portable. Comments are not read. */
export function findUnportable(file: string, text: string): string[] {
  return text.split("\n").flatMap((line, index) => {
    if (/^\s*(?:\/\/|\*|\/\*)/.test(line)) return [];
    const rule = RULES.find(({ pattern }) => pattern.test(line));
    return rule === undefined ? [] : [`${file}:${index + 1}: use ${rule.instead}: ${line.trim()}`];
  });
}
