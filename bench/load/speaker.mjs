// A speaker sends texts over one connection and tells what came back, whatever the dialect and the
// binding. The jobs know speakers only.
import { dialects } from './dialects.mjs'
import { openHttpSpeaker } from './http-speaker.mjs'

/**
 * @typedef {{ isCompleted: boolean, text?: string, answer: object }} Told
 * @typedef {{ isTask?: boolean, isCompleted: boolean, chunk?: string }} ToldEvent
 * @typedef {{ isTaskFirst: boolean, send(text: string): Promise<Told>,
 *   readStream(text: string): Promise<ToldEvent[]>,
 *   countStream(text: string): Promise<{ chunks: number, isCompleted: boolean }>,
 *   close(): unknown }} Speaker
 *   `readStream` reads every event, `countStream` the least that proves the stream right.
 */

/**
 * @param {string} dialect a key of `dialects`, or `v1-grpc`
 * @returns {Promise<(origin: string, options?: object) => Speaker>}
 */
export async function speakerOf(dialect) {
  // Loaded on use: it needs Dragoman to be built, which HTTP does not.
  if (dialect === 'v1-grpc') return (await import('./grpc-speaker.mjs')).openGrpcSpeaker
  return (origin, options) => openHttpSpeaker(origin, dialects[dialect], options)
}
