/** The files of a new project. The sources are valid JavaScript and TypeScript, because all their types are inferred. */
export interface Project {
  /** The name on the card. */
  readonly name: string
  readonly packageName: string
  readonly language: 'javascript' | 'typescript'
  /** Versions of the dependencies. */
  readonly versions: { readonly dragoman: string; readonly typescript: string; readonly nodeTypes: string }
}

/** File contents by path. */
export function filesOf(project: Project): ReadonlyMap<string, string> {
  const isTyped = project.language === 'typescript'
  const source = (text: string) => (isTyped ? text : `// @ts-check\n${text.replaceAll("'./agent.ts'", "'./agent.js'")}`)
  const path = (name: string) => (isTyped ? `src/${name}.ts` : `${name}.js`)
  return new Map([
    ['package.json', json(packageOf(project))],
    [isTyped ? 'tsconfig.json' : 'jsconfig.json', json(isTyped ? typescriptSettings : javascriptSettings)],
    [path('agent'), source(agentSource(project))],
    [path('server'), source(serverSource)],
    [path('client'), source(clientSource)],
    [path('agent.test'), source(testSource)],
    ['README.md', readme(project, path)],
    ['.gitignore', `node_modules/\n${isTyped ? 'dist/\n' : ''}*.sqlite*\n`],
  ])
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

function packageOf({ packageName, language, versions }: Project): object {
  const common = { name: packageName, version: '0.1.0', private: true, type: 'module', engines: { node: '>=20.19' } }
  const dependencies = { dragoman: versions.dragoman }
  if (language === 'javascript')
    return {
      ...common,
      scripts: { start: 'node server.js', client: 'node client.js', test: 'node --test' },
      dependencies,
      devDependencies: { '@types/node': versions.nodeTypes },
    }
  return {
    ...common,
    scripts: {
      build: 'tsc',
      start: 'tsc && node dist/server.js',
      client: 'tsc && node dist/client.js',
      test: 'tsc && node --test dist/agent.test.js',
    },
    dependencies,
    devDependencies: { '@types/node': versions.nodeTypes, typescript: versions.typescript },
  }
}

const typescriptSettings = {
  compilerOptions: {
    target: 'es2023',
    module: 'nodenext',
    types: ['node'],
    strict: true,
    noUncheckedIndexedAccess: true,
    verbatimModuleSyntax: true,
    // Node 22.18 runs sources whose types it can remove and whose imports name the files.
    erasableSyntaxOnly: true,
    rewriteRelativeImportExtensions: true,
    skipLibCheck: true,
    rootDir: 'src',
    outDir: 'dist',
    sourceMap: true,
  },
  include: ['src'],
}

const javascriptSettings = {
  compilerOptions: {
    target: 'es2023',
    module: 'nodenext',
    types: ['node'],
    strict: true,
    checkJs: true,
    noEmit: true,
    skipLibCheck: true,
  },
  exclude: ['node_modules'],
}

function agentSource({ name }: Project): string {
  return `import { agent, ask, working } from 'dragoman'

/** The agent: its card, and the handler of its messages. Each \`yield\` is sent at once. */
export default agent(
  {
    name: ${JSON.stringify(name)},
    description: 'Greets people',
    version: '0.1.0',
    skills: [
      {
        id: 'greet',
        name: 'Greet',
        description: 'Says hello to the person you name',
        tags: ['hello'],
        examples: ['greet Ada', 'greet'],
      },
    ],
  },
  async function* ({ text, history }) {
    // \`ask\` ends the turn; the answer starts a new turn, which can read \`history\`.
    const isAnswer = history.length > 1
    const whom = isAnswer ? text.trim() : /^greet\\s+(.+)$/i.exec(text.trim())?.[1]
    if (!whom) return ask('Whom should I greet?')
    yield working('Looking for the right words')
    for (const word of ['Hello, ', whom, '!']) yield word
  },
)
`
}

const serverSource = `import { serve } from 'dragoman'
import agent from './agent.ts'

const port = Number(process.env.PORT ?? 8001)
const served = await serve(agent, {
  port,
  store: process.env.STORE ?? 'memory',
})
console.log(\`\${agent.card.name} is at \${served.url}\`)

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    // Running turns get ten seconds to finish.
    served.close({ deadlineMs: 10_000 }).then(() => process.exit(0))
  })
}
`

const clientSource = `import { connect } from 'dragoman/client'

// Usage: client [address] [words]
const [address = 'localhost:8001', ...words] = process.argv.slice(2)
const agent = await connect(address)

for await (const update of agent.stream(words.join(' ') || 'greet the world')) {
  if ('artifactUpdate' in update) {
    for (const part of update.artifactUpdate.artifact.parts) if ('text' in part) process.stdout.write(part.text)
  }
}
process.stdout.write('\\n')
await agent.close()
`

const testSource = `import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { testAgent } from 'dragoman/testing'
import agent from './agent.ts'

describe(agent.card.name, async () => {
  // Runs the agent without a port.
  const { client, close } = await testAgent(agent)

  after(close)

  it('greets the person in the message', async () => {
    const { text, state } = await client.ask('greet Ada')
    assert.equal(text, 'Hello, Ada!')
    assert.equal(state, 'TASK_STATE_COMPLETED')
  })

  it('asks for a name if the message has none', async () => {
    const conversation = client.conversation()
    const question = await conversation.ask('greet')
    assert.equal(question.state, 'TASK_STATE_INPUT_REQUIRED')
    const answer = await conversation.ask('Grace')
    assert.equal(answer.text, 'Hello, Grace!')
  })
})
`

function readme({ name, language }: Project, path: (name: string) => string): string {
  const note =
    language === 'typescript'
      ? 'It is written in TypeScript; every script compiles to `dist/` first. Node 22.18 and newer also run the sources: `node src/server.ts`.'
      : 'It is written in JavaScript with type checks (`// @ts-check`) and needs no build.'
  return `# ${name}

An agent for the Agent2Agent (A2A) protocol, made with Dragoman. ${note}

\`\`\`sh
npm install
npm start          # serve the agent at http://localhost:8001/; PORT=… chooses another port
npm run client     # call it from another terminal
npm test
\`\`\`

- \`${path('agent')}\` contains the agent; start here
- \`${path('server')}\` serves it; \`STORE=sqlite:tasks.sqlite npm start\` stores its tasks
- \`${path('client')}\` calls it
- \`${path('agent.test')}\` tests it

Other ways to call it: \`npx dragoman chat localhost:8001\`, \`npx dragoman doctor localhost:8001 --send\`.
`
}
