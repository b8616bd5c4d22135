/**
 * What a process holds in memory of an instance: what agents are listed, filtered and searched by. Whatever else is in
 * a card stays in the store and is read when somebody wants it.
 */
import type { AgentCard } from '../model/agent-card.js'
import { cardTextOf, type InstanceDocument } from './documents.js'

export interface HeldInstance extends Omit<InstanceDocument, 'card' | 'published' | 'probe'> {
  readonly card: HeldCard
  /** What counts towards the quotas. */
  readonly bytes: number
}

export interface HeldCard extends Pick<AgentCard, 'name' | 'description'> {
  readonly skills: readonly Pick<AgentCard['skills'][number], 'id' | 'name' | 'description' | 'tags' | 'examples'>[]
}

/** Keys, health and places in lists, which even the smallest card needs. */
const bytesAround = 1024

export function weigh(published: string): number {
  return Buffer.byteLength(published) + bytesAround
}

export function hold(document: InstanceDocument): HeldInstance {
  const { card: _card, published, probe: _probe, ...rest } = document
  const { name, description, skills } = JSON.parse(cardTextOf(document)) as AgentCard // written by publish
  return { ...rest, bytes: weigh(published), card: { name, description, skills: skills.map(heldSkill) } }
}

function heldSkill({ id, name, description, tags, examples }: HeldCard['skills'][number]): HeldCard['skills'][number] {
  return { id, name, description, tags, ...(examples && { examples }) }
}

/** Those of the publisher and those of the skills. */
export function tagsOf({ tags, card }: HeldInstance): readonly string[] {
  return [...new Set([...tags, ...card.skills.flatMap((skill) => skill.tags)])]
}
