/** What OpenTelemetry's conventions for generative AI say of a request to a provider. */

import { kinds } from '../providers/kinds.ts'
import type { ProviderKind } from '../../schemas/providers.ts'
import type { EndpointName } from '../../schemas/endpoints.ts'
import type { CallRecord, SentRequest } from '../core/record.ts'
import type { Usage } from '../core/usage.ts'

/** Returns the kind of a provider; `undefined` for one that is gone. */
export type KindOf = (providerId: string) => ProviderKind | undefined

/** Returns `gen_ai.operation.name`. */
export function operationOf (endpoint: string): string {
  return operations[endpoint as EndpointName] ?? endpoint // of a map, or a name of its own
}

/** The values of `gen_ai.operation.name`; where the conventions have none, the name of the endpoint. */
const operations: Readonly<Partial<Record<EndpointName, string>>> = {
  chat: 'chat',
  messages: 'chat',
  responses: 'chat',
  completions: 'text_completion',
  embeddings: 'embeddings'
}

/** Returns `gen_ai.provider.name`. */
export function providerNameOf (providerId: string, kindOf: KindOf): string {
  const kind = kindOf(providerId)
  return kind === undefined ? providerId : (kinds[kind].traceName ?? kind)
}

/**
 * Returns the usage of the answer to one request: each answer is reported once, in the order in which they
 * came. Where they do not match, it is not known which is whose.
 */
export function requestUsage (
  { answerUsages, requests = [] }: CallRecord,
  request: SentRequest
): Usage | undefined {
  const answered = requests.filter(({ reason }) => reason === undefined)
  return answerUsages.length === answered.length ? answerUsages[answered.indexOf(request)]?.usage : undefined
}
