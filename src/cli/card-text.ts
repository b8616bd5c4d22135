/** A card in words. Everything in it is a stranger's: each value is made one line. */
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

/** What was chosen, and with reasons why. */
export function choiceText({ dialect, binding, url, reasons }: Choice, withReasons: boolean): string {
  const chosen = `Spoken to in ${dialect} over ${binding} at ${oneLine(url)}`
  return withReasons ? [chosen, ...reasons.map((reason) => `  ${oneLine(reason)}`)].join('\n') : chosen
}

function factsOf(card: AgentCard, signature: Verification): string[][] {
  const { provider, documentationUrl, capabilities } = card
  const abilities = [
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
    ['Can', abilities.join(', ') || 'answer, nothing beyond'],
    ['Extensions', extensions.join(', ')],
    ['Takes', card.defaultInputModes.join(', ')],
    ['Gives', card.defaultOutputModes.join(', ')],
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
    examples.length > 0 ? `try: ${examples.join(' · ')}` : '',
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
  return declared.length === 0 ? 'none' : `knows ${declared.join(', ')}`
}

export function schemeText(name: string, scheme: SecurityScheme | undefined): string {
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

/** Whether somebody stands for the card. */
export function signatureText({ state, keyId, form, reason }: Verification): string {
  if (state === 'absent') return 'none'
  const key = keyId === undefined ? '' : ` by key ${keyId}`
  if (state === 'valid') return `good${key}${form === 'strict' ? '' : `, in the form ${form}`}`
  return `${state === 'invalid' ? 'not good' : 'not known'}${key}${reason ? `: ${reason}` : ''}`
}

function section(title: string, body: string): string {
  return body === '' ? '' : `${title}\n${body}`
}
