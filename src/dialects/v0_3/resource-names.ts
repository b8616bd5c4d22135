/**
 * Names in 0.3's protobuf: `tasks/{id}` and `tasks/{id}/pushNotificationConfigs/{id}`. Slashes inside
 * an id are percent-coded (RM-ID-3), and so are percent signs, or the way back would be lost.
 */

export interface ResourceName {
  readonly taskId: string
  readonly configId?: string
}

const collection = '/pushNotificationConfigs'

export function joinName(taskId: string, configId?: string): string {
  const task = `tasks/${escaped(taskId)}`
  return configId === undefined ? task : `${task}${collection}/${escaped(configId)}`
}

/** A bare id is taken for a task's; `task/` is what the protobuf's path has by mistake. */
export function splitName(name: string): ResourceName | undefined {
  const prefix = ['tasks/', 'task/'].find((each) => name.startsWith(each)) ?? ''
  const [task = '', ...configs] = name.slice(prefix.length).split(collection)
  if (task === '' || configs.length > 1 || (prefix === '' && task.includes('/'))) return undefined
  const config = configs[0] ?? ''
  if (config !== '' && !config.startsWith('/')) return undefined
  const taskId = unescaped(task)
  return config.length > 1 ? { taskId, configId: unescaped(config.slice(1)) } : { taskId }
}

function escaped(id: string): string {
  return id.replaceAll('%', '%25').replaceAll('/', '%2F')
}

function unescaped(id: string): string {
  return id.replace(/%2F/gi, '/').replaceAll('%25', '%')
}
