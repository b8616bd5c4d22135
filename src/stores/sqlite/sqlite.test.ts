import { describe, it } from 'vitest'
import { recordsContract } from '../records.contract.js'
import { storeContract } from '../store.contract.js'
import { openSqliteStore } from './index.js'

describe('sqlite store', () => storeContract({ describe, it }, ({ now }) => openSqliteStore(':memory:', { now })))

describe('records in sqlite', () =>
  recordsContract({ describe, it }, ({ now }) => openSqliteStore(':memory:', { now })))
