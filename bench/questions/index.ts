/** All questions, in the order in which they run. */
import { auth } from './auth.ts'
import { client } from './client.ts'
import { dialects } from './dialects.ts'
import { grpc } from './grpc.ts'
import { idle } from './idle.ts'
import { list } from './list.ts'
import { memory } from './memory.ts'
import { port } from './port.ts'
import { postgres } from './postgres.ts'
import { push } from './push.ts'
import type { Question } from './question.ts'
import { registry } from './registry.ts'
import { send } from './send.ts'
import { stream } from './stream.ts'
import { workflow } from './workflow.ts'

export const questions: readonly Question[] = [
  send,
  stream,
  dialects,
  grpc,
  port,
  auth,
  push,
  client,
  workflow,
  memory,
  idle,
  registry,
  postgres,
  list,
]
