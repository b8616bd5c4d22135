/** Cards of several versions, for one agent at one address. */
export const skill = { id: 's', name: 'S', description: 'Does s', tags: ['s'] }

export const v1Card = (url: string, rest: object = {}) => ({
  name: 'Agent',
  description: 'An agent',
  version: '1.0.0',
  supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  capabilities: { streaming: true },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [skill],
  ...rest,
})

export const v0_3Card = (url: string, rest: object = {}) => ({
  protocolVersion: '0.3.0',
  name: 'Agent',
  description: 'An agent',
  url,
  preferredTransport: 'JSONRPC',
  version: '1.0.0',
  capabilities: {},
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [skill],
  ...rest,
})

export const v0_1Card = (url: string, rest: object = {}) => ({
  name: 'Agent',
  url,
  version: '1.0.0',
  capabilities: { streaming: true },
  skills: [{ id: 's', name: 'S' }],
  ...rest,
})

export const taskRestCard = (url: string, rest: object = {}) => ({
  name: 'Agent',
  url,
  version: '1.0.0',
  capabilities: { streaming: true, pushNotifications: false },
  skills: [{ id: 's', name: 'S', inputModes: ['text'], outputModes: ['text', 'data'] }],
  ...rest,
})
