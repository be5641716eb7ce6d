/** The bill of materials of a package: a CycloneDX document with what an installation of its packed file contains. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findProgram } from "../../src/node/program.ts";

/** The part of CycloneDX that is read here. */
interface Component {
  readonly "bom-ref": string;
  readonly name: string;
}
export interface BillOfMaterials {
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

/** Installs packed files in an empty folder, without scripts, and returns the bill of materials of a package in it. */
export function billOf(name: string, tarballs: readonly string[]): BillOfMaterials {
  const folder = mkdtempSync(join(tmpdir(), "mcp-edge-sbom-"));
  try {
    writeFileSync(join(folder, "package.json"), '{ "name": "sbom", "version": "1.0.0", "private": true }');
    const run = (...args: readonly string[]) => {
      const { command, args: all, ...options } = findProgram("npm", args);
      return execFileSync(command, all, { ...options, cwd: folder, encoding: "utf8", maxBuffer: 2 ** 26 });
    };
    run("install", "--ignore-scripts", "--omit=optional", "--omit=peer", "--no-audit", "--no-fund", ...tarballs);
    return withRoot(JSON.parse(run("sbom", "--sbom-format", "cyclonedx")) as BillOfMaterials, name);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Makes a component the subject of a bill of materials, and leaves out what it does not depend on. */
export function withRoot(bill: BillOfMaterials, name: string): BillOfMaterials {
  const root = bill.components.find((component) => component.name === name);
  if (root === undefined) throw new Error(`${name} is not in the bill of materials.`);
  const reached = new Set<string>();
  const visit = (ref: string): void => {
    if (reached.has(ref)) return;
    reached.add(ref);
    for (const next of bill.dependencies.find((each) => each.ref === ref)?.dependsOn ?? []) visit(next);
  };
  visit(root["bom-ref"]);
  return {
    ...bill,
    metadata: { ...bill.metadata, component: root },
    components: bill.components.filter((component) => component !== root && reached.has(component["bom-ref"])),
    dependencies: bill.dependencies.filter(({ ref }) => reached.has(ref)),
  };
}
