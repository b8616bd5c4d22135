import { expect, it, vi } from 'vitest'

it('examples/integrations/mcp.ts orders a suit', async () => {
  vi.stubEnv('PORT', '0')
  const log = vi.spyOn(console, 'log').mockImplementation(() => undefined)
  try {
    await import('../../examples/integrations/mcp.js')
    expect(log.mock.calls).toEqual([['Which colour?'], ['A blue suit']])
  } finally {
    log.mockRestore()
    vi.unstubAllEnvs()
  }
})
