/** Dialects: the wire formats of protocol versions, and the contract for writing your own. */

// Write a dialect: the server's side

export type {
  CallFacts,
  Dialect,
  DialectFacts,
  DialectName,
  ExampleRequest,
  Frame,
  GrpcCodec,
  GrpcCodecs,
  GrpcForm,
  JsonRpcForm,
  Limitation,
  OperationCodec,
  OperationCodecs,
  PushForm,
  RestForm,
  RestRoute,
  ServerCardForm,
  StreamCall,
  StreamEncoder,
} from './dialect.js'

// Write a dialect: the client's side

export type {
  ClientCardForm,
  ClientDialect,
  ClientFacts,
  GrpcClientForm,
  IncomingFrame,
  JsonRpcClientForm,
  RequestCodec,
  RequestCodecs,
  RestClientForm,
  RestRequest,
  RestRequestCodec,
  RestRequestCodecs,
  StreamDecoder,
  StreamRequest,
} from './client-dialect.js'

// Inspect the dialects of this package

export { hasTasks } from './client-dialect.js'
export { newestVersion } from './client-dialects.js'
export { clientDialects } from './clients.js'
export { bindingsOf, dialectNames } from './dialect.js'
export { chosenDialects, findDialect, serverDialects } from './servers.js'
