/**
 * Text that callers chose, as a database can keep it. NUL and halves of surrogate pairs are legal in
 * JSON strings but not in a text column; such text is kept escaped behind a mark, all other as it is.
 */
const mark = '\u001f'
const isUnusual = /[\0\ud800-\udfff]/

export function toStorable(text: string): string {
  if (!isUnusual.test(text) && !text.startsWith(mark)) return text
  return isUsual(text) ? text : mark + JSON.stringify(text)
}

export function fromStorable(stored: string): string {
  return stored.startsWith(mark) ? (JSON.parse(stored.slice(1)) as string) : stored
}

/** Whole surrogate pairs are ordinary characters. */
function isUsual(text: string): boolean {
  return !text.startsWith(mark) && !text.includes('\0') && text.isWellFormed()
}
