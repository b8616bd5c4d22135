export interface AuthenticationInfo {
  /** An IANA HTTP authentication scheme, such as `Bearer`. */
  readonly scheme: string
  readonly credentials?: string
}

/** Where and how to notify a client about a task. */
export interface TaskPushNotificationConfig {
  readonly tenant?: string
  readonly id?: string
  readonly taskId?: string
  readonly url: string
  readonly token?: string
  readonly authentication?: AuthenticationInfo
}
