import { isObject } from '../../model/is-object.js'
import type { ClientCardForm, DialectOutline } from '../client-dialect.js'
import { hasAny, type Json, listsInterfaces, statedVersion } from '../recognise.js'
import { facts } from './facts.js'

export const outline = {
  ...facts,
  bindings: ['HTTP+JSON'],
  card: { recognise: recogniseCard, alternatives: ['v0.1', 'v0.3'] },
} as const satisfies DialectOutline

/** task-rest cards have modes only in skills, written as words, and no tags. v0.1 cards rarely have that shape. */
function recogniseCard(card: Json): ReturnType<ClientCardForm['recognise']> {
  if (listsInterfaces(card) || statedVersion(card) !== '') return undefined
  if (hasAny(card, 'defaultInputModes', 'defaultOutputModes', 'documentationUrl')) return undefined
  if (isObject(card.capabilities) && hasAny(card.capabilities, 'stateTransitionHistory')) return undefined
  const areWords = (modes: unknown) =>
    Array.isArray(modes) && modes.length > 0 && modes.every((mode) => ['text', 'data', 'file'].includes(mode as string))
  const skills: unknown = card.skills
  const isOwn =
    Array.isArray(skills) &&
    skills.length > 0 &&
    skills.every(
      (skill: unknown) =>
        isObject(skill) && !hasAny(skill, 'tags') && areWords(skill.inputModes) && areWords(skill.outputModes),
    )
  return isOwn ? 'likely' : undefined
}
