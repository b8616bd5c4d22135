/** The settings of the engine by name and kind. */
import type { NamesOf } from '../model/option-names.js'
import type { EngineSettings } from './internals.js'

export const settingNames = {
  leaseMs: true,
  cancelGraceMs: true,
  stallMs: true,
  idempotencyMs: true,
  dedupeByMessageId: 'boolean',
  cancelTwice: ['task', 'error'],
  pushSecrets: ['creator', 'owner', 'never'],
} satisfies NamesOf<Omit<EngineSettings, 'limits'>>
