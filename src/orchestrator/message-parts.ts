/** From what a step says to the parts of its message: text beside data, results as they were given. */
import type { Part } from '../model/part.js'
import type { Said, Step } from './flow.js'
import { StepResult } from './step-result.js'

export function partsToSay(said: Said): readonly Part[] {
  return listOf(said).flatMap((each) => {
    if (typeof each === 'string') return [{ text: each }]
    return each instanceof StepResult ? each.parts : [each]
  })
}

/** The results a step builds on, each once. */
export function resultsBefore({ message, after = [] }: Pick<Step, 'message' | 'after'>): readonly StepResult[] {
  const inMessage = listOf(message).filter((each) => each instanceof StepResult)
  return [...new Set([...inMessage, ...after])]
}

function listOf(said: Said): readonly (string | Part | StepResult)[] {
  // `Array.isArray` does not narrow readonly arrays.
  return Array.isArray(said) ? (said as readonly (string | Part | StepResult)[]) : [said as string | Part | StepResult]
}
