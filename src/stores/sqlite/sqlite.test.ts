import { describe, it } from 'vitest'
import { storeContract } from '../store.contract.js'
import { openSqliteStore } from './index.js'

describe('sqlite store', () => storeContract({ describe, it }, ({ now }) => openSqliteStore(':memory:', { now })))
