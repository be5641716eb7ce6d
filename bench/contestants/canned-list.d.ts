declare module "*/canned-list.txt" {
  /** JSON text of a tools/list result. bundle.ts makes it. */
  const list: string;
  export default list;
}
