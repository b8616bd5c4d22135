import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { AgentCard } from 'dragoman/client'
import type { CredentialKind, GivenCredential } from 'dragoman/console'
import { type FormEvent, type ReactNode, useState } from 'react'
import { api } from '../../link/api.js'
import { useSession } from '../../link/link.js'
import { JsonTree } from '../../parts/json-tree.js'
import { useText } from '../../text/text.js'

const kinds = ['none', 'bearer', 'apiKey', 'basic', 'header'] as const
/** What each kind asks for; secrets are typed unseen. */
const asked: Readonly<
  Record<CredentialKind, readonly { name: string; word: 'token' | 'key' | 'user' | 'password' | 'name' | 'value' }[]>
> = {
  bearer: [{ name: 'token', word: 'token' }],
  apiKey: [{ name: 'key', word: 'key' }],
  basic: [
    { name: 'user', word: 'user' },
    { name: 'password', word: 'password' },
  ],
  header: [
    { name: 'name', word: 'name' },
    { name: 'value', word: 'value' },
  ],
}

interface AccessProps {
  readonly agent: string
  readonly card: AgentCard | undefined
}

export function AgentAccess({ agent, card }: AccessProps): ReactNode {
  const { agents: words, common } = useText()
  const session = useSession()
  const named = session.data?.agents.find(({ ref }) => ref === agent)
  const [kind, setKind] = useState<(typeof kinds)[number]>(named?.credential ?? 'none')
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({})
  const queries = useQueryClient()
  const trust = useMutation({
    mutationFn: (given: { credential?: GivenCredential | null; allowsOrigins?: boolean }) =>
      api('PUT', 'trust', { ref: agent, ...given }),
    onSuccess: async () => {
      setTyped({})
      await queries.invalidateQueries()
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    // The members are what this kind asks for.
    trust.mutate({ credential: kind === 'none' ? null : ({ kind, ...typed } as unknown as GivenCredential) })
  }
  return (
    <div className="stack">
      {card?.securitySchemes && (
        <div>
          <h3>{words.requires}</h3>
          <JsonTree value={card.securitySchemes} />
        </div>
      )}
      <form className="stack" onSubmit={submit} autoComplete="off">
        <h3>{words.credential}</h3>
        <p className="soft">{words.credentialText}</p>
        {named?.credential && <p className="badge good">{words.isSet}</p>}
        <div className="row">
          <select
            className="input"
            aria-label={words.credential}
            value={kind}
            onChange={({ target }) => {
              setKind(target.value as typeof kind) // the options are the kinds
              setTyped({})
            }}
          >
            {kinds.map((each) => (
              <option key={each} value={each}>
                {words.kinds[each]}
              </option>
            ))}
          </select>
          {kind !== 'none' &&
            asked[kind].map(({ name, word }) => (
              <label key={`${kind} ${name}`} className="field">
                <span>{words[word]}</span>
                <input
                  className="input"
                  type={word === 'user' || word === 'name' ? 'text' : 'password'}
                  autoComplete="off"
                  value={typed[name] ?? ''}
                  onChange={({ target }) => setTyped({ ...typed, [name]: target.value })}
                />
              </label>
            ))}
          <button type="submit" className="button">
            {common.save}
          </button>
        </div>
        {trust.error && <p className="problem-text">{trust.error.message}</p>}
      </form>
      <label className="check">
        <input
          type="checkbox"
          checked={named?.allowsOrigins ?? false}
          onChange={({ target }) => trust.mutate({ allowsOrigins: target.checked })}
        />
        {words.origins}
      </label>
      <p className="small soft">{words.originsText}</p>
    </div>
  )
}
