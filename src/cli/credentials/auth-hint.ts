/** What an agent wants of its callers, and how to give it: for whoever was refused. Pure. */
import type { AgentCard } from '../../client/index.js'
import type { SecurityScheme } from '../../model/index.js'
import { schemeText } from '../card-text.js'

/** Absent when the card does not say. */
export function authHint(card: AgentCard, ref: string): string | undefined {
  const wanted = wantedText(card)
  if (wanted === undefined) return undefined
  const ways = firstSchemes(card).flatMap(([, scheme]) => wayTo(scheme, ref))
  return `It asks for ${wanted}${ways.length > 0 ? `; give it with ${ways.join(' and ')}` : ''}`
}

/** Returns the schemes of the card's first requirement as text; undefined if the card requires none. */
export function wantedText(card: AgentCard): string | undefined {
  const schemes = firstSchemes(card)
  if (schemes.length === 0) return undefined
  const more = (card.securityRequirements ?? []).length > 1 ? ', or something else: `dragoman card get` tells' : ''
  return `${schemes.map(([name, scheme]) => schemeText(name, scheme)).join(' and ')}${more}`
}

function firstSchemes({
  securityRequirements: [first] = [],
  securitySchemes = {},
}: AgentCard): readonly (readonly [name: string, scheme: SecurityScheme | undefined])[] {
  return Object.keys(first?.schemes ?? {}).map((name) => [
    name,
    Object.hasOwn(securitySchemes, name) ? securitySchemes[name] : undefined,
  ])
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
