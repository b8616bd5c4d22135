import { createServer } from 'node:https'
import type { TLSSocket } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { certificate as cert, key } from '../../test/matrix/certificate.js'
import { createNodeFetch } from './node-fetch.js'

describe('createNodeFetch', () => {
  it('shows the client certificate, and reads bodies and streams', async () => {
    const server = createServer(
      { cert, key, ca: cert, requestCert: true, rejectUnauthorized: true },
      (request, response) => {
        const { subject } = (request.socket as TLSSocket).getPeerCertificate() // it is a TLS server
        response.writeHead(200, { 'x-method': request.method ?? '' })
        request.pipe(response.write(`${subject.CN}:`) ? response : response)
      },
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number } // it listens on a port
    const url = `https://127.0.0.1:${port}/`
    try {
      const response = await createNodeFetch({ cert, key, ca: cert })(url, {
        method: 'POST',
        headers: { a: 'b' },
        body: 'hello',
      })
      expect(response.headers.get('x-method')).toBe('POST')
      expect(await response.text()).toBe('localhost:hello')
      await expect(createNodeFetch({ cert, key })(url)).rejects.toMatchObject({
        message: 'fetch failed',
        cause: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' },
      })
      await expect(createNodeFetch({ cert, key, ca: cert })(url, { signal: AbortSignal.abort() })).rejects.toThrow()
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })
})
