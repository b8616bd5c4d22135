/** Whether this is Node, or a runtime compatible with Node. */
export function isNode(): boolean {
  // `globalThis.process` does not exist in the types of browsers.
  const { process: host } = globalThis as { readonly process?: { readonly versions?: { readonly node?: string } } }
  return typeof host?.versions?.node === 'string'
}
