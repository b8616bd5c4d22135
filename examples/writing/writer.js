// Who writes: a language model when one is configured, else the offline writer.
//
//   DRAGOMAN_MODEL=qwen3 DRAGOMAN_MODEL_URL=http://localhost:11434/v1 [DRAGOMAN_MODEL_KEY=…] node …
import { createModelWriter } from './model-writer.js'
import { createOfflineWriter } from './offline-writer.js'

/** @import { Outline } from './outline.js' */
/** @import { Line } from './small-talk.js' */

/** @typedef {{ signal?: AbortSignal }} WriteOptions */

/**
 * @typedef {object} Writer
 * @property {string} name the model's, or `offline`; artifacts carry it in their metadata
 * @property {(topic: string, options?: WriteOptions) => Promise<Outline>} outline
 * @property {(outline: Outline, options?: WriteOptions) => AsyncIterable<string>} document
 * @property {(text: string, options?: WriteOptions) => AsyncIterable<string>} summary
 * @property {(lines: readonly Line[], options?: WriteOptions) => AsyncIterable<string>} chat answers the last line
 */

/**
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Writer}
 */
export function createWriter(env = process.env) {
  const { DRAGOMAN_MODEL: model, DRAGOMAN_MODEL_URL: url, DRAGOMAN_MODEL_KEY: key, DRAGOMAN_PACE_MS: pace } = env
  if (!model && !url) return createOfflineWriter({ paceMs: Number(pace) || 0 })
  if (!model || !url) throw new TypeError('DRAGOMAN_MODEL and DRAGOMAN_MODEL_URL belong together: set both, or none')
  return createModelWriter({ model, url, ...(key && { key }) })
}
