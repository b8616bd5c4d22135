import type { CredentialKind } from 'dragoman/console'
import type { ReactNode } from 'react'
import { type CredentialField, fieldsOf } from '../model/scheme-kinds.js'
import { useText } from '../text/text.js'

interface FieldsProps {
  readonly kind: CredentialKind
  readonly typed: Readonly<Record<string, string>>
  onType(typed: Readonly<Record<string, string>>): void
}

/** Input fields for a kind of credential; secrets are masked. */
export function CredentialFields({ kind, typed, onType }: FieldsProps): ReactNode {
  return fieldsOf[kind].map((field) => {
    const Input = field.choices ? Choice : Line
    const set = (value: string) => onType({ ...typed, [field.name]: value })
    return <Input key={`${kind} ${field.name}`} field={field} value={typed[field.name] ?? ''} onSet={set} />
  })
}

interface FieldProps {
  readonly field: CredentialField
  readonly value: string
  onSet(value: string): void
}

function Line({ field: { name, isSecret, isOptional }, value, onSet }: FieldProps): ReactNode {
  const { access, talk } = useText()
  return (
    <label className="field">
      <span>
        {access.fields[name]} {isOptional && <span className="faint small">{talk.optional}</span>}
      </span>
      <input
        className="input"
        type={isSecret ? 'password' : 'text'}
        autoComplete="off"
        required={!isOptional}
        value={value}
        onChange={({ target }) => onSet(target.value)}
      />
    </label>
  )
}

function Choice({ field: { name, choices = [] }, value, onSet }: FieldProps): ReactNode {
  const { access } = useText()
  return (
    <label className="field">
      <span>{access.fields[name]}</span>
      <select className="input" value={value} onChange={({ target }) => onSet(target.value)}>
        <option value="">{access.flows.auto}</option>
        {choices.map((choice) => (
          <option key={choice} value={choice}>
            {access.flows[choice]}
          </option>
        ))}
      </select>
    </label>
  )
}
