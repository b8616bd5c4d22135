import type { TaskState } from 'dragoman/client'
import type { ReactNode } from 'react'
import { useText } from '../text/text.js'

const tones: Readonly<Record<TaskState, string>> = {
  TASK_STATE_SUBMITTED: 'info',
  TASK_STATE_WORKING: 'accent',
  TASK_STATE_COMPLETED: 'good',
  TASK_STATE_FAILED: 'bad',
  TASK_STATE_CANCELED: '',
  TASK_STATE_INPUT_REQUIRED: 'warn',
  TASK_STATE_REJECTED: 'bad',
  TASK_STATE_AUTH_REQUIRED: 'warn',
}

export function StateBadge({ state }: { readonly state: TaskState | undefined }): ReactNode {
  const { states } = useText()
  if (state === undefined) return null
  const isMoving = state === 'TASK_STATE_WORKING' || state === 'TASK_STATE_SUBMITTED'
  return (
    <span className={`badge ${tones[state] ?? ''}`}>
      <span className={`dot${isMoving ? ' pulse' : ''}`} />
      {states[state] ?? state}
    </span>
  )
}
