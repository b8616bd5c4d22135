/** The extension `urn:dragoman:usage:v1`: tokens and cost of a task, as a running total. */
import { type Extension, extension } from './extension.js'
import { isObject } from './is-object.js'
import { AuthorError, assertOptions, type NamesOf } from './option-names.js'

/** Tokens and cost of a task so far. Of several values the newest counts; they are never summed up. */
export interface Usage {
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly totalTokens?: number
  /** The part of `inputTokens` that came from a cache. */
  readonly cachedTokens?: number
  /** The model that was used last. */
  readonly model?: string
  readonly cost?: Cost
}

/** An amount of money. */
export interface Cost {
  /** A decimal number as text: `0.0123`. */
  readonly amount: string
  /** The code of ISO 4217: `USD`. */
  readonly currency: string
}

const counters = ['inputTokens', 'outputTokens', 'totalTokens', 'cachedTokens'] as const
const usageNames = {
  inputTokens: true,
  outputTokens: true,
  totalTokens: true,
  cachedTokens: true,
  model: true,
  cost: { amount: true, currency: true } satisfies NamesOf<Cost>,
} satisfies NamesOf<Usage>

/** Tokens and cost of a task: `turn.usage.add({ … })` writes it, `usage.read(task)` reads it. */
export const usage: Extension<Usage> = extension<Usage>({
  uri: 'urn:dragoman:usage:v1',
  description: 'Tokens and cost of the task so far, in the metadata of status updates and of the task',
  schema: {
    '~standard': {
      version: 1,
      vendor: 'dragoman',
      validate: (value) => {
        const fault = usageFault(value)
        return fault === undefined ? { value: value as Usage } : { issues: [{ message: fault }] }
      },
    },
  },
})

/** The sum of two usages. Throws for values that are not valid, and for costs in different currencies. */
export function addUsage(total: Usage, more: Usage): Usage {
  assertOptions('turn.usage.add', more, usageNames)
  const fault = usageFault(more)
  if (fault !== undefined) throw new AuthorError(`Invalid usage: ${fault}`)
  const sum: { -readonly [Member in keyof Usage]: Usage[Member] } = { ...total }
  for (const counter of counters) {
    const added = more[counter]
    if (added !== undefined) sum[counter] = Math.min((total[counter] ?? 0) + added, Number.MAX_SAFE_INTEGER)
  }
  if (more.model !== undefined) sum.model = more.model
  if (more.cost) sum.cost = total.cost ? addCost(total.cost, more.cost) : more.cost
  const excess = usageFault(sum)
  if (excess !== undefined) throw new AuthorError(`The usage of the task is too large: ${excess}`)
  return sum
}

function addCost(total: Cost, more: Cost): Cost {
  if (total.currency !== more.currency) throw new AuthorError('Invalid usage: the currency of a task does not change')
  return { amount: addDecimals(total.amount, more.amount), currency: total.currency }
}

/** Adds decimal texts without rounding. */
function addDecimals(one: string, other: string): string {
  const digits = Math.max(fractionOf(one).length, fractionOf(other).length)
  const scaled = (text: string) =>
    BigInt(text.split('.', 1)[0] ?? '') * 10n ** BigInt(digits) + BigInt(fractionOf(text).padEnd(digits, '0') || '0')
  const sum = String(scaled(one) + scaled(other)).padStart(digits + 1, '0')
  return digits === 0 ? sum : `${sum.slice(0, -digits)}.${sum.slice(-digits)}`
}

function fractionOf(decimal: string): string {
  return decimal.split('.')[1] ?? ''
}

function usageFault(value: unknown): string | undefined {
  if (!isObject(value)) return 'it must be an object'
  for (const counter of counters)
    if (value[counter] !== undefined && !(Number.isSafeInteger(value[counter]) && (value[counter] as number) >= 0))
      return `${counter} must be an integer, 0 or more`
  const { model, cost } = value
  if (model !== undefined && !(typeof model === 'string' && model.length <= 200))
    return 'model must be a string of at most 200 characters'
  if (cost === undefined) return undefined
  if (!isObject(cost) || typeof cost.amount !== 'string' || !/^\d{1,18}(\.\d{1,18})?$/.test(cost.amount))
    return "cost.amount must be a decimal number as text: '0.0123'"
  if (typeof cost.currency !== 'string' || !/^[A-Z]{3}$/.test(cost.currency))
    return "cost.currency must be a currency code: 'USD'"
  return undefined
}
