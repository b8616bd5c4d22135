/** `fetch` with a client certificate, on Node: the platform's own takes none. Loaded on use. */
import https from 'node:https'
import { Readable } from 'node:stream'

export interface TlsOptions {
  readonly cert: string
  readonly key: string
  readonly passphrase?: string
  readonly ca?: string
}

/** Takes what the client sends: a URL, headers, a text, a signal. Redirects are for the caller to follow. */
export function createNodeFetch(tls: TlsOptions): typeof fetch {
  const agent = new https.Agent({ ...tls, keepAlive: true })
  return async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input)
    // Without TLS there is nobody to show a certificate to.
    if (url.protocol !== 'https:') return fetch(input, init)
    const { method = 'GET', headers, body, signal } = init
    const sent = Object.fromEntries(new Headers(headers))
    return new Promise<Response>((resolve, reject) => {
      const request = https.request(url, { method, headers: sent, agent, ...(signal && { signal }) }, (answer) => {
        const { statusCode: status = 200, statusMessage: statusText = '' } = answer
        const hasBody = method !== 'HEAD' && ![204, 205, 304].includes(status)
        if (!hasBody) answer.resume()
        // `Readable.toWeb` gives the stream of Node's own types, which is the global one.
        const stream = hasBody ? (Readable.toWeb(answer) as unknown as ReadableStream<Uint8Array>) : null
        resolve(new Response(stream, { status, statusText, headers: headersOf(answer.rawHeaders) }))
      })
      // As the platform's own says it.
      request.on('error', (cause) => reject(new TypeError('fetch failed', { cause })))
      request.end(typeof body === 'string' ? body : undefined)
    })
  }
}

function headersOf(raw: readonly string[]): Headers {
  const headers = new Headers()
  for (let place = 0; place + 1 < raw.length; place += 2) headers.append(raw[place] as string, raw[place + 1] as string) // in pairs
  return headers
}
