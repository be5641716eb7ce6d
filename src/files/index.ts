/**
 * mcp-edge/files: tools that take files as arguments and return them.
 *
 * @module
 */
export { type AddFilesOptions, addFiles } from "./add-files.ts";
export type { FileField, FileFields, FileOptions, FileRules, FileValues, SchemaWithFiles } from "./argument.ts";
export { FileArgument, file, withFiles } from "./argument.ts";
export type { ContentFacts } from "./content-facts.ts";
export { cleanFileName } from "./file-name.ts";
export type { FileBackend, FoundFile, NewFile, UploadLink } from "./store.ts";
export { FileStore, OpenedFile } from "./store.ts";
