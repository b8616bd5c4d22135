export { type OpenAiEndpointOptions, openAiEndpoint } from './endpoint.js'
