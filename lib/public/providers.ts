/** `headgate/providers`: providers created from settings, and the parts for creating your own. */

export { createProvider } from '../providers/index.ts'
export { defineProvider, type ProviderDefinition } from './define-provider.ts'
export { ProviderFailure, type Failure, type FailureKind } from '../providers/provider-failure.ts'
export { httpTransport } from '../client/transport.ts'
export { Secret } from '../core/secret.ts'
export type { Credential, CredentialHeaders, Signer, UnsignedRequest } from '../providers/credential.ts'
export type { HttpTransport, HttpTransportOptions } from '../client/transport.ts'
export type { ProviderSettings, Timeouts } from '../core/settings.ts'
export type { HistoryMark, ProviderTraits, Quirks } from '../core/provider-traits.ts'
export type { StreamDecoder } from '../wire/sse-decoder.ts'
export type {
  Adapter,
  AdapterOf,
  Adapters,
  AdapterInput,
  BodyFormat,
  Capability,
  EventOf,
  Join,
  Provider,
  Providers,
  RequestOf,
  SendOptions,
  StreamReader,
  Transport,
  UpstreamResponse,
  UpstreamBody,
  UpstreamFailure,
  UpstreamHead,
  UpstreamRequest
} from '../providers/provider.ts'
export type {
  ChatEvent, EmbeddingsEvent, FinishReason, ImageEvent, ResultEvent, SpeechEvent, TranscriptEvent
} from '../core/events.ts'
export type { ChatInput } from '../chat/input.ts'
