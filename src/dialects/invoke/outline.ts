import type { DialectOutline } from '../client-dialect.js'
import { facts, paths } from './facts.js'

export const outline = { ...facts, bindings: ['HTTP+JSON', 'JSONRPC'], paths } as const satisfies DialectOutline
