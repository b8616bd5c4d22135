/** Error messages of agents and servers are English; the Chinese page adds the kind of error. */
import type { Language } from './text.js'

const chinese: Readonly<Record<string, string>> = {
  unreachable: '无法连接到智能体',
  timeout: '智能体没有及时响应',
  'bad-answer': '对方的回答不是这个协议的',
  'broken-stream': '流在中途断开',
  refused: '按本控制台的规则不允许',
  'circuit-open': '智能体多次没有响应，稍后重试',
  TASK_NOT_FOUND: '找不到这个任务',
  TASK_NOT_CANCELABLE: '这个任务无法取消',
  PUSH_NOTIFICATION_NOT_SUPPORTED: '智能体不支持推送通知',
  UNSUPPORTED_OPERATION: '不支持这个操作',
  METHOD_NOT_FOUND: '不支持这个操作',
  CONTENT_TYPE_NOT_SUPPORTED: '不支持这种内容类型',
  VERSION_NOT_SUPPORTED: '不支持这个协议版本',
  INVALID_AGENT_RESPONSE: '无法读懂智能体的回答',
  INVALID_PARAMS: '请求的内容有误',
  UNAUTHENTICATED: '需要凭据，或凭据无效',
  PERMISSION_DENIED: '没有权限',
  RATE_LIMITED: '请求过于频繁',
  PAYLOAD_TOO_LARGE: '内容过大',
  UNAVAILABLE: '服务暂时不可用',
}

/** The original message, after the kind of error if it is translated. */
export function describeProblem(language: Language, code: string | undefined, message: string): string {
  const kind = language === 'zh' && code !== undefined && Object.hasOwn(chinese, code) ? chinese[code] : undefined
  return kind === undefined ? message : `${kind}（${message}）`
}
