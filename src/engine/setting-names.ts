/** The settings of the engine by name and kind. */
import type { NamesOf } from '../model/option-names.js'
import type { EngineSettings } from './internals.js'

export const settingNames = {
  leaseMs: 'number',
  cancelGraceMs: 'number',
  stallMs: 'number',
  idempotencyMs: 'number',
  dedupeByMessageId: 'boolean',
  cancelTwice: ['task', 'error'],
  pushSecrets: ['creator', 'owner', 'never'],
} satisfies NamesOf<Omit<EngineSettings, 'limits'>>
