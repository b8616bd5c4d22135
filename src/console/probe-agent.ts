/** How an agent does, at three levels: its card can be read, its bindings answer, it does what it is asked. */
import { A2AError } from '../model/errors.js'
import { type CardSource, viewCard } from './card-view.js'
import { inWords, noTask, understood } from './connections.js'
import type { ProbeStep, ProbeView } from './console-api.js'
import type { Session } from './session.js'

const timeoutMs = 15_000

export async function probeAgent(
  session: Session,
  ref: string,
  { text, ...source }: CardSource & { readonly text?: string | undefined },
): Promise<ProbeView> {
  const begun = performance.now()
  try {
    const view = await viewCard(session, ref, source)
    const errors = view.report.problems.filter(({ severity }) => severity === 'error').length
    const detail = errors > 0 ? `${errors} errors in the card` : (view.url ?? 'given by the registry')
    const card = { isGood: true, ms: since(begun), detail }
    const bindings = await Promise.all(
      view.choices.map(async ({ dialect, binding, url }) => ({
        dialect,
        binding,
        url,
        ...(await answers(session, { ref, dialect, ...(binding !== 'in-process' && { binding }) })),
      })),
    )
    const isSpoken = bindings.some(({ isGood }) => isGood)
    return { card, bindings, ...(text !== undefined && isSpoken && { call: await calls(session, ref, text) }) }
  } catch (caught) {
    return { card: { isGood: false, ms: since(begun), detail: inWords(caught).message }, bindings: [] }
  }
}

async function answers(session: Session, way: Parameters<Session['connections']['open']>[0]): Promise<ProbeStep> {
  const begun = performance.now()
  try {
    const client = await session.connections.open(way)
    await client.getTask({ id: noTask }, { signal: AbortSignal.timeout(timeoutMs) })
    return { isGood: true, ms: since(begun), detail: 'answers' }
  } catch (caught) {
    const error = inWords(caught)
    const isUnderstood = caught instanceof A2AError && understood.has(caught.code)
    return { isGood: isUnderstood, ms: since(begun), detail: isUnderstood ? 'answers' : error.message }
  }
}

async function calls(session: Session, ref: string, text: string): Promise<ProbeStep> {
  const begun = performance.now()
  try {
    const client = await session.connections.open({ ref })
    const answer = await client.ask(text, { timeoutMs })
    const isGood = answer.state !== 'TASK_STATE_FAILED' && answer.state !== 'TASK_STATE_REJECTED'
    return { isGood, ms: since(begun), detail: answer.text.slice(0, 200) || answer.state }
  } catch (caught) {
    return { isGood: false, ms: since(begun), detail: inWords(caught).message }
  }
}

function since(begun: number): number {
  return Math.round(performance.now() - begun)
}
