// Writes without a model and without a network. The same request always gives the same text.
import { setTimeout as sleep } from 'node:timers/promises'
import { offlineOutline } from './offline-outlines.ts'
import { offlineSections } from './offline-sections.ts'
import { smallTalk } from './small-talk.ts'
import { summarise } from './summarise.ts'
import type { Writer } from './writer.ts'

/** @param options `paceMs` is a pause before every piece, for demonstrations. Default 0. */
export function createOfflineWriter({ paceMs = 0 }: { paceMs?: number } = {}): Writer {
  async function* paced(pieces: Iterable<string>, signal: AbortSignal | undefined) {
    for (const piece of pieces) {
      signal?.throwIfAborted()
      if (paceMs > 0) await sleep(paceMs, undefined, signal ? { signal } : {})
      yield piece
    }
  }
  return {
    name: 'offline',
    outline: async (topic) => offlineOutline(topic),
    document: (outline, { signal } = {}) => paced(offlineSections(outline), signal),
    summary: (text, { signal } = {}) => paced([summarise(text)], signal),
    chat: (lines, { signal } = {}) => {
      const earlier = lines.slice(0, -1)
      return paced(phrases(smallTalk(lines.at(-1)?.text ?? '', earlier)), signal)
    },
  }
}

/** Splits a text after punctuation. */
function phrases(text: string) {
  return text.split(/(?<=[，。！？；：\n]|[,.!?;:]\s)/u)
}
