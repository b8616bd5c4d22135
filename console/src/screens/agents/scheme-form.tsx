import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { SecurityScheme } from 'dragoman/client'
import type { CredentialKind, GivenCredential } from 'dragoman/console'
import { type FormEvent, type ReactNode, useState } from 'react'
import { CredentialFields } from '../../components/credential-fields.js'
import { JsonTree } from '../../components/json-tree.js'
import { Problem } from '../../components/notice.js'
import { credentialOf } from '../../model/scheme-kinds.js'
import { api } from '../../server/api.js'
import { useText } from '../../text/text.js'

interface SchemeFormProps {
  readonly agent: string
  /** The name in the card; empty if the card has no security schemes. */
  readonly name: string
  readonly scheme?: SecurityScheme | undefined
  readonly kinds: readonly CredentialKind[]
  readonly held: CredentialKind | undefined
}

/** A form for one credential. The server stores and tests it; the page never shows it again. */
export function SchemeForm({ agent, name, scheme, kinds, held }: SchemeFormProps): ReactNode {
  const { access, agents, common } = useText()
  const [chosen, setKind] = useState<CredentialKind | undefined>(held)
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({})
  const queries = useQueryClient()
  const kind = chosen ?? kinds[0]
  const give = useMutation({
    mutationFn: async (credential: GivenCredential | null) => {
      await api('PUT', 'trust', { ref: agent, scheme: name, credential })
      setTyped({})
      if (credential) await api('POST', 'login', { ref: agent })
    },
    onSettled: () => queries.invalidateQueries(),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (kind) give.mutate(credentialOf(kind, typed))
  }
  const title = name || agents.credential
  return (
    <form className="stack" onSubmit={submit} autoComplete="off" aria-label={title}>
      <div className="row">
        <h3 className="grow break">{title}</h3>
        {held && <span className="badge good">{agents.credentialSet}</span>}
      </div>
      {scheme && <JsonTree value={scheme} />}
      {kinds.length === 0 && <p className="soft">{access.certificateText}</p>}
      {kind && (
        <div className="row">
          {kinds.length > 1 && (
            <select
              className="input"
              aria-label={agents.credential}
              value={kind}
              onChange={({ target }) => {
                setKind(target.value as CredentialKind) // the option values are kinds
                setTyped({})
              }}
            >
              {kinds.map((each) => (
                <option key={each} value={each}>
                  {access.kinds[each]}
                </option>
              ))}
            </select>
          )}
          <CredentialFields kind={kind} typed={typed} onType={setTyped} />
          <button type="submit" className="button" disabled={give.isPending}>
            {common.save}
          </button>
          {held && (
            <button type="button" className="button is-quiet is-danger" onClick={() => give.mutate(null)}>
              {common.remove}
            </button>
          )}
        </div>
      )}
      {kind === 'oauth2' && (
        <p className="small soft break">{access.redirect(`${location.origin}/console/oauth/callback`)}</p>
      )}
      <Problem error={give.error} />
    </form>
  )
}
