/** Splits the network chunks of a stream into its events. */
import type { WireLine } from 'dragoman/console'

export function framesOf(lines: readonly WireLine[]): WireLine[] {
  const open = new Map<string, string>()
  return lines.flatMap((line) => {
    if (line.direction !== 'event' || line.binding === 'GRPC' || typeof line.body !== 'string') return [line]
    const text = (open.get(line.exchange) ?? '') + line.body.replaceAll('\r\n', '\n')
    const frames = text.split('\n\n')
    open.set(line.exchange, frames.pop() ?? '')
    return frames.filter((frame) => frame.trim() !== '').map((frame) => ({ ...line, body: dataOf(frame) }))
  })
}

/** The data of an event after its other fields; comments stay unchanged. */
function dataOf(frame: string): string {
  const lines = frame.split('\n')
  const data = lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trimStart())
  const others = lines.filter((line) => !line.startsWith('data:'))
  if (data.length === 0) return frame
  return [...others, spelled(data.join('\n'))].join('\n')
}

function spelled(data: string): string {
  try {
    return JSON.stringify(JSON.parse(data), null, 2)
  } catch {
    return data
  }
}
