/** An agent as the registry's own door tells of it. Cards are JSON already, and are put in as they are. */
import type { InstanceKey } from '../../registry-client/registry-words.js'
import type { CatalogInstance } from '../catalog.js'
import { cardTextOf, type InstanceDocument } from '../documents.js'
import type { FoundAgent } from '../finds.js'
import { tagsOf } from '../held-instance.js'

export type ReadInstance = (key: InstanceKey) => Promise<InstanceDocument | undefined>

export async function describeAgent(found: FoundAgent, read: ReadInstance): Promise<string> {
  const { agent, version } = found
  const { key, document, latest, revision } = agent
  const whole = await Promise.all(found.instances.map(async (held) => ({ held, stored: await read(held.key) })))
  // What is gone by now is not told of.
  const instances = whole.flatMap(({ held, stored }) => (stored ? [{ held, stored }] : []))
  const [first] = instances
  const head = {
    ...key,
    version,
    latest,
    versions: Object.entries(document.versions).map(([each, { createdMs, updatedMs }]) => ({
      version: each,
      isLatest: each === latest,
      instances: agent.instances.filter((instance) => instance.key.version === each).length,
      createdAt: timeOf(createdMs),
      updatedAt: timeOf(updatedMs),
    })),
    owner: document.owner,
    tags: first ? tagsOf(first.held.document) : [],
    ...(first && { signature: first.held.document.signature }),
    revision,
  }
  const described = instances.map(({ held, stored }) => withMembers(describeInstance(held), { card: stored.published }))
  return withMembers(head, {
    ...(first && { card: cardTextOf(first.stored) }),
    instances: `[${described.join(',')}]`,
  })
}

export function describeInstance({ key, document, health }: CatalogInstance): object {
  return {
    instance: key.instance,
    version: key.version,
    url: document.url,
    publishedAt: timeOf(document.publishedMs),
    ...(document.ttlMs !== undefined && { ttlSeconds: document.ttlMs / 1000 }),
    health: health ? { state: health.state, since: timeOf(health.sinceMs), ...health.levels } : { state: 'unknown' },
  }
}

/** The JSON of an object that has some, with more members whose JSON is there already. */
function withMembers(object: object, members: Readonly<Record<string, string>>): string {
  const more = Object.entries(members).map(([name, json]) => `,${JSON.stringify(name)}:${json}`)
  return `${JSON.stringify(object).slice(0, -1)}${more.join('')}}`
}

export function timeOf(ms: number): string {
  return new Date(ms).toISOString()
}
