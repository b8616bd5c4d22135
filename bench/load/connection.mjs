// One connection that carries one call at a time. undici's `dispatch` is used instead of
// `node:http` because the generator must cost clearly less than the fastest server it measures.
import { Client } from 'undici'

/**
 * @param {string} origin
 * @param {{ silenceMs?: number, isKeptAlive?: boolean, headers?: Record<string, string> }} [options] how long a
 *   server may stay silent before a call fails, whether all calls share the connection or each makes its own,
 *   and what goes with every call
 */
export function openConnection(origin, options = {}) {
  const { silenceMs = 60_000, isKeptAlive = true, headers } = options
  const complete = (request) => (headers ? { ...request, headers: { ...request.headers, ...headers } } : request)
  const client = new Client(origin, {
    bodyTimeout: silenceMs,
    headersTimeout: silenceMs,
    pipelining: isKeptAlive ? 1 : 0,
  })
  return {
    /** The parsed answer of a call that is not a stream. */
    async call(request) {
      const chunks = []
      await exchange(client, complete(request), (chunk) => chunks.push(chunk))
      const body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)
      return JSON.parse(body.toString())
    },
    /** Hands every piece of the body over as it comes; ends when the server ends the stream. */
    stream(request, onChunk) {
      return exchange(client, complete(request), onChunk)
    },
    close() {
      return client.destroy()
    },
  }
}

/**
 * @param {import('./dialects.mjs').Request} request
 * @returns {Promise<void>} settled when the answer has ended
 */
function exchange(client, { method = 'POST', path, headers, body }, onChunk) {
  return new Promise((resolve, reject) => {
    let status
    client.dispatch(
      { path, method, headers, body },
      {
        onRequestStart() {},
        onResponseStart(_controller, statusCode) {
          status = statusCode
        },
        onResponseData(_controller, chunk) {
          onChunk(chunk)
        },
        onResponseEnd() {
          if (status === 200) resolve()
          else reject(new Error(`The server answered with status ${status}`))
        },
        onResponseError(_controller, error) {
          reject(error)
        },
      },
    )
  })
}
