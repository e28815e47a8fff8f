/** Values of OpenTelemetry's generative AI conventions for provider requests. */

import { kinds } from '../providers/kinds.ts'
import type { ProviderKind } from '../../schemas/providers.ts'
import type { EndpointName } from '../../schemas/endpoints.ts'
import type { CallRecord, RecordedAttempt } from '../core/record.ts'
import type { Usage } from '../core/usage.ts'

/** Returns the kind of a provider; `undefined` for a removed one. */
export type KindOf = (providerId: string) => ProviderKind | undefined

/** Returns `gen_ai.operation.name`. */
export function operationOf (endpoint: string): string {
  return operations[endpoint as EndpointName] ?? endpoint // a standard endpoint or a custom name
}

/** Values of `gen_ai.operation.name`; endpoints without one use their own name. */
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
 * Returns the usage of the answer to each request. Usages are reported once per answer, in order. If their
 * numbers differ, they cannot be assigned.
 */
export function requestUsage (
  { usage: { answers }, routing: { attempts = [] } }: CallRecord,
  request: RecordedAttempt
): Usage | undefined {
  const answered = attempts.filter(({ reason }) => reason === undefined)
  return answers.length === answered.length ? answers[answered.indexOf(request)]?.usage : undefined
}
