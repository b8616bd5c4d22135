import type { Requirement } from './requirement.js'

/** Everything older or simpler than 0.3: 0.1, the community Go library’s form of it, 0.2, and three ad-hoc dialects. */
// biome-ignore format: one line per requirement
export const legacyRequirements: readonly Requirement[] = [
  // 0.1
  { id: 'RL-01-1', level: 'M', actor: 'srv', source: '0.1', text: 'the caller chooses the id of a task: a new one creates it, a known one continues it; `sessionId` is the caller’s too and comes back' },
  { id: 'RL-01-2', level: 'M', actor: 'srv', source: '0.1 Dragoman', text: 'a message to a task that has ended is -32009; here it never starts the task again' },
  { id: 'RL-01-3', level: 'M', actor: 'srv', source: '0.1', text: 'a positive `historyLength` shows that many newest messages; without one, or with 0, none need be shown' },
  { id: 'RL-01-4', level: 'M', actor: 'cli', source: '0.1', text: 'events may have `id:` and `event:` lines beside `data:`, and clients read them' },
  { id: 'RL-01-5', level: 'M', actor: 'srv', source: '0.1', text: 'a stream begins with a status, not with a task; the last status, an end or a question, has `final: true` and the stream closes' },
  { id: 'RL-01-6', level: 'M', actor: 'cli', source: '0.1', text: 'artifacts are merged by `index`: `append` adds parts, anything else replaces, `lastChunk` closes' },
  { id: 'RL-01-7', level: 'M', actor: 'srv', source: '0.1', text: 'what fails before a stream is an HTTP error or a JSON-RPC error body; what fails inside it may be a last event with `error`' },
  { id: 'RL-01-8', level: 'S', actor: 'srv', source: '0.1 Dragoman', text: 'a webhook receives the task’s id and status; here the whole task with `taskId` beside it. The token is in `X-A2A-Notification-Token`' },
  { id: 'RL-01-9', level: 'Y', actor: 'srv', source: '0.1 Dragoman', text: 'webhooks may be asked to prove themselves with a `validationToken`, and deliveries may be signed; both are options' },
  { id: 'RL-01-10', level: 'M', actor: 'srv', source: '0.1', text: 'credentials are in HTTP headers; without them 401 and a challenge, without the right 403; credentials inside a task are asked for by `input-required`' },
  { id: 'RL-01-11', level: 'M', actor: 'srv', source: 'Dragoman', text: 'a request of 0.1 without `jsonrpc` is taken for 2.0' },

  // The community Go library
  { id: 'RL-GO-1', level: 'M', actor: 'cli', source: 'Go library', text: 'its states are `pending`, `processing`, `completed`, `failed`, `canceled` and `unknown`; it asks no questions' },
  { id: 'RL-GO-2', level: 'M', actor: 'cli', source: 'Go library', text: 'its streams begin with `rpc_result`, a JSON-RPC response, and go on with bare `task_status_update` and `task_artifact_update`; the client closes after the final one' },
  { id: 'RL-GO-3', level: 'M', actor: 'cli', source: 'Go library', text: 'its parts may lack `type`, which then follows from their content, and have `mimeType` beside `file`' },
  { id: 'RL-GO-4', level: 'M', actor: 'cli', source: 'Go library', text: 'its webhooks come back bare, without their task' },
  { id: 'RL-GO-5', level: 'Y', actor: 'srv', source: 'Go library', text: '`jsonrpc: "0"` may be taken; broken envelopes may be HTTP 400' },
  { id: 'RL-GO-6', level: 'S', actor: 'srv', source: 'Go library', text: 'its card has `iconUri`, always `authentication`, and no `documentationUrl`' },
  { id: 'RL-GO-7', level: 'S', actor: 'srv', source: 'Go library', text: 'its tasks have no history, even if `historyLength` is sent' },

  // 0.2
  { id: 'RL-02-1', level: 'M', actor: 'srv', source: '0.2 Dragoman', text: '`/.well-known/agent.json` is the card for readers of 0.2 and 0.1 at once: an address, `authentication` and `securitySchemes`' },
  { id: 'RL-02-2', level: 'M', actor: 'cli', source: '0.3', text: 'the card is looked for at `agent-card.json` first, and at `agent.json` when that is 404' },
  { id: 'RL-02-3', level: 'M', actor: 'srv', source: 'Dragoman', text: '0.2 over JSON-RPC is 0.3 with lenient decoding: messages without `kind`, one webhook without an id, envelopes without an id' },
  { id: 'RL-02-4', level: 'M', actor: 'srv', source: '0.2', text: '`GET /agent/authenticatedExtendedCard` is the extended card for those who are let in, 404 where none is declared' },
  { id: 'RL-02-5', level: 'S', actor: 'srv', source: '0.2 proto', text: 'a send over HTTP+JSON may call its message `request` or `message`' },

  // task-rest
  { id: 'RL-L0-1', level: 'M', actor: 'srv', source: 'task-rest', text: 'the server makes task ids; the caller’s `contextId` is kept on task and message, so that a chain of agents shares it' },
  { id: 'RL-L0-2', level: 'M', actor: 'srv', source: 'task-rest Dragoman', text: 'missing input and failures are a `failed` task with a message, under HTTP 200; a malformed body is 422 or 400, an unknown task 404; errors have `detail` and `error`' },
  { id: 'RL-L0-3', level: 'M', actor: 'cli', source: 'task-rest', text: 'a client looks the agent up before each step and hands the data of the last step on beside its text' },
  { id: 'RL-L0-4', level: 'M', actor: 'srv', source: 'task-rest', text: 'a question is answered as `input-required`; a message that names the task goes on with it' },
  { id: 'RL-L0-5', level: 'M', actor: 'srv', source: 'task-rest Dragoman', text: 'the API key the card declares is really checked, with 401 and a challenge; the card stays public' },
  { id: 'RL-L0-6', level: 'M', actor: 'srv', source: 'task-rest Dragoman', text: 'a task is cancelled at `/tasks/{id}/cancel` or `/tasks/cancel`; one that has ended is 409 with -32002, an unknown one 404' },
  { id: 'RL-L0-7', level: 'M', actor: 'srv', source: 'task-rest Dragoman', text: 'a webhook comes with the message or at `/tasks/pushNotification/set` and is read at `/get`; the card claims it only where it works; deliveries are this dialect’s tasks' },
  { id: 'RL-L0-8', level: 'M', actor: 'any', source: 'task-rest', text: 'agents are found in a registry: registered, renewed, looked up by name, skill or tag, checked for health; a file may stand in for it' },
  { id: 'RL-L0-9', level: 'S', actor: 'srv', source: 'Dragoman', text: '`POST /tasks/resubscribe` shows the task and then what follows' },

  // invoke
  { id: 'RL-L1-1', level: 'M', actor: 'srv', source: 'invoke Dragoman', text: 'a missing or empty `input` is `status: "error"` with HTTP 400; a task that failed is the same with HTTP 200' },
  { id: 'RL-L1-2', level: 'M', actor: 'srv', source: 'Dragoman', text: '`chat_id` is the conversation, `user_id` a hint and never an identity; other members are kept as metadata' },
  { id: 'RL-L1-3', level: 'M', actor: 'srv', source: 'invoke Dragoman', text: 'a text is answered as a string, anything structured as a JSON value' },
  { id: 'RL-L1-4', level: 'M', actor: 'srv', source: 'Dragoman', text: 'chunks that say `processing` are increments, the last one says `success` and holds everything' },
  { id: 'RL-L1-5', level: 'M', actor: 'srv', source: 'Dragoman', text: 'a question is `input_required` with its `task_id`; every bad end is `error`' },
  { id: 'RL-L1-6', level: 'M', actor: 'srv', source: 'invoke Dragoman', text: 'the same paths take JSON-RPC with the methods `invoke` and `stream`; a missing input is -32602, a failure -32603' },
  { id: 'RL-L1-7', level: 'M', actor: 'srv', source: 'invoke', text: 'authentication is optional; a bearer token and `X-Agent-Name` are understood; a stranger gets 401 in the form of this dialect' },
  { id: 'RL-L1-8', level: 'M', actor: 'srv', source: 'invoke', text: '`X-A2A-Version` is the version of this dialect, on its paths only: 1.0 is taken, anything else refused, and it is never `A2A-Version`' },

  // chat-rpc
  { id: 'RL-L2-1', level: 'M', actor: 'srv', source: 'chat-rpc', text: 'both of its paths stream in its own envelope and close with `[DONE]`; ordinary endpoints never do' },
  { id: 'RL-L2-2', level: 'M', actor: 'srv', source: 'chat-rpc', text: '`contextId` goes on with a conversation, the deltas of an answer share one `messageId`, and `metadata` comes back' },
  { id: 'RL-L2-3', level: 'M', actor: 'srv', source: 'chat-rpc', text: '`tasks/get` and `tasks/cancel` work on real tasks; -32001 and -32002 only when true' },
  { id: 'RL-L2-4', level: 'S', actor: 'srv', source: 'Dragoman', text: 'a failing stream ends with a `failed` event and `[DONE]`, `input-required` and `auth-required` end it as well, and artifacts are events of their own' },
  { id: 'RL-L2-5', level: 'S', actor: 'any', source: 'chat-rpc', text: 'a registry adapter publishes the card and resolves agents by name' },

  // All of them
  { id: 'RL-ALL-1', level: 'M', actor: 'srv', source: 'Dragoman', text: 'there is one store: a task made in one dialect has the same id in every other that can show it' },
  { id: 'RL-ALL-2', level: 'M', actor: 'srv', source: 'Dragoman', text: 'authentication, authorisation, limits and address checks are v1.0’s on every path; an old one is no way around them' },
  { id: 'RL-ALL-3', level: 'M', actor: 'srv', source: 'Dragoman', text: 'every dialect can be switched off; the ad-hoc ones are off unless asked for' },
  { id: 'RL-ALL-4', level: 'S', actor: 'srv', source: 'Dragoman', text: 'dialect and path of each call are logged, so that operators see who still uses what' },
  { id: 'RL-ALL-5', level: 'M', actor: 'cli', source: 'Dragoman', text: 'the client finds the dialect by the card or from an option' },
]
