import { isInterrupted } from '../model/task.js'
import { EndedRows } from './memory-index.js'
import { isPending } from './memory-lanes.js'
import type { Row } from './memory-row.js'

/** Sizes of tasks by owner. An owner without tasks takes no room. */
export class OwnerBytes {
  readonly #bytes = new Map<string, number>()

  of(agent: string, owner: string): number {
    return this.#bytes.get(`${agent}\n${owner}`) ?? 0
  }

  add(agent: string, owner: string, bytes: number): void {
    if (bytes === 0) return
    const sum = this.of(agent, owner) + bytes
    if (sum > 0) this.#bytes.set(`${agent}\n${owner}`, sum)
    else this.#bytes.delete(`${agent}\n${owner}`)
  }
}

/** Rows that a full store may evict: ended tasks, then tasks that wait for input. Rows with pending webhooks come last. */
export class EvictableRows {
  readonly ended = new EndedRows<Row>()
  /** Tasks that wait for input, the longest waiting first. */
  readonly #waiting = new Set<Row>()
  /** The size of all of them. */
  bytes = 0

  /** Call after each change of a row. */
  update(row: Row): void {
    const isEnded = row.endedMs !== undefined
    const isBusy = row.isRunnable || row.lease !== undefined
    const isWaiting = !isEnded && !isBusy && row.state !== undefined && isInterrupted(row.state)
    if (isWaiting) this.#waiting.add(row)
    else this.#waiting.delete(row)
    const bytes = isEnded || isWaiting ? row.bytes : 0
    this.bytes += bytes - row.evictableBytes
    row.evictableBytes = bytes
  }

  remove(row: Row): void {
    this.ended.remove(row)
    this.#waiting.delete(row)
    this.bytes -= row.evictableBytes
    row.evictableBytes = 0
  }

  /** The row to evict next. */
  next(besides: Row | undefined): Row | undefined {
    const isOther = (row: Row) => row !== besides
    const isTold = (row: Row) => row !== besides && !hasPendingWebhook(row)
    return (
      this.ended.oldest(isTold) ??
      first(this.#waiting, isTold) ??
      this.ended.oldest(isOther) ??
      first(this.#waiting, isOther)
    )
  }
}

function hasPendingWebhook({ lanes }: Row): boolean {
  if (lanes) for (const lane of lanes.values()) if (isPending(lane)) return true
  return false
}

function first(rows: Iterable<Row>, matches: (row: Row) => boolean): Row | undefined {
  for (const row of rows) if (matches(row)) return row
  return undefined
}
