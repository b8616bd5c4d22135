/** Where a command's words go: results to stdout, everything else to stderr; colour and progress on terminals only. */

import { withoutPasswords } from '../model/error-facts.js'
import { onStderr } from './colours.js'
import { failureOf } from './failure.js'
import { oneLine, printable, printableJson } from './printable.js'

export type Format = 'text' | 'json'

/** A spinner may stand there. */
const clearLine = '\r\u001b[K'
const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']

export class Output {
  readonly format: Format
  /** Whether something was written to stdout that its line does not end yet. */
  #isLineOpen = false

  constructor(format: Format) {
    this.format = format
  }

  /** The result of a command: the text for people, the value for programs. */
  result(value: unknown, text: () => string): void {
    if (this.format === 'json') this.#write(`${printableJson(value, 2)}\n`)
    else this.line(text())
  }

  /** One element of a stream: a JSON line, or text as it comes (without a line end of its own). */
  piece(value: unknown, text: () => string): void {
    if (this.format === 'json') this.#write(`${printableJson(value)}\n`)
    else this.#write(text())
  }

  /** Text on lines of its own. */
  line(text: string): void {
    this.endLine()
    if (text !== '') this.#write(text.endsWith('\n') ? text : `${text}\n`)
  }

  endLine(): void {
    if (this.#isLineOpen) this.#write('\n')
  }

  /** What the agent said, as it said it; a terminal gets it without what could do more than be read. */
  said(text: string): string {
    return process.stdout.isTTY ? printable(text) : text
  }

  /** Something worth knowing that is not the result. */
  note(text: string): void {
    if (this.format === 'json') return
    this.endLine()
    process.stderr.write(`${onStderr.dim(printable(text))}\n`)
  }

  /** Something that somebody must read now, whatever the format. */
  say(text: string): void {
    this.endLine()
    process.stderr.write(`${process.stderr.isTTY ? clearLine : ''}${printable(text)}\n`)
  }

  warning(text: string): void {
    this.endLine()
    if (this.format === 'json') process.stderr.write(`${printableJson({ warning: text })}\n`)
    else process.stderr.write(`${onStderr.yellow('warning:')} ${oneLine(text)}\n`)
  }

  /** Says what went wrong, once, and answers with the exit code. */
  failure(error: unknown): number {
    const { exitCode, code, a2aCode, ...words } = failureOf(error)
    // Addresses that somebody typed, which go into logs from here.
    const [message, hint] = [withoutPasswords(words.message), words.hint && withoutPasswords(words.hint)]
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

  /** Shows on a terminal that something is going on until it is over. */
  async during<T>(what: string, work: Promise<T>): Promise<T> {
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

  #write(words: string): void {
    if (words === '') return
    process.stdout.write(words)
    this.#isLineOpen = !words.endsWith('\n')
  }
}
