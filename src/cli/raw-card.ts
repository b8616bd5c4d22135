/** Reads cards unparsed, valid or not, from a file or from an agent. */
import { statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { connect, type PublicKey, type Verification, verifyCard, type WireEntry } from '../client/index.js'
import { type AgentOptions, connectOptions } from './agent-options.js'
import type { Output } from './output.js'

interface RawCard {
  readonly raw: unknown
  /** The URL or path of the card. */
  readonly source: string
  readonly signature: Verification
}

export async function readRawCard(
  ref: string,
  options: AgentOptions,
  output: Output,
  trustedKeys?: PublicKey,
): Promise<RawCard> {
  const { raw, source, url } = isFile(ref) ? await fromFile(ref) : await fromAgent(ref, options, output)
  const signature = await verifyCard(
    { raw, ...(url !== undefined && { url }) },
    { policy: options.signed ? 'require' : 'warn', ...(trustedKeys && { keys: trustedKeys }) },
  )
  return { raw, source, signature }
}

interface Found {
  readonly raw: unknown
  readonly source: string
  readonly url?: string
}

async function fromFile(path: string): Promise<Found> {
  return { raw: parse(await readFile(path, 'utf8'), path), source: path }
}

async function fromAgent(ref: string, options: AgentOptions, output: Output): Promise<Found> {
  let found: Found | undefined
  const connecting = await connectOptions(ref, options, output)
  const onWire = (entry: WireEntry) => {
    connecting.onWire?.(entry)
    const { binding, direction, status, body, what } = entry
    if (binding !== 'card' || direction !== 'response' || status !== 200 || typeof body !== 'string') return
    const url = what.replace(/^GET /, '')
    try {
      found = { raw: parse(body, url), source: url, url }
    } catch {
      // Not JSON: many sites answer every path with their front page.
    }
  }
  try {
    // The caller checks the card and its signatures.
    const agent = await connect(ref, { ...connecting, signatures: 'ignore', onWire, onWarning: () => {} })
    await agent.close()
  } catch (error) {
    if (!found) throw error
  }
  if (!found) throw new Error(`No card found at ${ref}`)
  return found
}

function isFile(ref: string): boolean {
  return statSync(ref, { throwIfNoEntry: false })?.isFile() ?? false
}

function parse(text: string, source: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new Error(`${source} is not JSON`)
  }
}
