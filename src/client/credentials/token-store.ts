/** Where tokens are kept. */

export interface StoredToken {
  /** Absent after an agent refused it; what it can be renewed with is still there. */
  readonly accessToken?: string
  readonly refreshToken?: string
  readonly expiresAtMs?: number
}

/** Plain values by plain keys: a key chain, a file, a browser's storage. */
export interface TokenStore {
  get(key: string): StoredToken | undefined | Promise<StoredToken | undefined>
  set(key: string, token: StoredToken): void | Promise<void>
  delete(key: string): void | Promise<void>
}

/** Forgets everything when the process ends. */
export function createTokenStore(): TokenStore {
  const tokens = new Map<string, StoredToken>()
  return {
    get: (key) => tokens.get(key),
    set(key, token) {
      tokens.set(key, token)
    },
    delete(key) {
      tokens.delete(key)
    },
  }
}
