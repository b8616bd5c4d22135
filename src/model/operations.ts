/** The eleven operations of the protocol: names in `AgentService` and in v1.0. */
export const operations = {
  sendMessage: { name: 'SendMessage', isStreaming: false },
  sendStreamingMessage: { name: 'SendStreamingMessage', isStreaming: true },
  getTask: { name: 'GetTask', isStreaming: false },
  listTasks: { name: 'ListTasks', isStreaming: false },
  cancelTask: { name: 'CancelTask', isStreaming: false },
  subscribeToTask: { name: 'SubscribeToTask', isStreaming: true },
  createTaskPushNotificationConfig: { name: 'CreateTaskPushNotificationConfig', isStreaming: false },
  getTaskPushNotificationConfig: { name: 'GetTaskPushNotificationConfig', isStreaming: false },
  listTaskPushNotificationConfigs: { name: 'ListTaskPushNotificationConfigs', isStreaming: false },
  deleteTaskPushNotificationConfig: { name: 'DeleteTaskPushNotificationConfig', isStreaming: false },
  getExtendedAgentCard: { name: 'GetExtendedAgentCard', isStreaming: false },
} as const

/** The name of an operation, such as `sendMessage`. */
export type Operation = keyof typeof operations

type StreamingOperation = {
  [O in Operation]: (typeof operations)[O]['isStreaming'] extends true ? O : never
}[Operation]

export function isStreaming(operation: Operation): operation is StreamingOperation {
  return operations[operation].isStreaming
}
