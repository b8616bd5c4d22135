/** The rules of 0.1: few members are required, and modes may be bare words. */
import {
  checkArray,
  checkModes,
  checkObject,
  checkText,
  checkTexts,
  checkUnique,
  checkUrl,
  requireArray,
  requireObject,
  requireText,
  requireUrl,
} from './checks.js'
import type { Place } from './place.js'
import { checkCapabilitiesOf03 } from './v0_3.js'

const rule = 'RL-02-1'
const words = ['text', 'data', 'file'] as const

export function checkV01(card: Place): void {
  for (const name of ['name', 'version']) requireText(card.at(name), rule)
  checkText(card.at('description'), rule)
  requireUrl(card.at('url'), rule)
  checkUrl(card.at('documentationUrl'), rule)
  checkCapabilitiesOf03(card.at('capabilities'), rule)
  for (const name of ['defaultInputModes', 'defaultOutputModes'])
    checkModes(checkArray(card.at(name), rule), rule, words)
  if (checkObject(card.at('provider'), rule)) {
    requireText(card.at('provider').at('organization'), rule)
    checkUrl(card.at('provider').at('url'), rule)
  }
  const authentication = card.at('authentication')
  if (checkObject(authentication, rule)) {
    checkTexts(requireArray(authentication.at('schemes'), rule, 0), rule)
    checkText(authentication.at('credentials'), rule)
  }
  checkSkills(requireArray(card.at('skills'), rule, 0))
}

function checkSkills(skills: readonly Place[]): void {
  for (const skill of skills) {
    if (!requireObject(skill, rule)) continue
    for (const name of ['id', 'name']) requireText(skill.at(name), rule)
    checkText(skill.at('description'), rule)
    for (const name of ['tags', 'examples']) checkTexts(checkArray(skill.at(name), rule), rule)
    for (const name of ['inputModes', 'outputModes']) checkModes(checkArray(skill.at(name), rule), rule, words)
  }
  checkUnique(
    skills.map((skill) => skill.at('id')),
    rule,
    'id',
  )
}
