// Writes without a model and without a network. The same request always gives the same text.
import { setTimeout as sleep } from 'node:timers/promises'
import { offlineOutline } from './offline-outlines.js'
import { offlineSections } from './offline-sections.js'
import { smallTalk } from './small-talk.js'
import { summarise } from './summarise.js'

/**
 * @param {{ paceMs?: number }} [options] a pause before every piece, for those who like to watch
 * @returns {import('./writer.js').Writer}
 */
export function createOfflineWriter({ paceMs = 0 } = {}) {
  /** @param {Iterable<string>} pieces @param {AbortSignal | undefined} signal */
  async function* paced(pieces, signal) {
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

/** Cut behind punctuation, as somebody would speak.
 * @param {string} text
 */
function phrases(text) {
  return text.split(/(?<=[，。！？；：\n]|[,.!?;:]\s)/u)
}
