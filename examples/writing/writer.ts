// Chooses the writer: a language model if one is configured, else the offline writer.
//
//   DRAGOMAN_MODEL=qwen3 DRAGOMAN_MODEL_URL=http://localhost:11434/v1 [DRAGOMAN_MODEL_KEY=…] node …
import { createModelWriter } from './model-writer.ts'
import { createOfflineWriter } from './offline-writer.ts'
import type { Outline } from './outline.ts'
import type { ChatMessage } from './small-talk.ts'

interface WriteOptions {
  readonly signal?: AbortSignal
}

export interface Writer {
  /** Name of the model, or `offline`. Artifacts have it in their metadata. */
  readonly name: string
  readonly outline: (topic: string, options?: WriteOptions) => Promise<Outline>
  readonly document: (outline: Outline, options?: WriteOptions) => AsyncIterable<string>
  readonly summary: (text: string, options?: WriteOptions) => AsyncIterable<string>
  /** Answers the last message. */
  readonly chat: (lines: readonly ChatMessage[], options?: WriteOptions) => AsyncIterable<string>
}

export function createWriter(env: NodeJS.ProcessEnv = process.env): Writer {
  const { DRAGOMAN_MODEL: model, DRAGOMAN_MODEL_URL: url, DRAGOMAN_MODEL_KEY: key, DRAGOMAN_PACE_MS: pace } = env
  if (!model && !url) return createOfflineWriter({ paceMs: Number(pace) || 0 })
  if (!model || !url) throw new TypeError('DRAGOMAN_MODEL and DRAGOMAN_MODEL_URL belong together: set both, or none')
  return createModelWriter({ model, url, ...(key && { key }) })
}
