import type { SimpleStorage } from '../stores/simple/simple-store.js'

/** The parts of a Durable Object's storage that are used. */
export interface ObjectStorage {
  readonly sql: { exec(query: string, ...values: unknown[]): Iterable<Readonly<Record<string, unknown>>> }
  transactionSync<T>(work: () => T): T
  sync(): Promise<void>
  getAlarm(): Promise<number | null>
  setAlarm(timeMs: number): Promise<void>
}

/** A value has 2 MB at most, in UTF-8, which takes three bytes for each unit of a text at most. */
const maxPieceLength = 600_000

/** Keeps documents in the SQLite storage of a Durable Object, in pieces. */
export function sqlDocuments(storage: ObjectStorage): SimpleStorage {
  const { sql } = storage
  sql.exec(`CREATE TABLE IF NOT EXISTS dragoman_pieces (
    name TEXT NOT NULL, place INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (name, place)) WITHOUT ROWID`)
  const remove = (name: string) => sql.exec('DELETE FROM dragoman_pieces WHERE name = ?', name)
  return {
    async save(name, document) {
      storage.transactionSync(() => {
        remove(name)
        for (const [place, text] of piecesOf(document).entries())
          sql.exec('INSERT INTO dragoman_pieces (name, place, text) VALUES (?, ?, ?)', name, place, text)
      })
      await storage.sync()
    },
    async load(name) {
      const rows = [...sql.exec('SELECT text FROM dragoman_pieces WHERE name = ? ORDER BY place', name)]
      return rows.length === 0 ? undefined : rows.map(({ text }) => text).join('')
    },
    async list() {
      return [...sql.exec('SELECT name FROM dragoman_pieces WHERE place = 0')].map(({ name }) => String(name))
    },
    async remove(name) {
      remove(name)
      await storage.sync()
    },
  }
}

/** Cuts a text, but not between the two units of one character, which UTF-8 cannot encode alone. */
function piecesOf(text: string): readonly string[] {
  const pieces: string[] = []
  for (let start = 0; start < text.length || start === 0; ) {
    const end = start + maxPieceLength
    const isPair = /[\uD800-\uDBFF]/.test(text.charAt(end - 1))
    pieces.push(text.slice(start, isPair ? end - 1 : end))
    start = isPair ? end - 1 : end
  }
  return pieces
}
