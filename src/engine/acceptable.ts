/** What an agent refuses before any work starts (R-ERR-8), and what it cannot do (R-ERR-9). */
import { A2AError, clip } from '../model/errors.js'
import type { SendMessageRequest } from '../model/service.js'
import type { Agent } from './agent.js'
import { assertWebhook } from './webhooks.js'

/** Where a webhook stands in a request to send a message. */
export const inlineConfig = 'configuration.taskPushNotificationConfig'

export function assertAcceptable(agent: Agent, { message, configuration }: SendMessageRequest): void {
  const push = configuration?.taskPushNotificationConfig
  if (push) {
    assertPush(agent)
    assertWebhook(push, `${inlineConfig}.`)
  }
  const modes = acceptedModes(agent)
  if (!modes) return
  for (const [place, { mediaType }] of message.parts.entries()) {
    if (mediaType === undefined || modes.some((mode) => fits(mediaType, mode))) continue
    throw new A2AError(
      'CONTENT_TYPE_NOT_SUPPORTED',
      `message.parts[${place}]: ${clip(mediaType)} is not accepted here`,
      {
        metadata: { mediaType: clip(mediaType), accepted: modes.join(', ') },
      },
    )
  }
}

export function assertStreaming(agent: Agent): void {
  if (agent.card.capabilities?.streaming !== false) return
  throw new A2AError('UNSUPPORTED_OPERATION', 'This agent does not stream', { metadata: { capability: 'streaming' } })
}

export function assertPush(agent: Agent): void {
  if (agent.card.capabilities?.pushNotifications === true) return
  throw new A2AError('PUSH_NOTIFICATION_NOT_SUPPORTED', 'This agent sends no push notifications')
}

/** Absent when the author declared no input modes, or leaves the check to another agent: then everything is welcome. */
function acceptedModes({ card, enforcesInputModes = true }: Agent): readonly string[] | undefined {
  if (!card.defaultInputModes || !enforcesInputModes) return undefined
  return [...card.defaultInputModes, ...(card.skills ?? []).flatMap(({ inputModes }) => inputModes ?? [])]
}

function fits(mediaType: string, mode: string): boolean {
  const type = mediaType.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  const accepted = mode.trim().toLowerCase()
  if (accepted === '*/*' || accepted === type) return true
  return accepted.endsWith('/*') && type.startsWith(accepted.slice(0, -1))
}
