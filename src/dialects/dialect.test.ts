import { describe, expect, it } from 'vitest'
import { clientDialects } from './clients.js'
import { dialectContract } from './dialect.contract.js'
import { dialectNames } from './dialect.js'
import { createDialects } from './servers.js'

describe('the dialects of this package', () => {
  it('are the same on both sides, and have the published names', () => {
    expect(createDialects().map(({ name }) => name)).toEqual(dialectNames)
    expect(clientDialects.map(({ name }) => name)).toEqual(dialectNames)
  })
})

for (const server of createDialects()) {
  const client = clientDialects.find(({ name }) => name === server.name)
  if (client) dialectContract({ describe, it }, { server, client })
}
