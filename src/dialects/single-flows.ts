/**
 * Cards for versions whose schemes have one OAuth flow each: v1.0, and the protobuf of 0.3. Further flows of a scheme become
 * schemes of their own, and every requirement that names the scheme becomes alternatives.
 */
import type { AgentCard, SecurityRequirement, SecurityScheme } from '../model/agent-card.js'

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

function alternatives(
  { schemes = {} }: SecurityRequirement,
  namesOf: (name: string) => readonly string[],
): readonly SecurityRequirement[] {
  let combined: readonly NonNullable<SecurityRequirement['schemes']>[] = [{}]
  for (const [name, scopes] of Object.entries(schemes))
    combined = combined.flatMap((before) => namesOf(name).map((each) => ({ ...before, [each]: scopes })))
  return combined.map((each) => ({ schemes: each }))
}
