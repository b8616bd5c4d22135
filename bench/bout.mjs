// One measurement: a fresh server and a fresh load generator, both gone afterwards.
import { startLoad } from './load/start-load.mjs'
import { startServer } from './servers/start-server.mjs'

/**
 * @param {string} contestant
 * @param {{ hasProbe?: boolean }} options
 * @param {(sides: { server: Awaited<ReturnType<typeof startServer>>,
 *   load: ReturnType<typeof startLoad> }) => Promise<object>} work
 */
export async function bout(contestant, options, work) {
  const server = await startServer(contestant, options)
  const load = startLoad()
  try {
    return await work({ server, load })
  } catch (error) {
    const said = server.complaints()
    if (said) error.message += `\n${contestant} said:\n${said}`
    throw error
  } finally {
    await load.stop()
    await server.stop()
  }
}

/**
 * Runs a job and adds how busy the server was meanwhile, warm-up included. A generator that is
 * busier than the server it drives has measured itself.
 */
export async function runTimed({ server, load }, job, options) {
  const startedAt = performance.now()
  const cpuBefore = await server.cpuSeconds()
  const result = await load.run(job, { origin: server.origin, ...options })
  if (cpuBefore === undefined) return result
  const seconds = (performance.now() - startedAt) / 1000
  return { ...result, serverBusy: ((await server.cpuSeconds()) - cpuBefore) / seconds }
}
