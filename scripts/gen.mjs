// Generates src/transports/grpc/gen/*.ts from proto/*.proto: for each message its type, and a reader and a writer of plain
// objects in the shape of ProtoJSON; for each service the table of its rpcs.
// Run `npm run gen` and commit the result; `npm run gen -- --check` only compares.
//
// Other generators produce message objects, which a second pass would have to convert to JSON, and need a large compiler.
// In the objects of this one, enums are names, Struct and Value are JSON, timestamps are texts, and bytes are base64.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import protobuf from 'protobufjs'

const folder = fileURLToPath(new URL('../src/transports/grpc/', import.meta.url))
const protos = fileURLToPath(new URL('../proto/', import.meta.url))
const scalars = { string: 'string', bool: 'boolean', int32: 'number', int64: 'number', bytes: 'string' }
const wireTypes = { string: 2, bytes: 2, bool: 0, int32: 0, int64: 0 }
const wellKnown = {
  '.google.protobuf.Struct': { name: 'Struct', type: 'Struct' },
  '.google.protobuf.Value': { name: 'Value', type: 'JsonValue' },
  '.google.protobuf.Timestamp': { name: 'Timestamp', type: 'string' },
  '.google.protobuf.Duration': { name: 'Duration', type: 'string' },
}

const isCheck = process.argv.includes('--check')
for (const file of readdirSync(protos).sort()) {
  const target = join(folder, 'gen', `${basename(file, '.proto').replaceAll('_', '-')}.ts`)
  const text = await generate(file)
  if (!isCheck) writeFileSync(target, text)
  else if (readFileSync(target, 'utf8') !== text) {
    console.error(`${target} is not what ${file} makes: npm run gen`)
    process.exitCode = 1
  }
}

async function generate(file) {
  const root = new protobuf.Root()
  const source = join(protos, file)
  root.resolvePath = (_, path) => path // the imports are Google's own, which protobufjs brings along
  await root.load(source, { keepCase: true })
  root.resolveAll()
  const found = { messages: [], enums: [], services: [] }
  collect(root, source, found)
  const body = [
    ...found.enums.map(writeEnum),
    ...found.messages.map(writeMessage),
    ...found.services.map(writeService),
  ].join('\n')
  const used = Object.values(wellKnown).filter(({ name }) => body.includes(`read${name}(`))
  const helpers = ['finish', 'skip', 'enumName', 'enumNumber', 'readBase64', 'readEntry'].filter((name) =>
    body.includes(`${name}(`),
  )
  const values = [...helpers, ...used.flatMap(({ name }) => [`read${name}`, `write${name}`])]
  const jsonTypes = ['JsonValue', 'Struct'].filter((name) => new RegExp(`: ${name}\\b`).test(body))
  return [
    `// Made from ${file} by scripts/gen.mjs: edit that and run \`npm run gen\`.`,
    "import type { BinaryReader } from '@bufbuild/protobuf/wire'",
    ...(jsonTypes.length > 0 ? [`import type { ${jsonTypes.join(', ')} } from '../../../model/part.js'`] : []),
    `import { ${values.sort().join(', ')} } from '../wire.js'`,
    "import type { Writer } from '../wire.js'",
    '',
    body,
  ].join('\n')
}

/** Messages of the file, and messages of Google that it uses and that have no special form here. */
function collect(namespace, source, found) {
  for (const each of namespace.nestedArray) {
    const isOurs = each.filename === source
    const isUsed = ['.google.protobuf.Any', '.google.protobuf.Empty'].includes(each.fullName)
    if (each instanceof protobuf.Type && (isOurs || isUsed)) found.messages.push(each)
    if (each instanceof protobuf.Enum && isOurs) found.enums.push(each)
    if (each instanceof protobuf.Service && isOurs) found.services.push(each)
    if (each.nestedArray) collect(each, source, found)
  }
}

function writeEnum({ name, values }) {
  const names = Object.entries(values)
  if (names.some(([, number], place) => number !== place)) throw new Error(`${name} has gaps`)
  return `const ${name} = [${names.map(([each]) => `'${each}'`).join(', ')}] as const\n`
}

function writeMessage(message) {
  const name = nameOf(message)
  const fields = message.fieldsArray.map((field) => describe(field.resolve()))
  const members = fields.map(({ key, type }) => `  ${key}?: ${type}`)
  const oneofs = message.oneofsArray.filter(({ fieldsArray }) => fieldsArray.length > 1)
  const lines = [
    fields.length > 0 ? `export interface ${name} {\n${members.join('\n')}\n}` : `export type ${name} = object`,
    '',
    `export function write${name}(${fields.length > 0 ? 'm' : '_m'}: ${name}, ${fields.length > 0 ? 'w' : '_w'}: Writer): void {`,
    ...fields.map(({ write }) => write),
    '}',
    '',
    `export function read${name}(r: BinaryReader, end: number, m: ${name} = {}): ${name} {`,
    ...oneofs.map(({ name: oneof }) => `  let ${oneof}: keyof ${name} | undefined`),
    '  while (r.pos < end) {',
    '    const tag = r.uint32()',
    ...(fields.length > 0
      ? ['    switch (tag) {', ...fields.map(({ read }) => read), '      default: skip(r, tag)', '    }']
      : ['    skip(r, tag)']),
    '  }',
    '  return finish(r, end, m)',
    '}',
    '',
  ]
  return lines.join('\n')
}

