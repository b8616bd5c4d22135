// One keep-alive connection that carries one call at a time. undici's `dispatch` is used instead of
// `node:http` because the generator must cost clearly less than the fastest server it measures.
import { Client } from 'undici'

const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }

/**
 * @param {string} origin
 * @param {{ silenceMs?: number }} [options] how long a server may stay silent before a call fails
 */
export function openConnection(origin, options = {}) {
  const { silenceMs = 60_000 } = options
  const client = new Client(origin, { bodyTimeout: silenceMs, headersTimeout: silenceMs })
  return {
    /** The parsed answer of a call that is not a stream. */
    async call(method, params) {
      const chunks = []
      await exchange(client, encodeCall(method, params), (chunk) => chunks.push(chunk))
      const body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)
      return resultOf(JSON.parse(body.toString()))
    },
    /** Hands every piece of the body over as it comes; ends when the server ends the stream. */
    stream(method, params, onChunk) {
      return exchange(client, encodeCall(method, params), onChunk)
    },
    close() {
      return client.destroy()
    },
  }
}

function encodeCall(method, params) {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
}

/** @returns {Promise<void>} settled when the answer has ended */
function exchange(client, body, onChunk) {
  return new Promise((resolve, reject) => {
    let status
    client.dispatch(
      { path: '/', method: 'POST', headers, body },
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

export function resultOf(answer) {
  if (answer.error) throw new Error(`The server answered ${JSON.stringify(answer.error)}`)
  return answer.result
}
