import { expect, it } from 'vitest'
import { dialectsPage } from './dialects-page.js'

it('docs/dialects.md is up to date (npm run docs writes it)', async () => {
  await expect(dialectsPage()).toMatchFileSnapshot('../../docs/dialects.md')
})
