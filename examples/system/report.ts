// The output of `npm start`: addresses, commands to try, and on exit where tasks are kept.
import type { System } from './start-system.ts'

interface Facts {
  readonly store: string
  readonly key: string | undefined
  readonly token?: string | undefined
  readonly writer: string
  readonly seconds: number
}

/** Returns one text, so that it is printed in one write. */
export function report({ places, registry, console: page }: System, { store, key, token, writer, seconds }: Facts) {
  const urlOf = (wanted: string) => places.find(({ name }) => name === wanted)?.url ?? ''
  const rows = [...places, { name: 'Registry', url: `${registry}/` }].map(
    ({ name, url }) => `  ${name.padEnd(18)}${url}`,
  )
  const isClosed = key !== undefined || token !== undefined
  const [variable, header] = key
    ? ['DRAGOMAN_API_KEY', '"X-API-Key: $DRAGOMAN_API_KEY"']
    : ['DRAGOMAN_BEARER', '"Authorization: Bearer $DRAGOMAN_BEARER"']
  const shown = isClosed ? ` -H ${header}` : ''
  const json = `-H 'content-type: application/json'${shown}`
  // The client sends a secret to agents found in a registry only with `--allow-origin`.
  const found = (name: string) =>
    `--registry ${registry}${isClosed ? `${shown} --allow-origin ${new URL(urlOf(name)).origin} --registry-header ${header}` : ''}`
  return `Everything is ready after ${seconds.toFixed(1)} s. Text: ${writer}. Store: ${withoutPassword(store)}.${isClosed ? ` Callers need the ${key ? 'key' : 'token'}.` : ''}

${rows.join('\n')}

Open ${page} in a browser for the console.

Try, in another terminal${isClosed ? `, after \`export ${variable}=…\` with the ${key ? 'key' : 'token'} there` : ''}:
  curl -s ${urlOf('DocumentWorkflow')}api/documents ${json} -d '{"topic":"茉莉花茶"}'
  curl -s ${urlOf('OrderAgent')}a2a/invoke ${json} -d '{"input":"查询订单 ORDER_001"}'
  curl -s '${registry}/v1/agents?text=outline'${shown}
  npx dragoman send OrderAgent "ORDER_001" ${found('OrderAgent')}
  npx dragoman workflow run DocumentWorkflow "Solar power" ${found('DocumentWorkflow')}

Ctrl-C stops all agents.`
}

export function stopMessage(store: string) {
  if (store === 'memory') return 'Stopped. The memory store kept no tasks.'
  const reset = /^sqlite:\.dragoman\//.test(store) ? '; delete .dragoman/ to start without data' : ''
  return `Stopped. Tasks are kept in ${withoutPassword(store)}${reset}.`
}

function withoutPassword(store: string) {
  return store.replace(/(:\/\/[^/@]*:)[^/@]*@/, '$1…@')
}
