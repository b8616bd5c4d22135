/** The content of yields. Values of extensions are written only if the extension is active (R11-EXT-1). */
import { approvalRequest, approvals } from '../../model/approvals.js'
import type { TurnRequest } from '../../model/event.js'
import type { ExtensionValue } from '../../model/extension.js'
import type { JsonValue, Part, Struct } from '../../model/part.js'
import { stepPart, steps, stepText } from '../../model/steps.js'
import type { Agent } from '../agent.js'
import type { ArtifactDraft, ReplyDraft, StatusDraft } from '../yields.js'

/** The content of a message or an artifact, and values for the metadata of the task. */
export interface DraftContent {
  readonly parts?: readonly Part[] | undefined
  readonly metadata?: Struct | undefined
  readonly extensions?: readonly string[] | undefined
  /** Values of extensions on a status update, by key. */
  readonly values?: Struct | undefined
}

const noExtensions: readonly string[] = []

/** URIs of the extensions that the agent declares and the caller asked for. */
export function activeExtensions({ card }: Agent, request: TurnRequest | undefined): readonly string[] {
  const asked = request?.extensions
  if (!asked || !card.extensions) return noExtensions
  return card.extensions.flatMap(({ uri }) => (asked.includes(uri) ? [uri] : []))
}

/** The content of a yield for a turn with these active extensions. */
export function contentOf(draft: ArtifactDraft | StatusDraft | ReplyDraft, active: readonly string[]): DraftContent {
  if (draft.kind === 'status' && draft.step) {
    if (active.includes(steps.uri)) return { parts: [stepPart(draft.step)], extensions: [steps.uri] }
    const text = stepText(draft.step)
    return text === undefined ? {} : { parts: [{ text }] }
  }
  const { parts, options, values } = draft
  if (draft.kind === 'status' && draft.approval && active.includes(approvals.uri))
    return { parts, metadata: { [approvals.key]: approvalRequest(draft.approval) }, extensions: [approvals.uri] }
  const written = values ? activeValues(values, active) : undefined
  // Most yields have neither.
  if (!written) return options ? { parts, metadata: options.metadata, extensions: options.extensions } : { parts }
  return {
    parts,
    metadata: { ...options?.metadata, ...written.values },
    extensions: [...new Set([...(options?.extensions ?? []), ...written.uris])],
    values: written.values,
  }
}

function activeValues(
  values: readonly ExtensionValue[],
  active: readonly string[],
): { readonly values: Struct; readonly uris: readonly string[] } | undefined {
  const written = values.filter(({ uri }) => active.includes(uri))
  if (written.length === 0) return undefined
  const byKey: Record<string, JsonValue> = {}
  for (const { key, value } of written) byKey[key] = value
  return { values: byKey, uris: written.map(({ uri }) => uri) }
}
