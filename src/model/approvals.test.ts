import { expect, it } from 'vitest'
import { answerApproval, approvals } from './approvals.js'

it('`answerApproval` decides every tool call of an approval', () => {
  const uri = 'https://kagent.dev/extensions/hitl/v1'
  const asking = (request: object) => ({ metadata: { [uri]: { type: 'tool_approval_request', ...request } } })
  const tools = [{ id: 'c1', call_id: 'c1', name: 'pay', args: { amount: 5 } }]
  const approval = approvals.read(asking({ hint: 'Final', tools }))
  expect(approval).toEqual({ hint: 'Final', tools: [{ id: 'c1', name: 'pay', args: { amount: 5 } }] })
  for (const invalid of [{}, { tools: [] }, { tools: [{ id: 5, name: 'pay' }] }, { tools, type: 'ask_user_request' }])
    expect(approvals.read(asking(invalid))).toBeUndefined()

  if (!approval) throw new Error('No approval')
  expect(answerApproval(approval, new Map([['c1', { approved: false, reason: 'Too much' }]]))).toEqual({
    parts: [{ text: 'Rejected: pay (Too much)' }],
    metadata: {
      [uri]: {
        type: 'tool_approval_response',
        approvals: [{ id: 'c1', approved: false, rejection_reason: 'Too much' }],
      },
    },
    extensions: [uri],
  })
  expect(() => answerApproval(approval, new Map())).toThrow('The tool call c1 is not decided')
  expect(() => answerApproval(approval, new Map([['other', { approved: true }]]))).toThrow('No tool call has the id')
})
