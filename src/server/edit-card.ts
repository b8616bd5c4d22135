/** Authors' changes to a card, applied before it is encoded and signed. */
import type { AgentCard, AgentInterface, AgentSkill } from '../model/agent-card.js'

/** Changes a card. `version` is that of the readers, such as `1.0`: v0.2 counts as `0.3`, the hybrid card as `1.0`. */
export type EditCard = (card: AgentCard, version: string) => AgentCard

/**
 * Applies `edit` within bounds. The result may drop and reorder interfaces of the card, and has the card's own security
 * members: a card must name what the server answers and enforces. Throws `TypeError` for an interface that is not
 * served, and for a result without interfaces if the card lists one of the version.
 */
export function boundedEdit(edit: EditCard | undefined): EditCard {
  if (edit === undefined) return (card) => card
  if (typeof edit !== 'function') throw new TypeError('`editCard` is a function: `(card, version) => card`')
  return (card, version) => {
    // A copy, so that changes in place stay within the same bounds.
    const edited = edit(structuredClone(card), version)
    if (!Array.isArray(edited?.supportedInterfaces) || !Array.isArray(edited.skills))
      throw new TypeError('`editCard` must return a card: `(card, version) => ({ ...card, … })`')
    // Cards of other versions, and those of pinned dialects, get their addresses after the edit.
    const hasVersion = card.supportedInterfaces.some(({ protocolVersion }) => protocolVersion === version)
    if (hasVersion && edited.supportedInterfaces.length === 0)
      throw new TypeError(`\`editCard\` must leave at least one interface on the card of version ${version}`)
    const { securitySchemes: _schemes, securityRequirements: _requirements, signatures: _signatures, ...rest } = edited
    const { securitySchemes, securityRequirements } = card
    return {
      ...rest,
      supportedInterfaces: edited.supportedInterfaces.map((each) => servedAs(each, card)),
      skills: edited.skills.map((skill) => withOwnSecurity(skill, card)),
      ...(securitySchemes && { securitySchemes }),
      ...(securityRequirements && { securityRequirements }),
    }
  }
}

function servedAs({ url, protocolBinding, protocolVersion, tenant }: AgentInterface, card: AgentCard): AgentInterface {
  const served = card.supportedInterfaces.find(
    (each) =>
      each.url === url &&
      each.protocolBinding === protocolBinding &&
      each.protocolVersion === protocolVersion &&
      each.tenant === tenant,
  )
  if (served) return served
  throw new TypeError(
    `\`editCard\` can drop interfaces and not add or change them: ${protocolBinding} ${protocolVersion} at ${url} is not served here`,
  )
}

function withOwnSecurity({ securityRequirements: _edited, ...skill }: AgentSkill, { skills }: AgentCard): AgentSkill {
  const own = skills.find(({ id }) => id === skill.id)?.securityRequirements
  return own ? { ...skill, securityRequirements: own } : skill
}
