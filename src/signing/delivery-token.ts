/** Names and claims of the token for one webhook delivery (R-PDEL-9, RL-01-9), for senders and receivers. */

/**
 * Header for the token if `Authorization` holds the credentials that the webhook was registered with. Otherwise the token
 * is the bearer token, as in 0.1.
 */
export const deliveryTokenHeader = 'x-a2a-delivery-token'

/** Id of a delivery, the same for all attempts, so that receivers can drop duplicates. */
export const deliveryIdHeader = 'x-a2a-delivery-id'

export interface DeliveryClaims {
  /** The address of the agent. */
  readonly iss: string
  /** The address of the webhook. */
  readonly aud: string
  /** Time of issue, in seconds. */
  readonly iat: number
  readonly exp: number
  /** The id of the delivery, the same for all its attempts. */
  readonly jti: string
  readonly taskId: string
  /** SHA-256 of the body's bytes, in hexadecimal. */
  readonly request_body_sha256: string
}
