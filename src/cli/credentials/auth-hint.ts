/** What an agent wants of its callers, and how to give it: for whoever was refused. Pure. */
import type { AgentCard } from '../../client/index.js'
import type { SecurityScheme } from '../../index.js'
import { schemeText } from '../card-text.js'

/** Absent when the card does not say. */
export function authHint(card: AgentCard, ref: string): string | undefined {
  const { securityRequirements = [], securitySchemes = {} } = card
  const [first] = securityRequirements
  const names = Object.keys(first?.schemes ?? {})
  if (names.length === 0) return undefined
  const schemes = names.map(
    (name) => [name, Object.hasOwn(securitySchemes, name) ? securitySchemes[name] : undefined] as const,
  )
  const wanted = schemes.map(([name, scheme]) => schemeText(name, scheme)).join(' and ')
  const ways = schemes.flatMap(([, scheme]) => wayTo(scheme, ref))
  const more = securityRequirements.length > 1 ? ', or something else: `dragoman card get` tells' : ''
  return `It asks for ${wanted}${more}${ways.length > 0 ? `; give it with ${ways.join(' and ')}` : ''}`
}

function wayTo(scheme: SecurityScheme | undefined, ref: string): readonly string[] {
  const login = (option: string) => `\`dragoman auth login ${ref} ${option}\``
  if (!scheme) return []
  if ('apiKeySecurityScheme' in scheme) {
    const { location, name } = scheme.apiKeySecurityScheme
    return [location === 'header' ? `${login('--api-key KEY')} or --header '${name}: KEY'` : login('--api-key KEY')]
  }
  if ('httpAuthSecurityScheme' in scheme) {
    const kind = scheme.httpAuthSecurityScheme.scheme.toLowerCase()
    if (kind === 'bearer') return [login('--bearer TOKEN')]
    return kind === 'basic' ? [login('--basic USER:PASSWORD')] : []
  }
  return 'mtlsSecurityScheme' in scheme ? ['--client-cert PATH --client-key PATH'] : [login('--client-id ID')]
}
