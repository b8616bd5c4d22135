/** Whether this is Node or something that gives itself out as Node: only there are names looked up by us. */
export function isNode(): boolean {
  // Not by name: the type of a browser's global has no such member.
  const { process: host } = globalThis as { readonly process?: { readonly versions?: { readonly node?: string } } }
  return typeof host?.versions?.node === 'string'
}
