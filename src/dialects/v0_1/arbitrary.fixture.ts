/** Random model values, without the members that v0.1 and task-rest are known to lose. */
import fc from 'fast-check'
import type { Artifact } from '../../model/artifact.js'
import type { Message } from '../../model/message.js'
import type { JsonValue, Part, Struct } from '../../model/part.js'
import { type Task, taskStates } from '../../model/task.js'

const word = fc.string({ minLength: 1, maxLength: 12 })

const json = fc
  .jsonValue({ maxDepth: 3 })
  .filter((value) => !JSON.stringify(value).includes('__proto__')) as fc.Arbitrary<JsonValue>

/** Never empty: an object that held only reserved keys is decoded as absent. */
const metadata = fc
  .dictionary(
    word.filter((key) => key !== '__proto__' && !key.startsWith('a2a') && key !== 'data_part_compat'),
    json,
    { minKeys: 1, maxKeys: 3, noNullPrototype: true },
  )
  .map((value) => value as Struct)

const about = { metadata, filename: word, mediaType: word }

const optionalAbout = { requiredKeys: [] as [] }

export const parts: fc.Arbitrary<Part> = fc
  .tuple(
    fc.oneof(
      fc.record({ text: fc.string() }),
      fc.record({ raw: fc.base64String() }),
      fc.record({ url: fc.webUrl() }),
      fc.record({ data: json }),
    ),
    fc.record(about, optionalAbout),
  )
  .map(([content, described]) => ({ ...content, ...described }))

export const messages: fc.Arbitrary<Message> = fc.record(
  {
    messageId: word,
    role: fc.constantFrom('ROLE_USER' as const, 'ROLE_AGENT' as const),
    parts: fc.array(parts, { minLength: 1, maxLength: 3 }),
    contextId: word,
    taskId: word,
    metadata,
    extensions: fc.array(word, { maxLength: 2 }),
    referenceTaskIds: fc.array(word, { maxLength: 2 }),
  },
  { requiredKeys: ['messageId', 'role', 'parts'] },
)

const artifacts: fc.Arbitrary<Artifact> = fc.record(
  {
    artifactId: word,
    parts: fc.array(parts, { minLength: 1, maxLength: 3 }),
    name: word,
    description: word,
    metadata,
  },
  { requiredKeys: ['artifactId', 'parts'] },
)

export const tasks: fc.Arbitrary<Task> = fc.record(
  {
    id: word,
    contextId: word,
    status: fc.record(
      {
        state: fc.constantFrom(...taskStates),
        message: messages,
        timestamp: fc
          .date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true })
          .map((date) => date.toISOString()),
      },
      { requiredKeys: ['state'] },
    ),
    artifacts: fc.array(artifacts, { minLength: 1, maxLength: 3 }),
    history: fc.array(messages, { minLength: 1, maxLength: 3 }),
    metadata,
  },
  { requiredKeys: ['id', 'contextId', 'status'] },
)

/** The sample with one member, at any depth, replaced by another value. */
export function damaged(sample: unknown): fc.Arbitrary<unknown> {
  const text = JSON.stringify(sample)
  return fc
    .tuple(fc.constantFrom(...pathsOf(sample)), fc.oneof(fc.jsonValue(), fc.constantFrom(null, -1, 1e99, '', [[]], {})))
    .map(([path, value]) => {
      const copy = JSON.parse(text) as unknown
      return path.length === 0 ? value : put(copy, path, value)
    })
}

type Path = readonly string[]

function pathsOf(value: unknown, at: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [at]
  return [at, ...Object.entries(value).flatMap(([key, member]) => pathsOf(member, [...at, key]))]
}

function put(root: unknown, path: Path, value: unknown): unknown {
  let holder = root as Record<string, unknown> // paths come from `pathsOf`, so they exist
  for (const key of path.slice(0, -1)) holder = holder[key] as Record<string, unknown>
  holder[path.at(-1) as string] = value
  return root
}

/** The value after a JSON round trip. */
export function sent<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T
}
