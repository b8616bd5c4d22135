/** Agents over AG-UI, the protocol of CopilotKit and other user interfaces. */
export { type AgUiEndpointOptions, agUiEndpoint } from './endpoint.js'
