/** A registry without rate limits, so that the figure is its capacity. Usage: registry STORE */
import { serveRegistry } from 'dragoman/registry'

const { url } = await serveRegistry({
  store: process.argv[2] ?? 'memory',
  allowPrivate: true,
  probes: false,
  limits: { rate: 'none', maxAgentsPerOwner: 100_000 },
})
console.log(`Listening on ${url}`)
