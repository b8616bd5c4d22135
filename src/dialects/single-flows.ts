/**
 * Cards for versions whose schemes have one OAuth flow each: v1.0, and the protobuf of 0.3. Further flows of a scheme become
 * schemes of their own, and every requirement that names the scheme becomes alternatives.
 */
import type { AgentCard, SecurityRequirement, SecurityScheme } from '../model/agent-card.js'

/** The number of combinations grows exponentially with the schemes of a requirement, and cards are untrusted. */
const maxAlternatives = 32

export function withSingleFlows(card: AgentCard): AgentCard {
  const { securitySchemes = {}, securityRequirements, skills } = card
  const split = new Map(
    Object.entries(securitySchemes).map(([name, scheme]) => [name, splitScheme(name, scheme, card)]),
  )
  if ([...split.values()].every((schemes) => schemes.length === 1)) return card
  const namesOf = (name: string) => split.get(name)?.map(([each]) => each) ?? [name]
  const each = (requirements: readonly SecurityRequirement[]) =>
    requirements.flatMap((one) => alternatives(one, namesOf))
  return {
    ...card,
    securitySchemes: Object.fromEntries([...split.values()].flat()),
    ...(securityRequirements && { securityRequirements: each(securityRequirements) }),
    skills: skills.map((skill) =>
      skill.securityRequirements ? { ...skill, securityRequirements: each(skill.securityRequirements) } : skill,
    ),
  }
}

/** The first flow keeps the name of the scheme. */
function splitScheme(name: string, scheme: SecurityScheme, { securitySchemes = {} }: AgentCard) {
  const flows = 'oauth2SecurityScheme' in scheme ? Object.entries(scheme.oauth2SecurityScheme.flows) : []
  if (!('oauth2SecurityScheme' in scheme) || flows.length < 2) return [[name, scheme] as const]
  return flows.map(([flow, content], place) => {
    const one: SecurityScheme = { oauth2SecurityScheme: { ...scheme.oauth2SecurityScheme, flows: { [flow]: content } } }
    return [place === 0 ? name : freeName(`${name}-${flow}`, securitySchemes), one] as const
  })
}

function freeName(name: string, taken: object): string {
  return Object.hasOwn(taken, name) ? freeName(`${name}-`, taken) : name
}

/** One requirement for each combination of flows. Beyond the limit, only the first flow of each scheme remains. */
function alternatives(
  requirement: SecurityRequirement,
  namesOf: (name: string) => readonly string[],
): readonly SecurityRequirement[] {
  const entries = Object.entries(requirement.schemes ?? {})
  let count = 1
  for (const [name] of entries) {
    count *= namesOf(name).length
    if (count > maxAlternatives) return [requirement]
  }
  return Array.from({ length: count }, (_, place) => {
    let rest = place
    const chosen = entries.map(([name, scopes]) => {
      const names = namesOf(name)
      const one = names[rest % names.length] as string // a scheme has at least one name
      rest = Math.floor(rest / names.length)
      return [one, scopes] as const
    })
    return { schemes: Object.fromEntries(chosen) }
  })
}
