import { expect, it, vi } from 'vitest'

it('examples/integrations/ai-sdk.ts orders a suit', async () => {
  vi.stubEnv('PORT', '0')
  const log = vi.spyOn(console, 'log').mockImplementation(() => undefined)
  try {
    await import('../../examples/integrations/ai-sdk.js')
    expect(log.mock.calls).toEqual([['Which colour?'], ['A blue suit']])
  } finally {
    log.mockRestore()
    vi.unstubAllEnvs()
  }
})
