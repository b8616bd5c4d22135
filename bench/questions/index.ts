/** All questions, in the order in which they run. */
import { allocation } from './allocation.ts'
import { bundle } from './bundle.ts'
import { client } from './client.ts'
import { dialects } from './dialects.ts'
import { features } from './features.ts'
import { grpc } from './grpc.ts'
import { idle } from './idle.ts'
import { list } from './list.ts'
import { memory } from './memory.ts'
import { port } from './port.ts'
import { postgres } from './postgres.ts'
import { proxy } from './proxy.ts'
import { push } from './push.ts'
import type { Question } from './question.ts'
import { registry } from './registry.ts'
import { send } from './send.ts'
import { startup } from './startup.ts'
import { stream } from './stream.ts'
import { workflow } from './workflow.ts'

export const questions: readonly Question[] = [
  send,
  allocation,
  stream,
  dialects,
  grpc,
  port,
  features,
  client,
  proxy,
  startup,
  bundle,
  push,
  workflow,
  memory,
  idle,
  registry,
  postgres,
  list,
]
