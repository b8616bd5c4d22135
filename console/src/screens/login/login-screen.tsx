import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { CredentialKind, GivenCredential, SessionRefusal } from 'dragoman/console'
import { type FormEvent, type ReactNode, useState } from 'react'
import { CredentialFields } from '../../components/credential-fields.js'
import { Problem } from '../../components/notice.js'
import { credentialOf, kindsFor } from '../../model/scheme-kinds.js'
import { beginSession } from '../../server/api.js'
import { useText } from '../../text/text.js'

type Asks = NonNullable<SessionRefusal['asks']>

/** One alternative: schemes that are required together, with their kind of credential. */
interface LoginMethod {
  readonly schemes: readonly { readonly name: string; readonly kind: CredentialKind | undefined }[]
}

/** Exchanges a credential for a session. The browser does not store the credential. */
export default function LoginScreen({ asks }: { readonly asks: Asks }): ReactNode {
  const { login, access } = useText()
  const methods = methodsOf(asks)
  const [chosen, setChosen] = useState(0)
  const [typed, setTyped] = useState<Readonly<Record<string, Readonly<Record<string, string>>>>>({})
  const queries = useQueryClient()
  const enter = useMutation({
    mutationFn: (credentials: Readonly<Record<string, GivenCredential>>) => beginSession({ credentials }),
    onSuccess: async () => {
      setTyped({})
      await queries.invalidateQueries()
    },
  })
  const method = methods[chosen] ?? { schemes: [] }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    enter.mutate(
      Object.fromEntries(
        method.schemes.flatMap(({ name, kind }) => (kind ? [[name, credentialOf(kind, typed[name] ?? {})]] : [])),
      ),
    )
  }
  return (
    <div className="screen">
      <form className="panel" onSubmit={submit} aria-label={login.title}>
        <header>
          <h1>{login.title}</h1>
        </header>
        <div className="body stack">
          <p className="soft">{login.text}</p>
          {methods.length > 1 && (
            <label className="field">
              <span>{login.method}</span>
              <select
                className="input"
                value={chosen}
                onChange={({ target }) => {
                  setChosen(Number(target.value))
                  setTyped({})
                }}
              >
                {methods.map(({ schemes }, place) => (
                  <option key={schemes.map(({ name }) => name).join(' ')} value={place}>
                    {schemes.map(({ kind }) => (kind ? access.kinds[kind] : access.certificate)).join(' + ')}
                  </option>
                ))}
              </select>
            </label>
          )}
          {method.schemes.map(({ name, kind }) =>
            kind ? (
              <CredentialFields
                key={name}
                kind={kind}
                typed={typed[name] ?? {}}
                onType={(next) => setTyped({ ...typed, [name]: next })}
              />
            ) : (
              <p key={name} className="soft">
                {login.certificate}
              </p>
            ),
          )}
          <Problem error={enter.error} />
          <button type="submit" className="button is-main" disabled={enter.isPending}>
            {login.logIn}
          </button>
        </div>
      </form>
    </div>
  )
}

/** The alternatives. Tokens of a provider are pasted; this page does not request them. */
function methodsOf({ securityRequirements = [], securitySchemes = {} }: Asks): readonly LoginMethod[] {
  return securityRequirements.map(({ schemes = {} }) => ({
    schemes: Object.keys(schemes).map((name) => {
      const scheme = securitySchemes[name]
      return { name, kind: scheme && kindsFor(scheme).find((kind) => kind !== 'oauth2') }
    }),
  }))
}
