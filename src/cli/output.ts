/** Output of a command: results go to stdout, everything else to stderr; colours and progress only on terminals. */

import { withoutPasswords } from '../model/error-facts.js'
import { failureOf } from './failure.js'
import { oneLine, onStderr, printable, printableJson } from './printable.js'

export type Format = 'text' | 'json'

/** Erases the line, on which a spinner may be. */
const clearLine = '\r\u001b[K'
const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']

export class Output {
  readonly format: Format
  /** The last line on stdout has no line end yet. */
  #isLineOpen = false

  constructor(format: Format) {
    this.format = format
  }

  /** Prints the result of the command: `text` or, with `-o json`, `value`. */
  result(value: unknown, text: () => string): void {
    if (this.format === 'json') this.#write(`${printableJson(value, 2)}\n`)
    else this.line(text())
  }

  /** Prints one element of a stream: a JSON line, or text without a line end. */
  chunk(value: unknown, text: () => string): void {
    if (this.format === 'json') this.#write(`${printableJson(value)}\n`)
    else this.#write(text())
  }

  /** Prints text on lines of its own. */
  line(text: string): void {
    this.endLine()
    if (text !== '') this.#write(text.endsWith('\n') ? text : `${text}\n`)
  }

  endLine(): void {
    if (this.#isLineOpen) this.#write('\n')
  }

  /** Text from the agent: on a terminal without control characters, otherwise unchanged. */
  safe(text: string): string {
    return process.stdout.isTTY ? printable(text) : text
  }

  /** Prints a remark to stderr; nothing with `-o json`. */
  note(text: string): void {
    if (this.format === 'json') return
    this.endLine()
    process.stderr.write(`${onStderr.dim(printable(text))}\n`)
  }

  /** Prints a remark to stderr in every format, because the user has to act on it. */
  announce(text: string): void {
    this.endLine()
    process.stderr.write(`${process.stderr.isTTY ? clearLine : ''}${printable(text)}\n`)
  }

  warning(text: string): void {
    this.endLine()
    if (this.format === 'json') process.stderr.write(`${printableJson({ warning: text })}\n`)
    else process.stderr.write(`${onStderr.yellow('warning:')} ${oneLine(text)}\n`)
  }

  /** Prints an error and returns the exit code. */
  failure(error: unknown): number {
    const { exitCode, code, a2aCode, ...texts } = failureOf(error)
    // Messages may repeat a URL that the user typed, and stderr often goes to a log.
    const [message, hint] = [withoutPasswords(texts.message), texts.hint && withoutPasswords(texts.hint)]
    this.endLine()
    if (this.format === 'json') {
      process.stderr.write(
        `${printableJson({ error: { code, message, ...(hint && { hint }), ...(a2aCode && { a2aCode }) } })}\n`,
      )
    } else {
      process.stderr.write(`${onStderr.red('dragoman:')} ${oneLine(message)}\n${hint ? `${onStderr.dim(hint)}\n` : ''}`)
    }
    return exitCode
  }

  /** Shows a spinner on a terminal until `work` has settled. */
  async withSpinner<T>(what: string, work: Promise<T>): Promise<T> {
    const { stderr } = process
    if (this.format === 'json' || !stderr.isTTY) return await work
    let frame = 0
    const draw = () => {
      frame = (frame + 1) % frames.length
      stderr.write(`\r${onStderr.cyan(frames[frame] ?? '')} ${onStderr.dim(oneLine(what))}\u001b[K`)
    }
    const timer = setInterval(draw, 80)
    try {
      return await work
    } finally {
      clearInterval(timer)
      stderr.write(clearLine)
    }
  }

  #write(text: string): void {
    if (text === '') return
    process.stdout.write(text)
    this.#isLineOpen = !text.endsWith('\n')
  }
}
