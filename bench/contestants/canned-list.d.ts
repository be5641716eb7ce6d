declare module "*/canned-list.txt" {
  /** The JSON text of a tools/list result. bundle.ts generates it. */
  const list: string;
  export default list;
}
