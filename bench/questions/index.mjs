// All questions, in the order they are asked.
//
// A question names its columns (the figures each measurement returns), its settings, its entries
// (who is measured at what) and the budgets its medians are held against.
import { auth } from './auth.mjs'
import { client } from './client.mjs'
import { dialects } from './dialects.mjs'
import { grpc } from './grpc.mjs'
import { idle } from './idle.mjs'
import { list } from './list.mjs'
import { memory } from './memory.mjs'
import { port } from './port.mjs'
import { postgres } from './postgres.mjs'
import { push } from './push.mjs'
import { registry } from './registry.mjs'
import { send } from './send.mjs'
import { stream } from './stream.mjs'
import { workflow } from './workflow.mjs'

/**
 * @typedef {Record<string, number | undefined>} Figures
 * @typedef {{ key: string, title: string, digits?: number, isShare?: boolean }} Column
 * @typedef {{ id: string, server: string, title?: string, measure(): Promise<Figures> }} Entry
 * @typedef {{ what: string, value: number, unit: string,
 *   atLeast?: number, atMost?: number, below?: number }} Budget
 * @typedef {(entryId: string, key: string) => number} Median NaN for what was not measured
 * @typedef {{ name: string, title: string, rounds: { full: number, quick: number },
 *   columns: Column[], settings(run: { isQuick: boolean }): Record<string, number>,
 *   entries(settings: Record<string, number>): Entry[],
 *   budgets(median: Median, settings: Record<string, number>): Budget[],
 *   finish?(): Promise<void> }} Question
 */

/** @type {Question[]} */
export const questions = [
  send,
  stream,
  dialects,
  grpc,
  port,
  auth,
  push,
  client,
  workflow,
  memory,
  idle,
  registry,
  postgres,
  list,
]
