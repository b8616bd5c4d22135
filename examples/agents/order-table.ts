// The orders of a small tea house, in SQLite.
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'libsql'

export interface Order {
  readonly id: string
  readonly product: string
  readonly productEn: string
  /** In fen. */
  readonly price: number
  readonly status: 'paid' | 'brewing' | 'shipped' | 'delivered'
}

const firstOrders: [string, string, string, number, Order['status']][] = [
  ['ORDER_001', '云边茉莉', 'Cloudside Jasmine', 1800, 'shipped'],
  ['ORDER_002', '桂花云露', 'Osmanthus Dew', 2200, 'delivered'],
  ['ORDER_003', '山间龙井', 'Hillside Longjing', 2600, 'brewing'],
  ['ORDER_004', '玫瑰乌龙', 'Rose Oolong', 1950, 'paid'],
]

/** Opens the table. The first start creates and fills it in one transaction. */
export function openOrders(path: string) {
  mkdirSync(dirname(path), { recursive: true })
  const database = new Database(path, { timeout: 5000 }) // another process may be filling the table
  database.exec('BEGIN IMMEDIATE')
  if (!database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'orders'").get()) {
    database.exec(
      'CREATE TABLE orders (id TEXT PRIMARY KEY, product TEXT NOT NULL, productEn TEXT NOT NULL, price INTEGER NOT NULL, status TEXT NOT NULL) STRICT',
    )
    const insert = database.prepare('INSERT INTO orders VALUES (?, ?, ?, ?, ?)')
    for (const order of firstOrders) insert.run(...order)
  }
  database.exec('COMMIT')
  const byId = database.prepare('SELECT * FROM orders WHERE id = ?')
  const all = database.prepare('SELECT * FROM orders ORDER BY id')
  return {
    find: (id: string) => {
      const row = byId.get(id)
      return row === undefined ? undefined : orderIn(row)
    },
    all: () => all.all().map(orderIn),
    close: () => {
      database.close()
    },
  }
}

/** Returns the columns of a row, without the measurements that the driver adds. */
function orderIn(row: unknown) {
  const { _metadata, ...order } = row as Order & { _metadata?: unknown }
  return order
}
