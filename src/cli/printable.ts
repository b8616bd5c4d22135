/**
 * Text for terminals. Text from peers must not contain control characters: they could move the cursor, set the clipboard or
 * reverse the reading direction.
 */
import pc from 'picocolors'

/** Colours for one stream: off unless it is a terminal; `NO_COLOR` and `FORCE_COLOR` override this. */
function coloursFor(stream: { readonly isTTY?: boolean }): ReturnType<typeof pc.createColors> {
  const { NO_COLOR, FORCE_COLOR, TERM } = process.env
  return pc.createColors(!NO_COLOR && (Boolean(FORCE_COLOR) || (stream.isTTY === true && TERM !== 'dumb')))
}

export const onStdout = coloursFor(process.stdout)
export const onStderr = coloursFor(process.stderr)

/** Removes control characters, except line ends and tabs, and characters that change the reading direction. */
export function printable(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu, '')
}

/** As `printable`, on one line. */
export function oneLine(text: string): string {
  return printable(text.replace(/\s+/g, ' ')).trim()
}

/** JSON with all control characters escaped; `JSON.stringify` leaves some of them. */
export function printableJson(value: unknown, indent?: number): string {
  return (JSON.stringify(value, null, indent) ?? 'null').replace(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Formats a number of bytes, such as `1.5 MB`. */
export function byteSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  const units = ['kB', 'MB', 'GB', 'TB']
  let value = bytes
  let unit = -1
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000
    unit += 1
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`
}

/** Replaces the user info and the query of a URL with `…`. */
export function withoutSecrets(url: string): string {
  const start = url.indexOf('//') + 2
  const authority = start < 2 ? '' : (/^[^/?#]*/.exec(url.slice(start))?.[0] ?? '')
  const host = authority.slice(authority.lastIndexOf('@') + 1)
  const shown =
    host === authority ? url : `${url.slice(0, start)}…@${url.slice(start + authority.length - host.length)}`
  return shown.replace(/\?[^#]*/, '?…')
}

/** Quotes a word for a POSIX shell if necessary. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

/** Aligns columns. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = []
  for (const row of rows)
    for (const [place, cell] of row.entries()) widths[place] = Math.max(widths[place] ?? 0, cell.length)
  const lines = rows.map((row) =>
    row
      .map((cell, place) => cell.padEnd(widths[place] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  return lines.join('\n')
}
