/** Shows a question with a JSON Schema as a form. `dragoman/client` derives the fields and reads the values. */
import { data, type Field, fieldsOf, formAnswer, type Part, readField } from 'dragoman/client'
import { type FormEvent, type ReactNode, useId, useMemo, useState } from 'react'
import { useText } from '../text/text.js'

type Json = Parameters<typeof data>[0]
type Schema = Parameters<typeof fieldsOf>[0]

export function SchemaForm({
  schema,
  onAnswer,
}: {
  readonly schema: Schema
  onAnswer(parts: readonly Part[]): void
}): ReactNode {
  const { talk } = useText()
  const fields = useMemo(() => fieldsOf(schema), [schema])
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>(() =>
    Object.fromEntries(fields.map((field) => [field.name, initialOf(field)])),
  )
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({})
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const values = new Map<string, Json>()
    const found: Record<string, string> = {}
    for (const field of fields) {
      const answer = answerOf(field, typed[field.name] ?? '')
      if ('problem' in answer) found[field.name] = answer.problem
      else if (answer.value !== undefined) values.set(field.name, answer.value)
    }
    setProblems(found)
    if (Object.keys(found).length === 0) onAnswer([data(formAnswer(fields, values))])
  }
  return (
    <form className="stack" onSubmit={submit} noValidate>
      {fields.map((field) => (
        <SchemaField
          key={field.name}
          field={field}
          value={typed[field.name] ?? ''}
          problem={problems[field.name]}
          onChange={(value) => setTyped({ ...typed, [field.name]: value })}
        />
      ))}
      <div>
        <button type="submit" className="button is-main">
          {talk.answer}
        </button>
      </div>
    </form>
  )
}

interface FieldProps {
  readonly field: Field
  readonly value: string
  readonly problem: string | undefined
  onChange(value: string): void
}

function SchemaField({ field, value, problem, onChange }: FieldProps): ReactNode {
  const { talk } = useText()
  const id = useId()
  const { title, description, isRequired, kind, choices } = field
  const described = { id, 'aria-invalid': problem !== undefined, 'aria-describedby': `${id}-more` }
  const control =
    kind === 'boolean' ? (
      <input
        {...described}
        type="checkbox"
        checked={value === 'true'}
        onChange={({ target }) => onChange(String(target.checked))}
      />
    ) : kind === 'choice' ? (
      <select {...described} className="input" value={value} onChange={({ target }) => onChange(target.value)}>
        <option value="" />
        {choices.map((choice) => (
          <option key={JSON.stringify(choice)} value={JSON.stringify(choice)}>
            {typeof choice === 'string' ? choice : JSON.stringify(choice)}
          </option>
        ))}
      </select>
    ) : (
      <input
        {...described}
        className="input"
        inputMode={kind === 'number' || kind === 'integer' ? 'decimal' : undefined}
        value={value}
        onChange={({ target }) => onChange(target.value)}
      />
    )
  return (
    <div className="field">
      <label htmlFor={id}>
        {title || talk.answer} {!isRequired && <span className="faint small">({talk.optional})</span>}
      </label>
      {control}
      <span id={`${id}-more`} className={problem === undefined ? 'small soft' : 'problem'}>
        {problem ?? description ?? ''}
      </span>
    </div>
  )
}

function initialOf({ initial, kind }: Field): string {
  if (initial === undefined) return kind === 'boolean' ? 'false' : ''
  return typeof initial === 'string' && kind !== 'choice' ? initial : JSON.stringify(initial)
}

function answerOf(field: Field, typed: string): ReturnType<typeof readField> {
  if (field.kind === 'boolean') return { value: typed === 'true' }
  if (field.kind === 'choice' && typed !== '') return { value: JSON.parse(typed) as Json }
  if (field.kind === 'choices')
    return {
      value: typed
        .split(',')
        .map((each) => each.trim())
        .filter(Boolean),
    }
  return readField(field, typed)
}
