/** The token about one delivery to a webhook (R-PDEL-9, RL-01-9): what those who send it and those who check it share. */

/**
 * Where the token is when `Authorization` is taken: by the credentials the webhook was registered with. Otherwise it
 * is the bearer token, as senders of 0.1 have it.
 */
export const deliveryTokenHeader = 'x-a2a-delivery-token'

/** Names a delivery, the same for all its attempts: whoever has seen it may forget the next. */
export const deliveryIdHeader = 'x-a2a-delivery-id'

export interface DeliveryClaims {
  /** The address of the agent. */
  readonly iss: string
  /** The webhook. */
  readonly aud: string
  /** In seconds. */
  readonly iat: number
  readonly exp: number
  /** The id of the delivery, the same for all its attempts. */
  readonly jti: string
  readonly taskId: string
  /** Of the bytes of the body, in hexadecimal. */
  readonly request_body_sha256: string
}
