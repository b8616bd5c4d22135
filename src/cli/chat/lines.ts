/** Where the words of a chat come from: a terminal, with editing and history, or a pipe. */
import { createInterface } from 'node:readline'

export const interrupted: unique symbol = Symbol('interrupted')

export interface Lines {
  /** The next thing said; absent at the end. */
  next(prompt: string): Promise<string | typeof interrupted | undefined>
  close(): void
}

/** A pasted text arrives as many lines at once and is one thing said. */
const pasteMs = 15

/** An interface for each line: between them the terminal is as usual, and Ctrl-C a signal. */
export function terminalLines(): Lines {
  let history: string[] = []
  return {
    next: (prompt) =>
      new Promise((resolve) => {
        const lines: string[] = []
        const reader = createInterface({
          input: process.stdin,
          output: process.stderr,
          terminal: true,
          history,
          removeHistoryDuplicates: true,
          prompt,
        })
        const done = (said: string | typeof interrupted | undefined) => {
          resolve(said)
          reader.close()
        }
        reader.on('history', (lines) => {
          history = lines
        })
        reader.on('line', (line) => {
          lines.push(line)
          if (lines.length === 1) setTimeout(() => done(lines.join('\n')), pasteMs)
        })
        reader.once('SIGINT', () => done(interrupted))
        reader.once('close', () => resolve(lines.length > 0 ? lines.join('\n') : undefined))
        reader.prompt()
      }),
    close: () => {},
  }
}

/** One line is one turn; no prompts. */
export function pipedLines(): Lines {
  const reader = createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY })
  const lines = reader[Symbol.asyncIterator]()
  return {
    next: async () => {
      const { done, value } = await lines.next()
      return done ? undefined : value
    },
    close: () => reader.close(),
  }
}