/** Generates the type, the writer and the reader of a field. */
function describe(field) {
  const key = camelCase(field.name)
  const place = `m.${key}`
  const oneof = field.partOf?.fieldsArray.length > 1 ? field.partOf.name : undefined
  const value = kindOf(field)
  if (field.map) return mapField(field, key, value)
  if (field.repeated) {
    if (value.wireType !== 2) throw new Error(`${field.fullName}: packed fields are not needed so far`)
    return {
      key,
      type: `${value.type.includes('|') ? `(${value.type})` : value.type}[]`,
      write: `  if (${place}) for (const each of ${place}) ${value.write(tagOf(field.id, value), 'each')}`,
      read: `      case ${tagOf(field.id, value)}: (${place} ??= []).push(${value.read('undefined')}); break`,
    }
  }
  // Members of a oneof and `optional` fields are written even if they hold the default.
  const isExplicit = field.partOf !== null || value.isMessage
  // The last member of a oneof on the wire wins.
  const before = oneof ? `if (${oneof} && ${oneof} !== '${key}') delete m[${oneof}]; ${oneof} = '${key}'; ` : ''
  return {
    key,
    type: value.type,
    write: `  if (${place}${isExplicit ? ' !== undefined' : ''}) ${value.write(tagOf(field.id, value), place)}`,
    read: `      case ${tagOf(field.id, value)}: ${before}${place} = ${value.read(place)}; break`,
  }
}

function kindOf(field) {
  const { resolvedType, type } = field
  if (!resolvedType) {
    if (!scalars[type]) throw new Error(`${field.fullName}: no ${type} so far`)
    const read = { string: 'r.string(true)', bytes: 'readBase64(r)', int64: 'Number(r.int64())' }[type] ?? `r.${type}()`
    return {
      type: scalars[type],
      wireType: wireTypes[type],
      write: (tag, value) => `w.uint32(${tag}).${type}(${value})`,
      read: () => read,
    }
  }
  if (resolvedType instanceof protobuf.Enum) {
    const { name } = resolvedType
    return {
      type: 'string | number',
      wireType: 0,
      write: (tag, value) => `w.uint32(${tag}).int32(enumNumber(${name}, ${value}))`,
      read: () => `enumName(${name}, r.int32())`,
    }
  }
  const known = wellKnown[resolvedType.fullName]
  const name = known?.name ?? nameOf(resolvedType)
  return {
    type: known?.type ?? name,
    isMessage: true,
    wireType: 2,
    write: (tag, value) => `{ w.uint32(${tag}).fork(); write${name}(${value}, w); w.join() }`,
    read: (before) =>
      known || before === 'undefined'
        ? `read${name}(r, r.uint32() + r.pos)`
        : `read${name}(r, r.uint32() + r.pos, ${before})`,
  }
}

/** On the wire a map is a list of entries. */
function mapField(field, key, value) {
  if (field.keyType !== 'string' || value.wireType !== 2) throw new Error(`${field.fullName}: no such maps so far`)
  const tag = (field.id << 3) | 2
  return {
    key,
    type: `Record<string, ${value.type}>`,
    write: [
      `  if (m.${key}) for (const [key, each] of Object.entries(m.${key})) {`,
      `    w.uint32(${tag}).fork().uint32(10).string(key)`,
      `    ${value.write(18, 'each')}`,
      '    w.join()',
      '  }',
    ].join('\n'),
    read: `      case ${tag}: readEntry(r, r.uint32() + r.pos, (m.${key} ??= {}), () => ${value.read('undefined')}, ${value.isMessage ? '{}' : "''"}); break`,
  }
}

function writeService(service) {
  const rpcs = service.methodsArray.map((rpc) => {
    const { name, resolvedRequestType, resolvedResponseType, responseStream = false } = rpc.resolve()
    const codecs = [resolvedRequestType, resolvedResponseType].map(
      (type) => `[read${nameOf(type)}, write${nameOf(type)}]`,
    )
    return `  ${name}: { request: ${codecs[0]}, response: ${codecs[1]}, isStreaming: ${responseStream} },`
  })
  return `export const service = '${service.fullName.slice(1)}'\n\nexport const rpcs = {\n${rpcs.join('\n')}\n} as const\n`
}

function nameOf(type) {
  return type.parent instanceof protobuf.Type ? `${nameOf(type.parent)}${type.name}` : type.name
}

function tagOf(number, { wireType }) {
  return (number << 3) | wireType
}

function camelCase(name) {
  return name.replace(/_+([a-z0-9])/g, (_, letter) => letter.toUpperCase())
}
