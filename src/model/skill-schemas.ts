/** The JSON Schemas of skills, which cards publish in an extension. */
import type { AgentCard } from './agent-card.js'
import { isStruct } from './json-schema.js'
import type { Struct } from './part.js'
import { isForm } from './question-schema.js'

/** Declared when skills carry schemas: `params.skills[id]` holds `input` and `output` as JSON Schema. */
export const skillSchemasUri = 'urn:dragoman:skill-schemas:v1'

/**
 * The schema of the data that a skill takes; undefined if the card publishes none, or if it exceeds the bounds of
 * `isForm`: cards come from peers.
 */
export function inputSchemaOf({ capabilities }: AgentCard, skillId: string): Struct | undefined {
  const published = capabilities.extensions?.find(({ uri }) => uri === skillSchemasUri)?.params?.skills
  if (!isStruct(published) || !Object.hasOwn(published, skillId)) return undefined
  const skill = published[skillId]
  const schema = isStruct(skill) ? skill.input : undefined
  return isStruct(schema) && isForm(schema) ? schema : undefined
}
