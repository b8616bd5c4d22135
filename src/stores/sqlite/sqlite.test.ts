import { describe, it } from 'vitest'
import { storeContract } from '../store.contract.js'
import { openSqliteStore } from './index.js'

const open = ({ now }: { readonly now: () => number }) =>
  openSqliteStore(':memory:', { now, leaseClock: { epoch: 'test', now } })

describe('sqlite store', () => storeContract({ describe, it }, open))
