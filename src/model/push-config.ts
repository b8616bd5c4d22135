/** The credentials that a webhook call sends to the client. */
export interface AuthenticationInfo {
  /** An IANA HTTP authentication scheme, such as `Bearer`. */
  readonly scheme: string
  /** All schemes that a caller of 0.3 or older listed, if there are several; `scheme` is one of them. Not in v1.0. */
  readonly schemes?: readonly string[]
  readonly credentials?: string
}

/** A webhook of a task: its address and its credentials. */
export interface TaskPushNotificationConfig {
  readonly tenant?: string
  readonly id?: string
  readonly taskId?: string
  readonly url: string
  readonly token?: string
  readonly authentication?: AuthenticationInfo
}
