/** Asks the fields of a form one by one, on a terminal. */
import { confirm, isCancel, multiselect, select, text } from '@clack/prompts'
import { type Field, type FieldAnswer, fieldsOf, formAnswer, readField } from '../../client/index.js'
import type { JsonValue, Struct } from '../../model/index.js'
import { oneLine } from '../printable.js'

/** The answer; absent when somebody left the form. */
export async function askForm(schema: Struct): Promise<{ readonly value: JsonValue } | undefined> {
  const fields = fieldsOf(schema)
  const values = new Map<string, JsonValue>()
  for (const field of fields) {
    const answer = await askField(field)
    if (answer === undefined) return undefined
    if ('value' in answer && answer.value !== undefined) values.set(field.name, answer.value)
  }
  return { value: formAnswer(fields, values) }
}

async function askField(field: Field): Promise<FieldAnswer | undefined> {
  const message = messageOf(field)
  const output = process.stderr
  if (field.kind === 'boolean') {
    const said = await confirm({ message, output, initialValue: field.initial === true })
    return isCancel(said) ? undefined : { value: said }
  }
  if (field.kind === 'choice' || field.kind === 'choices') return await askChoice(field, message)
  const said = await text({
    message,
    output,
    ...(field.initial !== undefined && { initialValue: spelled(field.initial) }),
    ...(field.kind === 'list' && { placeholder: 'several, with commas between them' }),
    ...(field.kind === 'json' && { placeholder: 'JSON' }),
    validate: (typed) => {
      const answer = readField(field, typed ?? '')
      return 'problem' in answer ? answer.problem : undefined
    },
  })
  return isCancel(said) ? undefined : readField(field, said ?? '')
}

/** By place, because a choice may be any JSON. */
async function askChoice(field: Field, message: string): Promise<FieldAnswer | undefined> {
  const { choices, isRequired } = field
  const output = process.stderr
  const options = choices.map((choice, value) => ({ value, label: oneLine(spelled(choice)) }))
  if (field.kind === 'choices') {
    const picked = await multiselect<number>({ message, output, options, required: isRequired })
    return isCancel(picked) ? undefined : { value: picked.flatMap((place) => choices[place] ?? []) }
  }
  const none = { value: -1, label: '(none)' }
  const initialValue = field.initial === undefined ? -1 : choices.indexOf(field.initial)
  const picked = await select<number>({
    message,
    output,
    options: isRequired ? options : [...options, none],
    ...(initialValue >= 0 && { initialValue }),
  })
  return isCancel(picked) ? undefined : { value: choices[picked] }
}

function messageOf({ title, description, isRequired }: Field): string {
  const name = oneLine(title) || 'Answer'
  return `${name}${isRequired ? '' : ' (optional)'}${description ? `: ${oneLine(description)}` : ''}`
}

function spelled(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
