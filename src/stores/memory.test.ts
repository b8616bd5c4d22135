import { describe, it } from 'vitest'
import { MemoryStore } from './memory.js'
import { recordsContract } from './records.contract.js'
import { storeContract } from './store.contract.js'

describe('memory store', () => storeContract({ describe, it }, async ({ now }) => new MemoryStore({ now })))

describe('records in memory', () => recordsContract({ describe, it }, async ({ now }) => new MemoryStore({ now })))
