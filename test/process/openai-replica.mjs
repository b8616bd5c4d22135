// One replica: an agent that counts, behind the OpenAI endpoint, on the given store. Runs the built library, as users do.
import { setTimeout } from 'node:timers/promises'
import { agent, ask, bearer, serve } from 'dragoman'
import { openAiEndpoint } from 'dragoman/openai'

const { store } = JSON.parse(process.argv[2])

/** `count N`: sends N chunks. Its turns can safely run twice, as `onCrash` declares. `ask`: asks for N. */
const counter = agent({ name: 'Counter', onCrash: { attempts: 20 } }, async function* ({ text, signal }) {
  if (text === 'ask') {
    yield ask('How far?')
    return
  }
  for (let n = 1; n <= Number(text.replace('count ', '')); n++) {
    await setTimeout(20, undefined, { signal })
    yield `${n} `
  }
})

const auth = [bearer({ key: 'ann' })]
const options = { store, port: 0, auth, endpoints: [openAiEndpoint()], advanced: { engine: { leaseMs: 1_000 } } }
const served = await serve(counter, options)
console.log(`ready at ${served.url}`)
