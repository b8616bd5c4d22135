import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer, type TlsOptions } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { certificate, key } from '../../../test/matrix/certificate.js'
import { v1 } from '../../dialects/v1/index.js'
import type { AgentService } from '../../model/service.js'
import { context, testClient } from './client.fixture.js'
import { testGrpc } from './grpc.fixture.js'

const task = { id: 't-1', contextId: 'c-1', status: { state: 'TASK_STATE_COMPLETED' } } as const

/** Our server behind TLS. */
async function encrypted(options: TlsOptions = {}) {
  const inner = await testGrpc({ getTask: async () => task } as unknown as AgentService, v1) // the test calls no other operation
  const listener = createServer({ key, cert: certificate, ALPNProtocols: ['h2'], ...options }, (socket) => {
    inner.grpc.accept(socket)
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  return {
    port: (listener.address() as AddressInfo).port, // it listens on TCP
    async [Symbol.asyncDispose]() {
      listener.close()
      await inner[Symbol.asyncDispose]()
    },
  }
}

describe('encrypted connections', () => {
  it('are used for https URLs, and if TLS is requested (R-GRPC-1)', async () => {
    await using server = await encrypted()
    const tls = { ca: certificate }
    for (const authority of [
      `https://localhost:${server.port}`,
      `localhost:${server.port}`,
      `http://localhost:${server.port}`,
    ]) {
      using client = testClient(0, { authority, tls })
      expect(await client.getTask({ id: 't-1' }, context)).toEqual(task)
    }
  })

  it('reject certificates of unknown authorities', async () => {
    await using server = await encrypted()
    using client = testClient(0, { authority: `https://localhost:${server.port}` })
    await expect(client.getTask({ id: 't-1' }, context)).rejects.toMatchObject({ failure: 'unreachable' })
  })

  it('never fall back to plaintext', async () => {
    await using server = await testGrpc({ getTask: async () => task } as unknown as AgentService, v1) // as above
    using client = testClient(0, { authority: `https://localhost:${server.port}`, tls: false })
    await expect(client.getTask({ id: 't-1' }, context)).rejects.toMatchObject({ failure: 'unreachable' })
  })

  it('send a client certificate to agents that request one', async () => {
    await using server = await encrypted({ requestCert: true, rejectUnauthorized: true, ca: certificate })
    const authority = `localhost:${server.port}`
    using client = testClient(0, { authority, tls: { ca: certificate, cert: certificate, key } })
    expect(await client.getTask({ id: 't-1' }, context)).toEqual(task)
    using anonymous = testClient(0, { authority, tls: { ca: certificate } })
    await expect(anonymous.getTask({ id: 't-1' }, context)).rejects.toMatchObject({ failure: 'unreachable' })
  })
})
