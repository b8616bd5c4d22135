// A registry without limits on how often it may be asked: what is measured is how often it can be.
// Usage: registry.mjs STORE
import { serveRegistry } from '../../dist/registry/index.js'

const { url } = await serveRegistry({
  store: process.argv[2],
  allowPrivate: true,
  probes: false,
  limits: { rate: 'none', maxAgentsPerOwner: 100_000 },
})
console.log(`Listening on ${url}`)
