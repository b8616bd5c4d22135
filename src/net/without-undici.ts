/** Replaces undici in Cloudflare Workers, which cannot load it (`imports` in `package.json`). Dialling is then refused. */
export const Agent = undefined
