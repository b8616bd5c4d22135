/** Clients of Nacos have one header for credentials, `accessToken`; it stands for whatever the schemes here ask for. */
import type { AuthScheme } from '../../auth/scheme.js'

export function withAccessToken(headers: Headers, schemes: readonly AuthScheme[]): Pick<Headers, 'get'> {
  const token = headers.get('accesstoken')
  if (token === null) return headers
  const keyNames = schemes.flatMap(({ card }) =>
    'apiKeySecurityScheme' in card ? [card.apiKeySecurityScheme.name.toLowerCase()] : [],
  )
  return {
    get(name) {
      const own = headers.get(name)
      if (own !== null) return own
      if (name.toLowerCase() === 'authorization') return `Bearer ${token}`
      return keyNames.includes(name.toLowerCase()) ? token : null
    },
  }
}
