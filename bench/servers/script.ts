/** The commands of the echo agent. All servers parse the text in the same way, so that they do the same work. */
export type Script =
  | { readonly kind: 'echo'; readonly text: string }
  | { readonly kind: 'chunks'; readonly count: number }
  | { readonly kind: 'sleep'; readonly ms: number }

export function readScript(text: string): Script {
  const [word, number] = text.split(' ')
  if (word === 'chunks') return { kind: 'chunks', count: Number(number) }
  if (word === 'sleep') return { kind: 'sleep', ms: Number(number) }
  return { kind: 'echo', text }
}
