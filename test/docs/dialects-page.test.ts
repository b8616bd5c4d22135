import { expect, it } from 'vitest'
import { dialectsPage } from './dialects-page.js'

it('docs/dialects.md is what the code says (npm run docs writes it)', async () => {
  await expect(dialectsPage()).toMatchFileSnapshot('../../docs/dialects.md')
})
