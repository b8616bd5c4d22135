/** Describes cards and their security schemes as text. Cards are untrusted: each value becomes one line. */
import type { AgentCard, AgentSkill, Choice, Verification } from '../client/index.js'
import type { SecurityScheme } from '../model/index.js'
import { oneLine, table } from './printable.js'

export function cardText(card: AgentCard, signature: Verification): string {
  const sections = [
    [`${oneLine(card.name)} ${oneLine(card.version)}`.trim(), oneLine(card.description)].filter(Boolean).join('\n'),
    table(factsOf(card, signature)),
    section('Interfaces', table(card.supportedInterfaces.map(interfaceRow))),
    section('Skills', card.skills.map(skillText).join('\n')),
  ]
  return sections.filter((each) => each !== '').join('\n\n')
}

/** The chosen interface and, on request, the reasons. */
export function choiceText({ dialect, binding, url, reasons }: Choice, withReasons: boolean): string {
  const chosen = `Chosen interface: ${dialect} over ${binding} at ${oneLine(url)}`
  return withReasons ? [chosen, ...reasons.map((reason) => `  ${oneLine(reason)}`)].join('\n') : chosen
}

function factsOf(card: AgentCard, signature: Verification): string[][] {
  const { provider, documentationUrl, capabilities } = card
  const capabilityNames = [
    capabilities.streaming && 'streaming',
    capabilities.pushNotifications && 'push notifications',
    capabilities.extendedAgentCard && 'extended card',
  ].filter(Boolean)
  const extensions = (capabilities.extensions ?? []).map(
    ({ uri = '', required }) => `${uri}${required ? ' (required)' : ''}`,
  )
  const facts: [string, string][] = [
    ['Provider', provider ? `${provider.organization} ${provider.url}` : ''],
    ['Documentation', documentationUrl ?? ''],
    ['Capabilities', capabilityNames.join(', ') || 'none'],
    ['Extensions', extensions.join(', ')],
    ['Input', card.defaultInputModes.join(', ')],
    ['Output', card.defaultOutputModes.join(', ')],
    ['Security', securityText(card)],
    ['Signature', signatureText(signature)],
  ]
  return facts.filter(([, value]) => value !== '').map(([name, value]) => [name, oneLine(value)])
}

function interfaceRow({ protocolBinding, protocolVersion, url, tenant }: AgentCard['supportedInterfaces'][number]) {
  return [protocolBinding, protocolVersion, url + (tenant ? ` (tenant ${tenant})` : '')].map(
    (cell, place) => (place === 0 ? '  ' : '') + oneLine(cell),
  )
}

function skillText({ id, name, description, tags, examples = [] }: AgentSkill): string {
  const head = `  ${oneLine(id)}  ${oneLine(name)}: ${oneLine(description)}`
  const lines = [
    tags.length > 0 ? `tags: ${tags.join(', ')}` : '',
    examples.length > 0 ? `examples: ${examples.join(' · ')}` : '',
  ]
  return [head, ...lines.filter(Boolean).map((line) => `      ${oneLine(line)}`)].join('\n')
}

function securityText({ securitySchemes = {}, securityRequirements = [] }: AgentCard): string {
  const alternatives = securityRequirements.map(({ schemes = {} }) => {
    const names = Object.keys(schemes)
    return names.length === 0 ? 'nothing' : names.map((name) => schemeText(name, securitySchemes[name])).join(' and ')
  })
  if (alternatives.length > 0) return alternatives.join(', or ')
  const declared = Object.entries(securitySchemes).map(([name, scheme]) => schemeText(name, scheme))
  return declared.length === 0 ? 'none' : `optional: ${declared.join(', ')}`
}

function schemeText(name: string, scheme: SecurityScheme | undefined): string {
  if (!scheme) return `${name} (not described)`
  if ('apiKeySecurityScheme' in scheme) {
    const { location, name: key } = scheme.apiKeySecurityScheme
    return `${name} (API key in ${location} ${key})`
  }
  if ('httpAuthSecurityScheme' in scheme) return `${name} (HTTP ${scheme.httpAuthSecurityScheme.scheme})`
  if ('oauth2SecurityScheme' in scheme)
    return `${name} (OAuth 2, ${Object.keys(scheme.oauth2SecurityScheme.flows).join(', ')})`
  if ('openIdConnectSecurityScheme' in scheme) return `${name} (OpenID Connect)`
  return `${name} (client certificate)`
}

export function signatureText({ state, keyId, form, reason }: Verification): string {
  if (state === 'absent') return 'none'
  const key = keyId === undefined ? '' : ` by key ${keyId}`
  if (state === 'valid') return `valid${key}${form === 'strict' ? '' : `, in the form ${form}`}`
  return `${state === 'invalid' ? 'invalid' : 'unknown key'}${key}${reason ? `: ${reason}` : ''}`
}

function section(title: string, body: string): string {
  return body === '' ? '' : `${title}\n${body}`
}

/** Describes the credentials that the card requires and how to pass them; undefined if it requires none. */
export function authHint(card: AgentCard, ref: string): string | undefined {
  const required = requiredSchemesText(card)
  if (required === undefined) return undefined
  const options = firstSchemes(card).flatMap(([, scheme]) => optionsFor(scheme, ref))
  return `The agent requires ${required}${options.length > 0 ? `; pass it with ${options.join(' and ')}` : ''}`
}

/** The schemes of the card's first requirement; undefined if the card requires none. */
export function requiredSchemesText(card: AgentCard): string | undefined {
  const schemes = firstSchemes(card)
  if (schemes.length === 0) return undefined
  const more =
    (card.securityRequirements ?? []).length > 1 ? ', or one of the alternatives that `dragoman card get` prints' : ''
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

function optionsFor(scheme: SecurityScheme | undefined, ref: string): readonly string[] {
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
